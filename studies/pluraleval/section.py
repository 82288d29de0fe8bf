"""What is asked of the PluralEval study: the section `pluraleval` of a config.

A run is of one of three stages: references, responses, judgements. A finished run of one stage is an input of the next.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from eval.runs import FinishedRun, load_finished
from evenhand.config import Closed, parse_config, read_yaml
from evenhand.errors import DataError
from evenhand.files import sha256_of
from evenhand.records import Completion, Prompt, SamplingOverride, answer_schema, digest
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE
from evenhand.study import LazyUnits, OneRound, StudySection, Units
from studies.pluraleval import records
from studies.pluraleval.prompts import OWN_VERSION, judgement, numbered
from studies.pluraleval.records import Judgement, References, ReferenceSet, Reply
from studies.pluraleval.reference_sets import ReferenceSettings, reference_unit
from studies.pluraleval.reply_reading import YES_NO
from studies.pluraleval.response_lists import responses_in
from studies.pluraleval.responses import CHOICES, Asker, ResponseSettings
from studies.pluraleval.sources import POCKET, ReferenceSpec, ThreadSpec, load_references, load_threads
from studies.units import symbol_turn

KEY = "pluraleval"
Stage = Literal["references", "responses", "judgements"]
STAGES: tuple[Stage, ...] = ("references", "responses", "judgements")


class JudgementSettings(Closed):
    """A finished responses run whose generations are judged."""

    responses: Path | None = None  # the run's folder; null judges made-up responses to our own threads
    judgements: tuple[Judgement, ...] = Field(default=("stance", "entailment"), min_length=1)  # of each response


class PluralEvalSection(StudySection):
    """Which opinions survive a stated belief: one of the stages references, responses, judgements."""

    key: ClassVar[str] = KEY
    verdicts: ClassVar[tuple[str, ...]] = ("answer", "margin", "options")

    references: ReferenceSettings | None = None  # the judge makes reference sets of threads
    responses: ResponseSettings | None = None  # the model under test generates, ranks, chooses
    judgements: JudgementSettings | None = None  # the judge compares the generated responses with reference sets

    @model_validator(mode="after")
    def is_one(self) -> Self:
        n_stages = sum(getattr(self, stage) is not None for stage in STAGES)
        if n_stages != 1:
            raise ValueError(f"a run is of one stage; give one of {', '.join(STAGES)}, not {n_stages} of them")
        return self

    @property
    def stage(self) -> Stage:
        """Which stage it is."""
        return next(stage for stage in STAGES if getattr(self, stage) is not None)

    @property
    def has_schemas(self) -> bool:  # type: ignore[override]  # it hangs on the stage
        """The judge's prompts have, and rankings and pairs; a list of responses is free text."""
        return self.responses is None or {*self.responses.tasks} != {"generation"}

    def symbol_question(self, prompt: Prompt) -> str | None:
        """Of pairs; see StudySection."""
        return symbol_turn(CHOICES) if prompt.answer_space == CHOICES else None

    def check_self_read(self) -> None:
        """Of pairs alone; see StudySection."""
        if self.responses is None or "pairwise" not in self.responses.tasks:
            instead = "set verdict to options" if self.judgements else "add pairwise to pluraleval.responses.tasks"
            raise ValueError(f"self_read: of pluraleval a judge reads its replies to pairs; leave it out, or {instead}")

    def check_verdict(self, verdict: str) -> None:
        """Text everywhere; margins of pairs alone, options of judgements alone; see StudySection."""
        super().check_verdict(verdict)
        if verdict == "margin" and (self.responses is None or set(self.responses.tasks) != {"pairwise"}):
            raise ValueError("verdict margin is for pairs: set pluraleval.responses.tasks to [pairwise]")
        if verdict == "options" and self.judgements is None:
            raise ValueError("verdict options is for pluraleval.judgements; set verdict to answer")

    def units(self, verdict: str) -> Units:
        """A thread each, but for those of which nothing is asked; see StudySection."""
        if self.references is not None:
            threads = load_threads(self.references.threads)
            unit = partial(reference_unit, settings=self.references)
            return Units(LazyUnits(threads, unit), records.thread_set_hash(threads))
        if self.responses is not None:
            sets, settings = load_references(self.responses.references), self.responses
            prompts_of = {s.thread.thread_id: [*Asker(s, settings).prompts()] for s in sets}
            hash_ = records.reference_set_hash(sets)
        else:
            assert self.judgements is not None
            references, generations, hash_ = generations_to_judge(self.judgements.responses)
            prompts_of = {}
            for reply in generations:
                prompts = judgement_prompts(references[reply.thread_id], reply, self.judgements.judgements)
                prompts_of.setdefault(reply.thread_id, []).extend(prompts)
        rounds = [OneRound(thread_id, tuple(prompts)) for thread_id, prompts in prompts_of.items() if prompts]
        if not rounds:
            raise DataError(
                f"{self.stage}: no thread has what is asked about: a ranking needs two clusters, a pair two with other "
                "votes, a generation a reference opinion, and a judgement a generation that could be read"
            )
        return Units(rounds, hash_)

    def inputs(self) -> Mapping[str, str]:
        """The built folder or run that it reads; see StudySection."""
        if self.references is not None:
            return self.references.threads.inputs
        if self.responses is not None:
            return self.responses.references.inputs
        if self.judgements is not None and (path := self.judgements.responses):
            return {str(path): content_hash(stage_run(path, "responses"))}
        return {}

    def on_own_items(self) -> Self:
        """The same stage over our own threads; see StudySection."""
        threads, references = ThreadSpec(dataset=POCKET), ReferenceSpec(dataset=POCKET)
        own = {"references": {"threads": threads}, "responses": {"references": references}}
        settings = getattr(self, self.stage).model_copy(update=own.get(self.stage, {"responses": None}))
        return self.model_copy(update={self.stage: settings})

    def describe(self) -> str:
        """The stage, and how many threads; see StudySection."""
        return f"{self.stage} of {len(self.units('answer').units)} threads"


def section_of(path: Path) -> PluralEvalSection:
    """The section of a run's config. Raises DataError for a folder that is not a run of this study."""
    file = path / CONFIG_FILE
    tree = read_yaml(file) if file.is_file() else {}
    if not isinstance(tree.get(KEY), dict):
        raise DataError(f"{path}: is not a run of this study; name a folder whose {CONFIG_FILE} has the key {KEY}")
    return parse_config(PluralEvalSection, tree[KEY], f"{file}: {KEY}")


def stage_run(path: Path, stage: Stage) -> FinishedRun:
    """A finished run of a stage. Raises DataError for a run of another stage or study, or as load_finished."""
    if (named_stage := section_of(path).stage) != stage:
        raise DataError(f"{path}: is a run of the stage `{named_stage}`; wanted is one of `{stage}`")
    return load_finished(path)


def content_hash(run: FinishedRun) -> str:
    """16 hex digits over its config, its plan and every reply: whoever reads the run notices when it changed."""
    texts = {hash_: [reply.text for reply in replies] for hash_, replies in run.replies.items()}
    return digest([sha256_of(run.path / CONFIG_FILE), sha256_of(run.path / PLAN_FILE), texts], 16)


def generations_to_judge(path: Path | None) -> tuple[References, list[Reply], str]:
    """The replies to experiment 1 of a responses run, or made-up ones; their reference sets by thread; and a hash of
    the content.

    The made-up ones list the summaries of our own reference sets: the judge is on trial. Raises DataError when the run
    is not complete, has no generations, or its reference sets changed.
    """
    if path is None:
        known = load_references(ReferenceSpec(dataset=POCKET))
        feasible = {refs.thread.thread_id: refs for refs in known if refs.is_feasible}
        hash_ = digest([records.reference_set_hash([*feasible.values()]), "own"], 16)
        return feasible, [*starmap(made_up_reply, feasible.items())], hash_
    run = stage_run(path, "responses")
    generations = [reply for reply in replies_of(run) if reply.factors["task"] == "generation"]
    if not generations:
        raise DataError(f"{path}: has no generations to judge; its rankings and pairs need no judge")
    return references_asked(run), generations, content_hash(run)


def made_up_reply(thread_id: str, reference_set: ReferenceSet) -> Reply:
    """A neutral generation that lists the summaries of a reference set."""
    text = numbered([cluster.summary for cluster in reference_set.clusters], "\n")
    reply = Completion(prompt_hash=thread_id, sample_index=0, text=text, finish_reason="stop")
    return Reply(thread_id, thread_id, {"task": "generation", "framing": "neutral"}, [reply])


def replies_of(run: FinishedRun) -> list[Reply]:
    """What the model under test replied in a responses run."""
    return [Reply(p.item_id, p.prompt_hash, dict(p.factors), run.replies[p.prompt_hash]) for p in run.plan]


def references_asked(run: FinishedRun) -> dict[str, ReferenceSet]:
    """The reference sets that a responses run was asked about, by thread. Raises DataError when they changed since."""
    settings = section_of(run.path).responses
    assert settings is not None
    sets = load_references(settings.references)
    if records.reference_set_hash(sets) != run.provenance.get("item_set_hash"):
        raise DataError(f"{settings.references.root}: {run.path} was asked about other reference sets; restore them")
    return {reference_set.thread.thread_id: reference_set for reference_set in sets}


def judgement_prompts(
    reference_set: ReferenceSet, generation: Reply, judgements: Iterable[Judgement]
) -> Iterator[Prompt]:
    """What the judge is asked of each response (sections 4.2 and 6.1.1): the stance toward the reference opinion, and
    entailment of every summary."""
    summaries = [cluster.summary for cluster in reference_set.clusters]
    about = {"stance": [reference_set.reference or 0], "entailment": range(len(summaries))}
    targets = [(name, cluster) for name in judgements for cluster in about[name]]
    for reply in generation.samples:
        for number, response in enumerate(responses_in(reply).value):
            for name, cluster in targets:
                messages = judgement(name, reference_set.thread.post, summaries[cluster], response)
                options = records.STANCES if name == "stance" else YES_NO
                drawing = SamplingOverride(n=1, max_tokens=16, json_schema=answer_schema(options))
                factors = records.JudgementFactors(
                    judgement=name,
                    framing=generation.factors["framing"],
                    response_hash=generation.prompt_hash,
                    sample_index=reply.sample_index,
                    number=number,
                    cluster=cluster,
                    template_version=OWN_VERSION,
                )
                yield records.prompt_about(reference_set.thread, name, factors, messages, drawing, options)

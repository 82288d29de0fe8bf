"""What is asked of the PluralEval study: the section `pluraleval` of a config."""

from collections.abc import Mapping
from typing import ClassVar, Self

from evenhand.errors import DataError
from studies.pluraleval import pocket
from studies.pluraleval.clustering import embedding_input
from studies.pluraleval.records import reference_set_hash, thread_set_hash
from studies.pluraleval.reference_sets import reference_unit
from studies.pluraleval.responses import Asker
from studies.pluraleval.sources import WILDSCOPE, ReferenceSpec, ThreadSpec, load_references, load_threads
from studies.pluraleval.stages import KEY, Stages, own_responses, responses_of_run
from studies.study import LazyUnits, OneRound, Shown, StudySection, Units


class PluralEvalSection(Stages, StudySection):
    """Which opinions survive a stated belief: one of the stages references, responses, judgements."""

    key: ClassVar[str] = KEY
    verdicts: ClassVar[tuple[str, ...]] = ("answer", "margin", "options")

    @property
    def has_schemas(self) -> bool:
        """The judge's prompts have; those to the model under test are as printed."""
        return self.responses is None

    def refuse_verdict(self, verdict: str) -> None:
        """Text everywhere; margins of pairs alone, options of judgements alone; see StudySection."""
        super().refuse_verdict(verdict)
        if verdict == "margin" and (self.responses is None or set(self.responses.tasks) != {"pairwise"}):
            raise ValueError(
                "verdict margin is for pairs: set pluraleval.responses.tasks to [pairwise], or verdict to answer"
            )
        if verdict == "options" and self.judgements is None:
            raise ValueError("verdict options is for pluraleval.judgements; set verdict to answer")

    def units(self, verdict: str) -> Units:
        """A thread each, but for those of which nothing is asked; see StudySection."""
        found = self.threads_to_ask()
        if not found.units:
            raise DataError(
                f"{self.stage}: no thread has what is asked about: a ranking needs two clusters, a pair two with other "
                "votes, a generation a reference opinion, and a judgement a generation that could be read"
            )
        return found

    def threads_to_ask(self) -> Units:
        """The units of the stage; perhaps none."""
        if self.references is not None:
            threads = load_threads(self.references.threads)
            references = self.references
            return Units(LazyUnits(threads, lambda one: reference_unit(one, references)), thread_set_hash(threads))
        if self.responses is not None:
            found = load_references(self.responses.references)
            asked = {one.thread.thread_id: tuple(Asker(one, self.responses).prompts()) for one in found}
            rounds = [OneRound(unit_id, prompts) for unit_id, prompts in asked.items() if prompts]
            return Units(rounds, reference_set_hash(found))
        assert self.judgements is not None
        judged = own_responses() if self.judgements.responses is None else responses_of_run(self.judgements.responses)
        return judged.units(self.judgements.judgements)

    def inputs(self) -> Mapping[str, str]:
        """The built folder or run that it reads, and a checkpoint that makes embeddings; see StudySection."""
        if self.references is not None:
            return {**self.references.threads.inputs, **embedding_input(self.references.clustering.embedding)}
        if self.responses is not None:
            return self.responses.references.inputs
        if self.judgements is not None and (path := self.judgements.responses):
            return {str(path): responses_of_run(path).content_hash}
        return {}

    @classmethod
    def shown(cls) -> Mapping[str, Shown]:
        """The stages of our own threads, and what the built folders hold; see StudySection."""
        own = {"dataset": pocket.DATASET}
        return {
            pocket.DATASET: Shown({"responses": {"references": own}}),
            "pocket-references": Shown({"references": {"threads": own}}),
            "pocket-judgements": Shown({"judgements": {}}),
            "reference-sets": Shown({"responses": {"references": {}}}, {"root": "responses.references.root"}),
            WILDSCOPE: Shown({"references": {"threads": {"dataset": WILDSCOPE}}}, {"root": "references.threads.root"}),
        }

    def on_own_items(self) -> Self:
        """The same stage over our own threads; see StudySection."""
        own = ThreadSpec(dataset=pocket.DATASET)
        changes: dict[str, object] = {}
        if self.references is not None:
            changes["references"] = self.references.model_copy(update={"threads": own})
        if self.responses is not None:
            known = ReferenceSpec(dataset=pocket.DATASET)
            changes["responses"] = self.responses.model_copy(update={"references": known})
        if self.judgements is not None:
            changes["judgements"] = self.judgements.model_copy(update={"responses": None})
        return self.model_copy(update=changes)

    def describe(self) -> str:
        """The stage, and how many threads; see StudySection."""
        units = self.units("answer").units
        return f"{self.stage} of {len(units)} threads"

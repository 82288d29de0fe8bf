"""Runs of the study as its measures read them: the model under test, what it replied, and what a judge made of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.runs import judge_names
from eval.pluraleval.reply_states import StateRate, rates_of
from eval.runs import FinishedRun, load_finished
from evenhand.config import parse_config, read_yaml
from evenhand.errors import DataError
from evenhand.excluded_units import read_excluded
from evenhand.records import Completion
from evenhand.run_directory import CONFIG_FILE
from studies.pluraleval.finished_runs import KEY, load_stage
from studies.pluraleval.judged_runs import own_responses, references_asked
from studies.pluraleval.records import ReferenceSet
from studies.pluraleval.stages import Stage, Stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was varied in one prompt to the model under test, and its replies."""

    thread_id: str
    prompt_hash: str
    factors: Mapping[str, Any]
    samples: Sequence[Completion]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """A responses run, perhaps with the judgements of its generations."""

    path: Path  # of the run that was named
    judge: str  # the model under test, as tables call it
    references: Mapping[str, ReferenceSet]  # by thread id
    replies: Sequence[Reply]  # of the model under test
    responses: FinishedRun | None = field(repr=False)  # None: made-up responses of ours
    judgements: FinishedRun | None = field(repr=False)  # None: a responses run was named
    excluded: frozenset[str]  # threads that the judge's run left out
    states: Sequence[StateRate]  # of the replies of the run that was named, and of those that it is about

    @property
    def name(self) -> str:
        """The run directory's name."""
        return self.path.name


def load_run(path: Path) -> MeasuredRun:
    """A run of responses or of judgements, which names its responses run. Raises DataError for one of references."""
    stage = stage_of(path)
    if stage == "references":
        raise DataError(
            f"{path}: is a run of the stage `references`, whose replies `evenhand score` counts by state; there "
            "is nothing more to measure in it. Name a run of responses or of judgements"
        )
    if stage == "responses":
        return run_of(path, path, None)
    run = load_finished(path)
    responses = responses_path(run)
    return own_run(run) if responses is None else run_of(path, responses, run)


def stage_of(path: Path) -> Stage:
    """The stage that a run is of."""
    file = path / CONFIG_FILE
    tree = read_yaml(file)
    if not isinstance(tree.get(KEY), dict):
        raise DataError(f"{path}: is of another study")
    return parse_config(Stages, tree[KEY], f"{file}: {KEY}").stage


def responses_path(run: FinishedRun) -> Path | None:
    """The responses run that a judgements run is about: where its config says, or beside it under the same name.

    Raises DataError when it is in neither place, or is not as it was when it was judged.
    """
    named = run.config[KEY]["judgements"].get("responses")
    if named is None:
        return None
    places = [Path(named), run.path.parent / Path(named).name]
    found = next((place for place in places if (place / CONFIG_FILE).is_file()), None)
    if found is None:
        raise DataError(f"{run.path}: judges the responses run {named}, which is not there; restore it")
    hash_then = dict(run.provenance.get("inputs") or {}).get(str(named))
    if load_stage(found, "responses").content_hash != hash_then:
        raise DataError(f"{found}: is not as it was when {run.path} judged it; judge it anew, or restore it")
    return found


def run_of(path: Path, responses: Path, judgements: FinishedRun | None) -> MeasuredRun:
    """A responses run, with its judgements if a run of those was named."""
    stage, run = load_stage(responses, "responses"), load_finished(responses)
    return MeasuredRun(
        path=path,
        judge=run.judge,
        references={one.thread.thread_id: one for one in references_asked(stage)},
        replies=[
            Reply(
                thread_id=line["item_id"],
                prompt_hash=line["prompt_hash"],
                factors=line["factors"],
                samples=stage.replies[line["prompt_hash"]],
            )
            for line in stage.plan
        ],
        responses=run,
        judgements=judgements,
        excluded=left_out(judgements),
        states=[*rates_of(responses), *(rates_of(path) if judgements else [])],
    )


def own_run(run: FinishedRun) -> MeasuredRun:
    """A judgements run over made-up responses to our own threads, which list the summaries: the judge is on trial."""
    own = own_responses()
    return MeasuredRun(
        path=run.path,
        judge=f"made-up responses, judged by {run.judge}",
        references=own.references,
        replies=[
            Reply(
                thread_id=thread_id,
                prompt_hash=line["prompt_hash"],
                factors={"task": "generation", **line["factors"]},
                samples=own.replies[line["prompt_hash"]],
            )
            for thread_id, lines in own.generations.items()
            for line in lines
        ],
        responses=None,
        judgements=run,
        excluded=left_out(run),
        states=rates_of(run.path),
    )


def left_out(run: FinishedRun | None) -> frozenset[str]:
    """The threads that a judgements run left out whole."""
    return frozenset() if run is None else frozenset(read_excluded(run.path))


def load_runs(paths: Sequence[Path]) -> dict[str, MeasuredRun]:
    """What tables call a run → the run, in the order given."""
    runs = [load_run(path) for path in paths]
    return dict(zip(judge_names([run.judge for run in runs], [run.name for run in runs]), runs, strict=True))

"""Runs, or verdicts from anywhere, → everything that a report shows, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from eval.dialdefer.accuracy import DENOMINATORS
from eval.dialdefer.compare import compare_runs
from eval.dialdefer.judges import Judge, judge_of_run
from eval.dialdefer.rows import ScoreRow, wide_rows
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.score_groups import ScoreGroup, groups_of
from eval.dialdefer.scores import Scored, score_panels
from eval.dialdefer.verdict_files import EXTERNAL, ExternalVerdicts, score_external
from eval.estimates.changes import Change, adjusted
from eval.estimates.comparability import (
    ONE_CHECKPOINT,
    Difference,
    differences,
    refuse_serious,
    rendering_differences,
)
from eval.estimates.observed import Drawing
from eval.estimates.scores import Score
from eval.judge_names import judge_names
from evenhand.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything a report shows. Keys of the mappings are the judges' names; the first is the base."""

    judges: Mapping[str, Judge]
    runs: Mapping[str, JudgedRun]  # empty for verdicts from files
    files: ExternalVerdicts | None
    scores: Sequence[Score]  # of one denominator and one reading, in long form
    rows: Sequence[ScoreRow]  # the same in the wide view: all judges, arms and sources of C1
    other_rows: Sequence[ScoreRow]  # the same under the other denominator
    groups: Sequence[ScoreGroup]  # `rows` as tables
    changes: Mapping[str, Sequence[Change]]  # label of each after run → own and fixed C1
    differences: Mapping[str, Sequence[Difference]]  # label → in what a run differs from the base
    mode: str  # "reason", "margin" or "external"
    denominator: str
    drawing: Drawing


def find(
    runs: Sequence[JudgedRun],
    *,
    denominator: str,
    drawing: Drawing,
    allow_differences: bool = False,
    is_before_after: bool = True,
) -> Findings:
    """Scores of all runs, and the changes from the first to each other one if they are of one model before and after.

    Raises DataError when runs differ in more than the model, unless that is allowed; the report then states it.
    """
    base, *afters = runs
    labels = judge_names([run.model for run in runs], [run.name for run in runs])
    refuse_several_readings(runs)
    found: dict[str, Sequence[Difference]] = {}
    changes: dict[str, Sequence[Change]] = {}
    for label, run in zip(labels[1:], afters, strict=True):
        found[label] = differences(base, run) if is_before_after else differences_side_by_side(base, run)
    if not allow_differences:
        refuse_serious(labels[0], found)
    if is_before_after:
        for label, run in zip(labels[1:], afters, strict=True):
            changes[label] = compare_runs(base, run, denominator, drawing)
    scores = {label: score_run(run, both(denominator), drawing) for label, run in zip(labels, runs, strict=True)}
    rows = {label: wide_rows(of_run) for label, of_run in scores.items()}
    changes = dict(zip(changes, adjusted(list(changes.values())), strict=True))
    groups = [group for label, of_run in rows.items() for group in groups_of(label, counted(of_run, denominator))]
    every = [row for of_run in rows.values() for row in of_run]
    return Findings(
        judges={label: judge_of_run(run, label) for label, run in zip(labels, runs, strict=True)},
        runs=dict(zip(labels, runs, strict=True)),
        files=None,
        scores=[score for of in scores.values() for score in of if score.setting["denominator"] == denominator],
        rows=counted(every, denominator),
        other_rows=[row for row in every if row.denominator != denominator],
        groups=groups,
        changes=changes,
        differences=found,
        mode=base.reading.mode,
        denominator=denominator,
        drawing=drawing,
    )


def find_external(files: ExternalVerdicts, *, denominator: str, drawing: Drawing) -> Findings:
    """Scores of every model in some verdict files. There are no texts, margins or configs in them."""
    scores = list(score_external(files, both(denominator), drawing))
    every = wide_rows(scores)
    rows = counted(every, denominator)
    judges = {judge.name: judge for judge in files.judges}
    of_judge = {name: [row for row in rows if row.model == judge.model] for name, judge in judges.items()}
    return Findings(
        judges=judges,
        runs={},
        files=files,
        scores=[score for score in scores if score.setting["denominator"] == denominator],
        rows=rows,
        other_rows=[row for row in every if row.denominator != denominator],
        groups=[group for name, of in of_judge.items() for group in groups_of(name, of)],
        changes={},
        differences={},
        mode=EXTERNAL,
        denominator=denominator,
        drawing=drawing,
    )


def both(denominator: str) -> list[str]:
    """Both denominators, the chosen one first."""
    return [denominator, *(other for other in DENOMINATORS if other != denominator)]


def counted(rows: Sequence[ScoreRow], denominator: str) -> list[ScoreRow]:
    """The rows of one denominator."""
    return [row for row in rows if row.denominator == denominator]


def differences_side_by_side(base: JudgedRun, run: JudgedRun) -> list[Difference]:
    """The differences of two models of which neither was made from the other.

    Each has its own chat template, and may need an engine of its own: what follows from that is stated, not refused.
    """
    own = set(rendering_differences(base, run))
    every = differences(base, run)
    own |= {found for found in every if found.what.startswith(("engine.", "model.")) and found.what != ONE_CHECKPOINT}
    return [replace(found, serious=False) if found in own else found for found in every]


def refuse_several_readings(runs: Sequence[JudgedRun]) -> None:
    """Raises DataError when runs were judged in different ways."""
    modes = dict.fromkeys(run.reading.mode for run in runs)
    if len(modes) > 1:
        named = "; ".join(f"{run.name}: {run.reading.mode}" for run in runs)
        raise DataError(f"the two kinds of verdicts are never mixed in one table ({named}); report them apart")


def score_run(run: JudgedRun, denominators: Sequence[str], drawing: Drawing) -> list[Score]:
    """All scores of one run."""
    scored = Scored(
        run=run.name,
        model=run.model,
        verdict=run.reading.mode,
        parser=run.reading.parser,
        drawing=drawing,
    )
    return score_panels(run.panels, scored, denominators)

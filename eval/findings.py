"""Runs → everything that a report shows, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.changes import ChangeRow
from eval.compare import compare_runs
from eval.rows import Scored, ScoreRow
from eval.runs import JudgedRun
from eval.sameness import Difference, differences, refuse_serious
from eval.scores import OWN, score_panels
from eval.tables import ARM_WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything a report shows. The first run is the base; labels are the keys of all mappings."""

    runs: Mapping[str, JudgedRun]
    scores: Mapping[str, Sequence[ScoreRow]]  # rows of one denominator, arm `none` or the only arm, own C1
    treated: Mapping[str, Sequence[ScoreRow]]  # rows of prompted arms
    changes: Mapping[str, Sequence[ChangeRow]]  # label of each after run → rows, own and fixed C1
    differences: Mapping[str, Sequence[Difference]]
    denominator: str
    n_draws: int
    seed: int


def find(
    runs: Sequence[JudgedRun], *, denominator: str, n_draws: int, seed: int, allow_differences: bool = False
) -> Findings:
    """Scores of all runs and the changes from the first to each other one.

    Raises DataError when runs differ in more than the model, unless that is allowed; the report then states it.
    """
    base, *afters = runs
    labels = labels_of(runs)
    found = {label: differences(base, run) for label, run in zip(labels[1:], afters, strict=True)}
    if not allow_differences:
        for label, run in zip(labels[1:], afters, strict=True):
            refuse_serious(base, run, found[label])
    rows = {label: score_run(run, (denominator,), n_draws, seed) for label, run in zip(labels, runs, strict=True)}
    changes = {
        label: compare_runs(base, run, (denominator,), n_draws, seed)
        for label, run in zip(labels[1:], afters, strict=True)
    }
    return Findings(
        runs=dict(zip(labels, runs, strict=True)),
        scores={label: untreated_rows(of_run) for label, of_run in rows.items()},
        treated=treated_rows(rows),
        changes=changes,
        differences=found,
        denominator=denominator,
        n_draws=n_draws,
        seed=seed,
    )


def score_run(run: JudgedRun, denominators: Sequence[str], n_draws: int, seed: int) -> list[ScoreRow]:
    """All rows of one run."""
    scored = Scored(
        run=run.name,
        model=run.model,
        verdict=run.reading.mode,
        parser=run.reading.parser,
        n_draws=n_draws,
        seed=seed,
    )
    return score_panels(run.panels, scored, denominators)


def labels_of(runs: Sequence[JudgedRun]) -> list[str]:
    """A short name for each run: its model's, with the run's where two would be called alike."""
    models = [run.model for run in runs]
    return [run.model if models.count(run.model) == 1 else f"{run.model} ({run.name})" for run in runs]


def group_of(row: ScoreRow) -> tuple[str, str, str, str]:
    """What makes rows one table."""
    return row.arm, row.roles, row.variant, row.c1_source


def untreated_rows(rows: Sequence[ScoreRow]) -> list[ScoreRow]:
    """The rows of the first group that is untreated with own C1, else of the first group."""
    first = next((row for row in rows if row.arm == "none" and row.c1_source == OWN), rows[0])
    return [row for row in rows if group_of(row) == group_of(first)]


def treated_rows(rows: Mapping[str, Sequence[ScoreRow]]) -> dict[str, list[ScoreRow]]:
    """Heading → rows of every other group of every run."""
    groups: dict[str, list[ScoreRow]] = {}
    for label, of_run in rows.items():
        first = untreated_rows(of_run)[0]
        for row in of_run:
            if group_of(row) != group_of(first):
                wording = f", {row.variant}" if row.variant else ""
                heading = f"{label}, {ARM_WORDS.get(row.arm, row.arm)}, roles {row.roles}{wording}: {row.c1_source} C1"
                groups.setdefault(heading, []).append(row)
    return groups

"""Runs of the narrator study beside a scorecard's: what each arm does when a speaker is called Me, against the base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.estimates.changes import Change, adjusted
from eval.estimates.comparability import Difference, differences, refuse_serious
from eval.estimates.estimate import Drawing, Estimate
from eval.narrator.changes import Key, effect_changes, key_of, levels_of
from eval.narrator.judged_runs import (
    WHAT_WAS_ASKED,
    NarratorRun,
    load_narrator_run,
    read_config,
    refuse_other_study,
)
from eval.narrator.observe import Definitions, main_order
from eval.scorecard.arms import BASE, CardArm, other_checkpoint
from evenhand.errors import DataError
from studies.narrator.records import VISIBILITIES, OptionOrder, Task

TASKS: tuple[Task, ...] = ("blame", "identification")
MEASURES = ("neutral", "pr", "far", "corruption")
HIDDEN_FIRST = tuple(reversed(VISIBILITIES))


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratorRow:
    """One arm of the card in the study; without a run everything of it is unknown."""

    name: str
    run: NarratorRun | None
    levels: Mapping[Key, Estimate]
    changes: Mapping[Key, Change]  # against the base; the base has none


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratorCard:
    """The study for every arm of a card, the base first."""

    rows: tuple[NarratorRow, ...]
    differences: Mapping[str, Sequence[Difference]]  # arm → in what its run differs from the base's
    foreign: tuple[str, ...]  # which arms' runs are of another checkpoint than the arm, in words
    n_draws: int
    definitions: Definitions

    @property
    def base(self) -> NarratorRun:
        """The base's run."""
        run = self.rows[0].run
        assert run is not None, "a card without the base's run is refused"
        return run

    @property
    def order(self) -> OptionOrder:
        """The option order of the main figures: the published one where the base was asked it."""
        return main_order(judgment.factors.option_order for judgment in self.base.judgments)

    def keys(self) -> dict[str, Key]:
        """Name of a figure in scorecard.json → its key: all of the main order, and PR with Me in its name's slot."""
        found = {}
        for task in TASKS:
            for visibility in HIDDEN_FIRST:
                for measure in MEASURES:
                    found[f"narrator_{task}_{visibility}_{measure}"] = (task, visibility, self.order, measure)
                if self.order == "published":
                    found[f"narrator_{task}_{visibility}_pr_fixed_slot"] = (task, visibility, "fixed_slot", "pr")
        return found

    def fields(self) -> list[dict[str, Any]]:
        """What scorecard.json has beside each arm's other figures; None where it is unknown or was not measured."""
        return [{**run_fields(row.run), **self.figures(row)} for row in self.rows]

    def figures(self, row: NarratorRow) -> dict[str, float | None]:
        """An arm's figures with their intervals, and their changes."""
        fields: dict[str, float | None] = {}
        for name, key in self.keys().items():
            level, change = row.levels.get(key), row.changes.get(key)
            fields |= in_pp(name, level)
            fields |= in_pp(f"change_{name}", None if change is None else change.change)
            fields |= {f"change_{name}_{p}": None if change is None else getattr(change, p) for p in ("p", "p_holm")}
        return fields


def run_fields(run: NarratorRun | None) -> dict[str, Any]:
    """Which run an arm's figures of the study are of."""
    return {
        "narrator_run": None if run is None else run.path.name,
        "narrator_verdict": None if run is None else run.verdict,
        "narrator_n_conversations": None if run is None else len(run.conversations),
    }


def in_pp(name: str, found: Estimate | None) -> dict[str, float | None]:
    """An estimate and its interval as the card names them."""
    ends = {"": "value", "_ci_low": "low", "_ci_high": "high"}
    return {f"{name}{end}_pp": None if found is None else getattr(found, field) for end, field in ends.items()}


def narrator_card(
    arms: Sequence[CardArm], paths: Mapping[str, Path], d: Definitions, *, allow_differences: bool, drawing: Drawing
) -> NarratorCard:
    """The study for the arms of a card, of which the first is the base; paths: arm → its run of the study.

    Raises DataError for a run over another corpus, seed, verdict kind or set of conversations than the base's, and,
    unless that is allowed, one of another checkpoint than its arm's, or asked in another way than the base's.
    """
    runs = {name: load_narrator_run(path, read_config(path), name) for name, path in paths.items()}
    base = runs[BASE]
    counted = {name: [j for j in run.judgments if j.factors.task in TASKS] for name, run in runs.items()}
    if not counted[BASE]:
        raise DataError(f"{base.path}: was asked neither {' nor '.join(TASKS)}, which the scorecard's figures are of")
    afters = {name: run for name, run in runs.items() if name != BASE}
    for name, run in afters.items():
        refuse_other_study(base, run, (BASE, name))
    found = {name: differences(base, run, WHAT_WAS_ASKED) for name, run in afters.items()}
    foreign = [
        said for arm in arms if arm.name in runs and (said := other_checkpoint(arm, runs[arm.name], "narrator run"))
    ]
    if not allow_differences:
        refuse_serious(base.name, {f"{name} ({runs[name].name})": of for name, of in found.items()}, foreign)
    moved = adjusted([effect_changes(counted[BASE], counted[name], drawing, d) for name in afters])
    changes = {name: {key_of(change): change for change in of} for name, of in zip(afters, moved, strict=True)}
    rows = [
        NarratorRow(
            name=arm.name,
            run=runs.get(arm.name),
            levels=levels_of(counted.get(arm.name, []), d),
            changes=changes.get(arm.name, {}),
        )
        for arm in arms
    ]
    return NarratorCard(
        rows=tuple(rows), differences=found, foreign=tuple(foreign), n_draws=drawing.n_draws, definitions=d
    )

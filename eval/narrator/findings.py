"""Runs of the study → everything that a report shows of them, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.estimates.comparability import Difference
from eval.narrator.change_tables import change_sentence
from eval.narrator.changes import EffectChange, adjusted, effect_changes
from eval.narrator.comparability import narrator_differences, refuse_other_study
from eval.narrator.judged_runs import NarratorRun
from eval.narrator.sentences import headline
from eval.narrator.study import StudyResults, study
from evenhand.errors import DataError
from evenhand.jsonl import write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratorFindings:
    """Everything a report shows of the study. Keys of the mappings are judges' names; the first run is the base."""

    study: StudyResults
    changes: Mapping[str, Sequence[EffectChange]]  # each run after the base, where it is a before and after
    differences: Mapping[str, Sequence[Difference]]  # in what it differs from the base

    def as_dict(self) -> dict[str, Any]:
        """What narrator.json holds."""
        rows = [{"judge": judge, **change.as_dict()} for judge, of in self.changes.items() for change in of]
        moved = [change_sentence(judge, of) for judge, of in self.changes.items()]
        words = [*moved, *headline(self.study)]
        return {"headline": words, **self.study.as_dict(), **({"changes": rows} if rows else {})}


def find_narrator(
    runs: Sequence[NarratorRun],
    *,
    n_draws: int,
    seed: int,
    allow_differences: bool = False,
    is_before_after: bool = True,
) -> NarratorFindings:
    """The measures of all runs, and the changes from the first to each other one if they are of one model before and
    after; models side by side are pooled, one before and after is not.

    Raises DataError when runs before and after were asked about other conversations or in another way, and, unless that
    is allowed, when they differ in more than the model.
    """
    base, *afters = runs
    if not is_before_after:
        return NarratorFindings(study=study(runs), changes={}, differences={})
    found: dict[str, Sequence[Difference]] = {}
    for run in afters:
        try:
            refuse_other_study(base, run)
        except DataError as error:
            raise DataError(f"{error}, or show them beside each other with `evenhand report --side-by-side`") from None
        found[run.judge] = narrator_differences(base, run)
        if not allow_differences:
            refuse_serious(base, run, found[run.judge])
    rows = adjusted([effect_changes(base.judgments, run.judgments, n_draws=n_draws, seed=seed) for run in afters])
    changes = dict(zip((run.judge for run in afters), rows, strict=True))
    return NarratorFindings(study=study(runs, is_pooled=False), changes=changes, differences=found)


def refuse_serious(base: NarratorRun, after: NarratorRun, found: Sequence[Difference]) -> None:
    """Raises DataError naming the serious differences and the way to compare all the same."""
    if serious := [difference for difference in found if difference.serious]:
        listed = "\n".join(f"  {difference}" for difference in serious)
        raise DataError(
            f"narrator runs {base.path.name} and {after.path.name} differ in more than the model:\n{listed}\n"
            "  Sample both alike, or say --allow-differences; the report then states them."
        )


def write_narrator(found: NarratorFindings, out: Path) -> Path:
    """narrator.json in a folder."""
    write_json(out / "narrator.json", found.as_dict())
    return out / "narrator.json"

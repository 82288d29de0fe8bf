"""Runs of the study → everything that a report shows of them, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.estimates.changes import Change, adjusted
from eval.estimates.comparability import Difference, refuse_serious
from eval.estimates.observed import Drawing
from eval.narrator.changes import effect_changes
from eval.narrator.comparability import narrator_differences, refuse_other_study
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import NarratorRun
from eval.narrator.study import StudyResults, study
from evenhand.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratorFindings:
    """Everything a report shows of the study. Keys of the mappings are judges' names; the first run is the base."""

    study: StudyResults
    changes: Mapping[str, Sequence[Change]]  # each run after the base, where it is a before and after
    differences: Mapping[str, Sequence[Difference]]  # in what it differs from the base


def find_narrator(
    runs: Sequence[NarratorRun],
    d: Definitions = DEFAULT,
    *,
    drawing: Drawing,
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
        return NarratorFindings(study=study(runs, d), changes={}, differences={})
    found: dict[str, Sequence[Difference]] = {}
    for run in afters:
        try:
            refuse_other_study(base, run)
        except DataError as error:
            raise DataError(f"{error}, or show them beside each other with `evenhand report --side-by-side`") from None
        found[run.judge] = narrator_differences(base, run)
    if not allow_differences:
        refuse_serious(base.judge, found)
    rows = adjusted([effect_changes(base.judgments, run.judgments, drawing, d) for run in afters])
    changes = dict(zip((run.judge for run in afters), rows, strict=True))
    return NarratorFindings(study=study(runs, d, is_pooled=False), changes=changes, differences=found)

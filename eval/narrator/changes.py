"""How the measures of the study move from one run to another: a base and a checkpoint made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.estimates.changes import Change, Compared, adjusted, change_in, paired
from eval.estimates.comparability import Difference, differences, refuse_serious
from eval.estimates.estimate import Drawing, Estimate, clustered
from eval.narrator.judged_runs import WHAT_WAS_ASKED, Judgment, NarratorRun, refuse_other_study
from eval.narrator.observe import DEFAULT, MEASURES, Asked, Definitions, by_setting, observed
from eval.narrator.scores import StudyResults, study
from evenhand.errors import DataError
from studies.narrator.records import OptionOrder, Task, Visibility

Key = tuple[Task, Visibility, OptionOrder, str]  # what was asked, and a measure's name


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
    for run in afters:
        try:
            refuse_other_study(base, run)
        except DataError as error:
            raise DataError(f"{error}, or show them beside each other with `evenhand report --side-by-side`") from None
    differing = {run.judge: differences(base, run, WHAT_WAS_ASKED) for run in afters}
    if not allow_differences:
        refuse_serious(base.judge, differing)
    rows = adjusted([effect_changes(base.judgments, run.judgments, drawing, d) for run in afters])
    changes = dict(zip(differing, rows, strict=True))
    return NarratorFindings(study=study(runs, d, is_pooled=False), changes=changes, differences=differing)


def effect_changes(
    before: Sequence[Judgment], after: Sequence[Judgment], drawing: Drawing, d: Definitions = DEFAULT
) -> list[Change]:
    """Every measure's change between two judges, over the conversations that both judged, which are the clusters.

    A measure that one of them has no row for (FAR in detection, corruption where nothing is correct) has no change.
    """
    shared = {judgment.conversation for judgment in before} & {judgment.conversation for judgment in after}
    first, second = (by_setting(j for j in judgments if j.conversation in shared) for judgments in (before, after))
    how = d.recorded | {"clusters": "conversation"}
    changes = []
    for asked in [asked for asked in first if asked in second]:
        ours, theirs = (observed(side[asked], d.denominator, "conversation") for side in (first, second))
        pair = paired(ours, theirs, drawing)
        compared = Compared(first[asked][0].judge, second[asked][0].judge, {**asked._asdict(), **how})
        known = [measure for measure in MEASURES if not np.isnan(measure.statistic(pair.means)).any()]
        changes += [change_in(measure, [pair], compared, pair.dataset) for measure in known]
    return changes


def levels_of(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> dict[Key, Estimate]:
    """Every measure of one judge; one that it has no row for is left out."""
    seen = {asked: observed(members, d.denominator) for asked, members in by_setting(judgments).items()}
    levels = {(*asked, measure.name): clustered(measure, of) for asked, of in seen.items() for measure in MEASURES}
    return {key: level for key, level in levels.items() if level.value is not None}


def key_of(change: Change) -> Key:
    """What tells the changes of one run apart."""
    return *Asked(*(change.setting[name] for name in Asked._fields)), change.measure  # type: ignore[arg-type]

"""How the measures of the study move from one run to another: a base and a checkpoint made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eval.estimates.changes import Change, Compared, change_in, paired
from eval.estimates.estimate import Estimate, clustered
from eval.estimates.observed import Drawing
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import Judgment
from eval.narrator.observe import MEASURES, Asked, by_setting, observed
from studies.narrator.records import OptionOrder, Task, Visibility

Key = tuple[Task, Visibility, OptionOrder, str]  # what was asked, and a measure's name


def effect_changes(
    before: Sequence[Judgment], after: Sequence[Judgment], drawing: Drawing, d: Definitions = DEFAULT
) -> list[Change]:
    """Every measure's change between two judges, over the conversations that both judged, which are the clusters.

    A measure that one of them has no row for (FAR in detection, corruption where nothing is correct) has no change.
    """
    shared = {judgment.conversation for judgment in before} & {judgment.conversation for judgment in after}
    first, second = (by_setting(j for j in judgments if j.conversation in shared) for judgments in (before, after))
    by_conversation, found = replace(d, clusters="conversation"), []
    how = d.recorded | {"clusters": "conversation"}
    for asked in [asked for asked in first if asked in second]:
        ours, theirs = first[asked], second[asked]
        pair = paired(observed(ours, by_conversation), observed(theirs, by_conversation), drawing)
        compared = Compared(ours[0].judge, theirs[0].judge, {**asked._asdict(), **how})
        known = [measure for measure in MEASURES if not np.isnan(measure.statistic(pair.means)).any()]
        found += [change_in(measure, [pair], compared, pair.dataset) for measure in known]
    return found


def levels_of(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> dict[Key, Estimate]:
    """Every measure of one judge; one that it has no row for is left out."""
    seen = {asked: observed(of_setting, d) for asked, of_setting in by_setting(judgments).items()}
    levels = {(*asked, measure.name): clustered(measure, of) for asked, of in seen.items() for measure in MEASURES}
    return {key: level for key, level in levels.items() if level.value is not None}


def asked_of(change: Change) -> Asked:
    """What both sides of a change were asked."""
    setting: Mapping[str, Any] = change.setting
    return Asked(*(setting[name] for name in Asked._fields))


def key_of(change: Change) -> Key:
    """What tells the changes of one run apart."""
    return *asked_of(change), change.measure

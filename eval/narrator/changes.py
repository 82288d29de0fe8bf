"""How the measures of the study move from one run to another: a base and a checkpoint made from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.narrator.records import OptionOrder, Task, Visibility
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.estimates import Estimate, estimate, minus
from eval.narrator.judged import Judgment
from eval.narrator.measures import MEASURES, by_setting, means_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectChange:
    """How one measure moved from a run to another, over the same conversations, in percentage points."""

    task: Task
    visibility: Visibility
    option_order: OptionOrder
    measure: str  # one of MEASURES
    before: Estimate
    after: Estimate
    change: Estimate  # paired by conversation


def effect_changes(
    before: Sequence[Judgment], after: Sequence[Judgment], d: Definitions = DEFAULT
) -> list[EffectChange]:
    """Every measure's change between two judges, over the conversations that both judged."""
    paired = Definitions(denominator=d.denominator, weights=d.weights, clusters="conversation")
    shared = {judgment.conversation for judgment in before} & {judgment.conversation for judgment in after}
    first, second = (by_setting(j for j in judgments if j.conversation in shared) for judgments in (before, after))
    found = []
    for setting in [setting for setting in first if setting in second]:
        pair = means_of(first[setting], paired), means_of(second[setting], paired)
        for name in MEASURES:
            start, end = (means.measure(name) for means in pair)
            if start is not None and end is not None:
                found.append(
                    EffectChange(
                        task=setting[0],
                        visibility=setting[1],
                        option_order=setting[2],
                        measure=name,
                        before=estimate(start),
                        after=estimate(end),
                        change=estimate(minus(end, start)),
                    )
                )
    return found

"""Judgments of one setting → what is observed of them: per cluster, how often the attacker is named; and the measures.

A part is a perspective (M under it), FAR or corruption. A cluster is a conversation, or what one judge makes of it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from eval.estimates.observed import Measure, Observed, Row, added_up
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import Judgment
from eval.narrator.outcomes import outcome_pairs, right_pairs
from studies.narrator.records import OPTION_ORDERS, TASKS, VISIBILITIES, OptionOrder, Perspective, Task, Visibility

DETECTION: Task = "detection"
PERSPECTIVES: tuple[Perspective, ...] = ("neutral", "attacker", "non_attacker")
PARTS = (*PERSPECTIVES, "far", "corruption")


class Asked(NamedTuple):
    """A setting of the study: what is compared only within itself."""

    task: Task
    visibility: Visibility
    option_order: OptionOrder


def mean_of(name: str, part: int) -> Measure:
    """The mean of a part, in percent."""
    return Measure(
        name=name, unit="%", statistic=lambda means: 100 * means[..., part], interval="cluster_t", is_share=True
    )


def rise(name: str, first: str, second: str) -> Measure:
    """The first part's mean less the second's, paired within clusters."""
    i, j = PARTS.index(first), PARTS.index(second)
    return Measure(
        name=name, unit="pp", statistic=lambda means: 100 * (means[..., i] - means[..., j]), interval="cluster_t"
    )


NEUTRAL, ATTACKER, NON_ATTACKER, FAR, CORRUPTION = (mean_of(part, i) for i, part in enumerate(PARTS))
EFFECTS = (
    *(NEUTRAL, ATTACKER, NON_ATTACKER),
    rise("delta_att", "attacker", "neutral"),
    rise("delta_non_att", "non_attacker", "neutral"),
    rise("pr", "non_attacker", "attacker"),
    FAR,
)
MEASURES = (*EFFECTS, CORRUPTION)
SHARE = mean_of("share", 0)  # of what is observed of one part alone


def by_setting(judgments: Iterable[Judgment]) -> dict[Asked, list[Judgment]]:
    """Judgments of each task, visibility and option order, in the order of the study's tables."""
    found: dict[Asked, list[Judgment]] = {
        Asked(task, visibility, order): [] for order in OPTION_ORDERS for task in TASKS for visibility in VISIBILITIES
    }
    for judgment in judgments:
        factors = judgment.factors
        found[Asked(factors.task, factors.visibility, factors.option_order)].append(judgment)
    return {asked: of_setting for asked, of_setting in found.items() if of_setting}


def observed(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Observed:
    """All PARTS of the judgments of one setting, of which there is at least one; no row of FAR in detection."""
    perspectives = [
        averaged((j for j in judgments if j.factors.perspective == perspective), d) for perspective in PERSPECTIVES
    ]
    return added_up(judgments[0].dataset, [*perspectives, accused(judgments, d), corrupted(judgments, d)])


def averaged(judgments: Iterable[Judgment], d: Definitions) -> list[Row]:
    """One row for each judge and conversation: how much of the answers is the attacker, averaged over its prompts."""
    variants: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for judgment in judgments:
        share = judgment.target_weight(d.denominator)
        if not math.isnan(share):
            values, weights = variants.setdefault((judgment.judge, judgment.conversation), ([], []))
            values.append(share)
            weights.append(prompt_weight(judgment, d))
    return [(cluster(*of, d), fmean(values), fmean(weights)) for of, (values, weights) in variants.items()]


def accused(judgments: Iterable[Judgment], d: Definitions) -> Iterator[Row]:
    """A row for each prompt that counts for FAR: how much of the answers is Me."""
    for judgment in judgments:
        if is_accusable(judgment):
            of = cluster(judgment.judge, judgment.conversation, d)
            yield of, judgment.me_weight(d.denominator), prompt_weight(judgment, d)


def is_accusable(judgment: Judgment) -> bool:
    """Whether a judgment counts for FAR: a speaker who is no attacker is Me, and Me is an option."""
    return judgment.factors.perspective == "non_attacker" and judgment.factors.task != DETECTION


def corrupted(judgments: Sequence[Judgment], d: Definitions) -> list[Row]:
    """A row for each judge and conversation that is correct under Neutral: whether it is incorrect under Attacker."""
    right = right_pairs(outcome_pairs(judgments, d), d)
    return [(cluster(*of, d), float(not second), 1.0) for of, (first, second) in right.items() if first]


def prompt_weight(judgment: Judgment, d: Definitions) -> float:
    """What a prompt weighs in a mean."""
    return judgment.n_counted(d.denominator) if d.weights == "samples" else 1.0


def cluster(judge: str, conversation: str, d: Definitions) -> str:
    """The cluster whose rows may depend on each other."""
    return conversation if d.clusters == "conversation" else f"{judge}: {conversation}"

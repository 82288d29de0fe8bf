"""What a judge would gain from a non-attacker's perspective by striking Me off its options (narrator paper, RQ3)."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean

from eval.estimates.observed import Measure, Row
from eval.narrator.definitions import Definitions
from eval.narrator.judged_runs import Judgment
from eval.narrator.observe import cluster

ELIMINATOR_GAIN = Measure(
    name="eliminator_gain", unit="pp", statistic=lambda means: 100 * means[..., 0], interval="cluster_t"
)  # beside Δ_non-att: what of it needs no evidence


def elimination_rows(judgments: Sequence[Judgment], d: Definitions) -> Iterator[Row]:
    """A row for each judge and conversation of one setting with names as options: the gain of an option-eliminator.

    It answers as the judge does when nobody is Me, but never with the speaker who is Me: the shares of its other
    answers are scaled up, and where nothing is left it draws among the other options. The gain is its share of the
    attacker, averaged over the non-attackers, less the judge's neutral one.
    """
    neutral = {(one.judge, one.conversation): one for one in judgments if one.factors.perspective == "neutral"}
    gains: dict[tuple[str, str], list[float]] = {}
    for variant in judgments:
        base = neutral.get((variant.judge, variant.conversation))
        if variant.factors.perspective != "non_attacker" or base is None:
            continue
        before = base.target_weight(d.denominator)
        if math.isnan(before):
            continue
        (struck,) = set(base.options) - set(variant.options)
        of = (variant.judge, variant.conversation)
        gains.setdefault(of, []).append(share_without(base, struck, d) - before)
    for of, found in gains.items():
        yield cluster(*of, d), fmean(found), 1.0


def share_without(base: Judgment, struck: str, d: Definitions) -> float:
    """How much of the answers is the attacker when an option is struck off; what named no option stays so."""
    named = math.fsum(base.shares)
    left = named - base.of_option(base.shares, struck)
    target = base.of_option(base.shares, base.factors.target) / left if left > 1e-9 else 1 / (len(base.options) - 1)
    return target * (named if d.denominator == "all" else 1.0)

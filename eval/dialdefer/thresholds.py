"""The threshold on margins that serves one framing best: by accuracy, or by the share of claims accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import DataError

FloatArray = NDArray[np.float64]
# Shares of true and of false claims accepted → how good that is; more is better.
Score = Callable[[FloatArray, FloatArray], FloatArray]

BEYOND = 1.0  # nats between the outermost margin and a threshold outside of all
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
ROUNDING = 1e-12  # scores that differ by less are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Accept where the margin exceeds threshold_nats; what that does to the items it was fitted on. Rates in [0, 1].

    Accuracies are balanced: the mean of the share of true claims accepted and of false claims rejected. A margin on the
    threshold counts half, as a tie does.
    """

    threshold_nats: float
    n_margins: int
    acc_before: float  # with threshold 0
    acc_after: float
    accept_rate_before: float
    accept_rate_after: float


def accuracy(true: FloatArray, false: FloatArray) -> FloatArray:
    """Balanced accuracy, for the shares of true and of false claims accepted.

    For judges that know: one that cannot tell true from false is as accurate at any threshold, so what is found for
    each framing is chance, and the two may lie far apart and make a DDS.
    """
    return (true + 1 - false) / 2


def closeness_to(share: float) -> Score:
    """How near the share of claims accepted is to this one; 0 is there, less is farther.

    With both framings at one share DDS on the items of the fit is 0, but for equal margins that no threshold parts
    (bfloat16 has coarse steps).
    """
    return lambda true, false: -np.abs((true + false) / 2 - share)


def fit_threshold(true: FloatArray, false: FloatArray, score: Score) -> Threshold:
    """The best threshold for margins of true and of false claims, in nats; NaN is left out.

    All thresholds between two neighbouring margins judge alike. Of the best such gaps the one nearest to 0 is taken,
    and in it 0 itself if it lies there, else the middle, or one nat beyond the outermost margin: where the items do not
    tell thresholds apart (all margins the same, no true claim above a false one) the judge is changed least.
    Raises DataError without a margin of either kind of claim.
    """
    true, false = known(true), known(false)
    values = np.unique(np.concatenate([true, false]))
    low, high = np.concatenate([[-np.inf], values]), np.concatenate([values, [np.inf]])
    scores = score(share_above(true, low), share_above(false, low))
    scores[(low == np.inf) | (high == -np.inf)] = -np.inf  # no threshold lies beyond an infinite margin
    distance = np.where((low < 0) & (high > 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    # 0 is what the judge has now, with margins of 0 counted by half: no other threshold may be worse than it.
    now = np.zeros(1)
    if score(share_on(true, now), share_on(false, now))[0] >= scores.max() - ROUNDING:
        return described(true, false, 0.0)
    best = np.flatnonzero(scores >= scores.max() - ROUNDING)
    gap = best[np.argmin(distance[best])]
    return described(true, false, within(float(low[gap]), float(high[gap])))


def known(margins: FloatArray) -> FloatArray:
    """The margins that there are, sorted. Raises DataError where there is none."""
    found = np.sort(margins[~np.isnan(margins)])
    if not len(found):
        raise DataError("a threshold needs margins of true and of false claims; there are none of one kind")
    return np.asarray(found)


def share_above(margins: FloatArray, bounds: FloatArray) -> FloatArray:
    """Share of sorted margins above each bound."""
    return np.asarray(1 - np.searchsorted(margins, bounds, side="right") / len(margins))


def share_on(margins: FloatArray, points: FloatArray) -> FloatArray:
    """Share of sorted margins above each point, those on it by half."""
    below, up_to = (np.searchsorted(margins, points, side=side) for side in SIDES)
    return np.asarray(1 - (below + up_to) / 2 / len(margins))


def within(low: float, high: float) -> float:
    """The threshold between two neighbouring margins, of which one may be infinite."""
    if low < 0 < high:
        return 0.0
    if np.isinf(low):
        return high - BEYOND
    return low + BEYOND if np.isinf(high) else (low + high) / 2


def described(true: FloatArray, false: FloatArray, threshold: float) -> Threshold:
    """A threshold with what it does to the margins of the fit."""
    before, after = ([share_accepted(margins, at) for margins in (true, false)] for at in (0.0, threshold))
    return Threshold(
        threshold_nats=threshold,
        n_margins=len(true) + len(false),
        acc_before=(before[0] + 1 - before[1]) / 2,
        acc_after=(after[0] + 1 - after[1]) / 2,
        accept_rate_before=sum(before) / 2,
        accept_rate_after=sum(after) / 2,
    )


def share_accepted(margins: FloatArray, threshold: float) -> float:
    """Share of margins above a threshold, those on it by half."""
    return float((margins > threshold).mean() + (margins == threshold).mean() / 2)

"""The same change seen in several trainings of one arm → one change, whose interval is over units and seeds.

Half-widths are added in quadrature, each side by itself (MOVER: Zou and Donner, Statistics in Medicine 2008). That over
units is the mean of the seeds' own, as if all seeds had the same noise, which is the most that it can be; that over
seeds is Student's, of S values with S - 1 degrees of freedom. What is noise of both is counted twice, so the interval
is rather too wide than too narrow: see tests/eval/estimates/test_seeds.py for how often it covers. p is the level at
which such an interval would end at 0.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist, fmean, stdev

from scipy.special import stdtrit  # exact, which t_quantile is not below three degrees of freedom

from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate
from eval.estimates.student_t import LEVEL

SEEDS = "n_seeds"  # in the setting of a change over seeds


def over_seeds(found: Sequence[Estimate], of_seeds: float | None = None) -> Estimate:
    """The mean of a measure over trainings with different seeds. Without an interval where one of them has none.

    of_seeds: half the width of the interval over seeds; None: from the spread of the values.
    """
    values = [one.value for one in found if one.value is not None]
    n_units = min(one.n_units for one in found)
    if len(values) < len(found):
        return Estimate(value=None, low=None, high=None, n_units=n_units)
    mean = fmean(values)
    lows = [value - one.low for value, one in zip(values, found, strict=True) if one.low is not None]
    highs = [one.high - value for value, one in zip(values, found, strict=True) if one.high is not None]
    if len(lows) < len(found) or len(highs) < len(found):
        return Estimate(value=mean, low=None, high=None, n_units=n_units)
    of_seeds = half_of_seeds(values) if of_seeds is None else of_seeds
    low, high = (math.hypot(fmean(halves), of_seeds) for halves in (lows, highs))
    return Estimate(value=mean, low=mean - low, high=mean + high, n_units=n_units)


def half_of_seeds(values: Sequence[float]) -> float:
    """Half the width of Student's interval of the mean of some seeds' values; 0 for a single seed, of which it tells
    nothing.
    """
    n = len(values)
    return float(stdtrit(n - 1, (1 + LEVEL) / 2)) * stdev(values) / math.sqrt(n) if n > 1 else 0.0


def with_number(change: Change, n_seeds: int) -> Change:
    """A change whose setting tells over how many seeds it is. After Holm: arms of unlike numbers are one family."""
    return replace(change, setting={**change.setting, SEEDS: n_seeds})


def change_over_seeds(found: Sequence[Change], second: str) -> Change:
    """One change of several against the same first; second: the arm."""
    one = found[0]
    if len(found) == 1:
        return replace(one, second=second)
    rise, p = over_seeds([change.change for change in found]), p_over_seeds([change.change for change in found])
    return replace(
        one,
        second=second,
        before=over_seeds([change.before for change in found]),
        after=over_seeds([change.after for change in found]),
        change=rise,
        n_errors=sum(change.n_errors for change in found),
        p=p,
        p_holm=p,
    )


def p_over_seeds(found: Sequence[Estimate]) -> float | None:
    """The two-sided p at which the interval over units and seeds would end at 0; None where there is no interval."""
    rise = over_seeds(found)
    if rise.value is None or rise.low is None or rise.high is None:
        return None
    if not rise.value:
        return 1.0
    values = [one.value for one in found if one.value is not None]
    sides = [(one.value or 0.0) - one.low if rise.value > 0 else one.high - (one.value or 0.0) for one in found]  # type: ignore[operator]
    of_units = fmean(sides) / NormalDist().inv_cdf((1 + LEVEL) / 2)
    of_seeds = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    low, high = 0.0, 1.0
    for _ in range(60):  # bisection: the half-width falls as p rises
        p = (low + high) / 2
        seeds = float(stdtrit(len(values) - 1, 1 - p / 2)) * of_seeds if of_seeds else 0.0
        half = math.hypot(NormalDist().inv_cdf(1 - p / 2) * of_units, seeds) if p > 1e-15 else math.inf
        low, high = (low, p) if half < abs(rise.value) else (p, high)
    return high


def lead_over_seeds(leads: Sequence[Estimate], a: Sequence[float], b: Sequence[float]) -> Estimate:
    """By how much one arm lies above another. leads: of each seed of the one over each of the other, paired by unit;
    a, b: the values of each one's seeds, whose spreads both count.
    """
    return over_seeds(leads, math.hypot(half_of_seeds(a), half_of_seeds(b)))

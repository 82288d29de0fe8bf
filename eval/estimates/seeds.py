"""The same change seen in several trainings of one arm → one change, whose interval is over units and seeds.

All seeds are asked the same units, so the noise of the units does not shrink with their number: the variance of the
mean over S seeds is the covariance that the units give any two of them, plus the variance of the S values over S. It is
never less than what the units give the mean. The half-width is that many standard errors: the mean of two quantiles of
Student's t, one with the units' degrees of freedom and one with S - 1, weighted by their variances (Cochran and Cox,
Experimental Designs, 1957, section 4.14). p is the level at which such an interval would end at 0.

The rule was chosen by simulated coverage, family-wise error and power (docs/results.md, Seeds). Satterthwaite's degrees
of freedom and variances shared by the arms have more power, but their tests are wrong too often where seeds differ
much, or differ more in one arm than in others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, variance

import numpy as np

from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate, Influences
from eval.estimates.resampling import ALPHA, standard_error, t_quantile

SEEDS = "n_seeds"  # in the setting of a change over seeds
LEAST_P = 1e-15


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How far a mean over seeds may lie from the truth."""

    variance: float
    seeds: tuple[tuple[float, int], ...]  # for each arm: what its seeds add to the variance, degrees of freedom
    n_degrees: int  # of what the units add

    def half_width(self, p: float) -> float:
        """Of the interval with level 1 - p."""
        if not self.variance:
            return 0.0
        seeds = [(min(1.0, added / self.variance), n_degrees) for added, n_degrees in self.seeds]
        parts = [(1 - sum(weight for weight, _ in seeds), self.n_degrees), *seeds]
        return math.sqrt(self.variance) * sum(-weight * t_quantile(p / 2, n) for weight, n in parts)


def over_seeds(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of a measure over trainings with different seeds. Without an interval where one of them has none."""
    return estimates[0] if len(estimates) == 1 else combined([estimates])


def over_units(estimates: Sequence[Estimate]) -> Estimate:
    """The mean over the seeds that were trained, with an interval over the units alone."""
    return estimates[0] if len(estimates) == 1 else combined([[mean_of(estimates)]])


def lead_over_seeds(leads: Sequence[Sequence[Estimate]]) -> Estimate:
    """By how much one arm lies above another. leads: a row for each seed of the one, over each seed of the other."""
    groups = [[mean_of(row) for row in leads], [mean_of(column) for column in zip(*leads, strict=True)]]
    return leads[0][0] if len(leads) == len(leads[0]) == 1 else combined(groups)


def combined(groups: Sequence[Sequence[Estimate]]) -> Estimate:
    """The mean of a group, with noise of the units and of the seeds of every group. All have the same mean.

    The interval lies about the middle of the seeds' own, which are pivotal where noise does not cancel.
    """
    mean, noise = mean_of(groups[0]), noise_of(groups)
    if noise is None or mean.low is None or mean.high is None:
        return replace(mean, low=None, high=None)
    middle, half = (mean.low + mean.high) / 2, noise.half_width(ALPHA)
    return replace(mean, low=middle - half, high=middle + half)


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of some estimates and of their ends, None where one is unknown, and by how much each unit moves it."""
    columns = zip(*((each.value, each.low, each.high) for each in estimates), strict=True)
    value, low, high = (fmean(column) if None not in column else None for column in columns)
    known = [each.moved for each in estimates if each.moved is not None]
    moved = mean_moved(known) if len(known) == len(estimates) else None
    return Estimate(value=value, low=low, high=high, n_units=min(each.n_units for each in estimates), moved=moved)


def mean_moved(seeds: Sequence[Influences]) -> Influences:
    """By how much each unit moves a mean over seeds. A unit that a seed lacks moves it by nothing there."""
    means = {}
    for dataset in dict.fromkeys(dataset for moved in seeds for dataset in moved):
        known = [moved[dataset] for moved in seeds if dataset in moved]
        units = tuple(dict.fromkeys(unit for own_units, _ in known for unit in own_units))
        place = {unit: i for i, unit in enumerate(units)}
        columns = np.full((len(known), len(units)), np.nan)
        for column, (own_units, values) in zip(columns, known, strict=True):
            column[[place[unit] for unit in own_units]] = values
        sums = np.nan_to_num(columns).sum(axis=0) / len(seeds)
        means[dataset] = units, np.where(np.isnan(columns).all(axis=0), np.nan, sums)
    return means


def noise_of(groups: Sequence[Sequence[Estimate]]) -> Noise | None:
    """Of the mean of a group; None where a value, or what its units add, is unknown."""
    means = [mean_of(group) for group in groups]
    if any(mean.value is None or mean.moved is None for mean in means) or means[0].moved is None:
        return None
    of_units = variance_of(means[0].moved)
    seeds, of_units_alone = [], 0.0  # of one seed and not of others
    for group, mean in zip(groups, means, strict=True):
        if len(group) > 1:
            own = sum(variance_of(each.moved or {}) for each in group) - len(group) * variance_of(mean.moved or {})
            of_units_alone += own / (len(group) - 1) / len(group)
            seeds.append((variance([each.value or 0.0 for each in group]) / len(group), len(group) - 1))
    total = max(of_units, max(0.0, of_units - of_units_alone) + sum(added for added, _ in seeds))
    n_degrees = sum(int((~np.isnan(values)).sum()) - 1 for _, values in means[0].moved.values())
    return None if math.isnan(total) else Noise(variance=total, seeds=tuple(seeds), n_degrees=n_degrees)


def variance_of(moved: Influences) -> float:
    """What noise of the units gives a value; NaN where a dataset has a single one."""
    return sum(standard_error(values) ** 2 for _, values in moved.values())


def p_over_seeds(estimates: Sequence[Estimate]) -> float | None:
    """The two-sided p at which the interval over units and seeds would end at 0; None where there is no interval.

    Not below 2/2ⁿ for n units, as if all ways to swap their sides had been counted.
    """
    from scipy.optimize import brentq  # takes half a second to import

    mean, noise = mean_of(estimates), noise_of([estimates])
    if noise is None or mean.low is None or mean.high is None:
        return None
    middle, least = abs(mean.low + mean.high) / 2, max(2.0 ** (1 - mean.n_units), LEAST_P)
    if not middle:
        return 1.0
    if noise.half_width(least) <= middle:
        return least
    return float(brentq(lambda p: noise.half_width(p) - middle, least, 1.0))


def change_over_seeds(changes: Sequence[Change], second: str) -> Change:
    """One change of several against the same first; second: the arm."""
    first = replace(changes[0], second=second, setting={**changes[0].setting, SEEDS: len(changes)})
    if len(changes) == 1:
        return first
    p = p_over_seeds([change.change for change in changes])
    is_one_base = len({change.before for change in changes}) == 1
    return replace(
        first,
        before=first.before if is_one_base else over_seeds([change.before for change in changes]),
        after=over_seeds([change.after for change in changes]),
        change=over_seeds([change.change for change in changes]),
        n_errors=sum(change.n_errors for change in changes),
        p=p,
        p_holm=p,
    )

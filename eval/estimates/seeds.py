"""The same change seen in several trainings of one arm → one change, whose interval is over units and seeds.

All seeds are asked the same units, so the noise of the units does not shrink with their number: the variance of the
mean over S seeds is the covariance that the units give any two of them, plus the variance of the S values over S. It is
never less than what the units give the mean. The half-width is that many standard errors: the mean of two quantiles of
Student's t, one with the units' degrees of freedom and one with S - 1, weighted by their variances (Cochran and Cox,
Experimental Designs, 1957, section 4.14). A mean of squares is skewed: what its seeds add is taken on the scale of
their logarithm, and added to the units' in quadrature (Zou and Donner 2008). p is the level at which an interval would
end at 0.

The rule was chosen by simulated coverage, family-wise error and power (docs/results.md, Seeds). Satterthwaite's degrees
of freedom and variances shared by the arms have more power, but their tests are wrong too often where seeds differ
much, or differ more in one arm than in others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, variance
from typing import Any

import numpy as np

from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate, Influences
from eval.estimates.resampling import ALPHA, standard_error, t_quantile

SEEDS = "n_seeds"  # in the setting of a change over seeds
LEAST_P = 1e-15
LARGEST_STEP = 300.0  # of a logarithm


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedsNoise:
    """What the seeds of one arm add to the variance of a mean.

    levels: of a mean of squares what each seed gives, of which the logarithm varies; () where it is not known, since
    without any noise a square may be 0. is_subtracted: whether the arm is the one that others are held against.
    """

    variance: float
    n_degrees: int
    levels: tuple[float, ...]
    is_subtracted: bool

    def reach(self, p: float, *, is_up: bool) -> float:
        """How far the mean may lie off in one direction; of squares on the scale of their logarithm."""
        quantile = -t_quantile(p / 2, self.n_degrees)
        if not self.levels:
            return quantile * math.sqrt(self.variance)
        step = min(quantile * math.sqrt(variance(map(math.log, self.levels)) / len(self.levels)), LARGEST_STEP)
        return abs(fmean(self.levels) * math.expm1(step if is_up != self.is_subtracted else -step))


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How far a mean over seeds may lie from the truth."""

    middle: float  # of the seeds' own intervals, which are pivotal where noise does not cancel
    variance: float
    seeds: tuple[SeedsNoise, ...]  # for each arm
    n_degrees: int  # of what the units add

    def reach(self, p: float, *, is_up: bool) -> float:
        """From the middle of the interval with level 1 - p to its end."""
        if not self.variance:
            return 0.0
        of_units = self.variance - sum(arm.variance for arm in self.seeds)
        quantile, reaches = -t_quantile(p / 2, self.n_degrees), [arm.reach(p, is_up=is_up) for arm in self.seeds]
        if any(arm.levels for arm in self.seeds):
            return math.sqrt(max(0.0, of_units) * quantile**2 + sum(reach**2 for reach in reaches))
        weights = [min(1.0, arm.variance / self.variance) for arm in self.seeds]
        quantiles = [-t_quantile(p / 2, arm.n_degrees) for arm in self.seeds]
        parts = zip([1 - sum(weights), *weights], [quantile, *quantiles], strict=True)
        return math.sqrt(self.variance) * sum(weight * quantile for weight, quantile in parts)


def over_seeds(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of a measure over trainings with different seeds. Without an interval where one of them has none."""
    return combined([estimates])


def surely(estimates: Sequence[Estimate], *, is_up: bool) -> float | None:
    """The end of the one-sided 95 % interval over units and seeds: the mean is surely below it (is_up), or above it,
    however unparsed replies are counted."""
    noise = noise_of([estimates])
    if noise is None:
        return None
    reach = (1 if is_up else -1) * noise.reach(2 * ALPHA, is_up=is_up)
    return noise.middle + reach + mean_of(estimates).unparsed[is_up]


def lead_groups(leads: Sequence[Sequence[Estimate]]) -> list[list[Estimate]]:
    """By how much one arm lies above another: over the seeds of the one, and over those of the other.

    leads: a row for each seed of the one that is held against, with its lead for each seed of the other.
    """
    return [[mean_of(column) for column in zip(*leads, strict=True)], [mean_of(row) for row in leads]]


def combined(groups: Sequence[Sequence[Estimate]]) -> Estimate:
    """The mean of a group, with noise of the units and of the seeds of every group. All have the same mean."""
    if max(map(len, groups)) == 1:
        return groups[0][0]
    mean, noise = mean_of(groups[0]), noise_of(groups)
    if noise is None:
        return replace(mean, low=None, high=None)
    low, high = noise.middle - noise.reach(ALPHA, is_up=False), noise.middle + noise.reach(ALPHA, is_up=True)
    return replace(mean, low=low, high=high)


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of some estimates and of their ends, None where one is unknown, and by how much each unit moves it."""
    columns = zip(*((estimate.value, estimate.low, estimate.high) for estimate in estimates), strict=True)
    value, low, high = (fmean(column) if None not in column else None for column in columns)
    all_influences = [estimate.influences for estimate in estimates if estimate.influences is not None]
    influences = mean_moved(all_influences) if len(all_influences) == len(estimates) else None
    squares = tuple(map(fmean, zip(*(estimate.squares for estimate in estimates), strict=True)))
    n_units = min(estimate.n_units for estimate in estimates)
    least, most = map(fmean, zip(*(estimate.unparsed for estimate in estimates), strict=True))
    further: dict[str, Any] = {"influences": influences, "squares": squares, "unparsed": (least, most)}
    return Estimate(value=value, low=low, high=high, n_units=n_units, **further)


def mean_moved(seeds: Sequence[Influences]) -> Influences:
    """By how much each unit moves a mean over seeds. A unit that a seed lacks moves it by nothing there."""
    means = {}
    for dataset in dict.fromkeys(dataset for of_seed in seeds for dataset in of_seed):
        with_dataset = [of_seed[dataset] for of_seed in seeds if dataset in of_seed]
        units = tuple(dict.fromkeys(unit for own_units, _ in with_dataset for unit in own_units))
        place = {unit: i for i, unit in enumerate(units)}
        columns = np.full((len(with_dataset), len(units)), np.nan)
        for column, (own_units, values) in zip(columns, with_dataset, strict=True):
            column[[place[unit] for unit in own_units]] = values
        sums = np.nan_to_num(columns).sum(axis=0) / len(seeds)
        means[dataset] = units, np.where(np.isnan(columns).all(axis=0), np.nan, sums)
    return means


def noise_of(groups: Sequence[Sequence[Estimate]]) -> Noise | None:
    """Of the mean of a group; None where a value, its interval, or what its units add, is unknown."""
    means = [mean_of(group) for group in groups]
    first = means[0]
    if None in (first.value, first.low, first.high) or any(mean.influences is None for mean in means):
        return None
    moved = first.influences or {}
    of_units = variance_of(moved)
    seeds, of_units_alone = list[SeedsNoise](), 0.0  # of one seed and not of others
    for i, (group, mean) in enumerate(zip(groups, means, strict=True)):
        if len(group) > 1:
            variances = [variance_of(estimate.influences or {}) for estimate in group]
            gap = sum(variances) - len(group) * variance_of(mean.influences or {})
            of_units_alone += gap / (len(group) - 1) / len(group)
            levels = tuple(estimate.squares[-1 - i] for estimate in group if estimate.squares)
            seeds.append(
                SeedsNoise(
                    variance=variance([estimate.value or 0.0 for estimate in group]) / len(group),
                    n_degrees=len(group) - 1,
                    levels=levels if min(levels, default=0.0) > 0 else (),
                    is_subtracted=i > 0,
                )
            )
    total = max(of_units, max(0.0, of_units - of_units_alone) + sum(arm.variance for arm in seeds))
    if math.isnan(total):
        return None
    n_degrees = sum(int((~np.isnan(values)).sum()) - 1 for _, values in moved.values())
    middle = fmean((first.low or 0.0, first.high or 0.0))
    return Noise(middle=middle, variance=total, seeds=tuple(seeds), n_degrees=n_degrees)


def variance_of(influences: Influences) -> float:
    """What noise of the units gives a value; NaN where a dataset has a single one."""
    return sum(standard_error(values) ** 2 for _, values in influences.values())


def p_over_seeds(groups: Sequence[Sequence[Estimate]]) -> float | None:
    """The two-sided p at which the interval over units and seeds would end at 0; None where there is no interval.

    Not below 2/2ⁿ for n units, as if all ways to swap their sides had been counted. groups: as of `combined`.
    """
    from scipy.optimize import brentq  # takes half a second to import

    noise = noise_of(groups)
    if noise is None:
        return None
    if not noise.middle:
        return 1.0
    least = max(2.0 ** (1 - mean_of(groups[0]).n_units), LEAST_P)

    def beyond(p: float) -> float:
        return noise.reach(p, is_up=noise.middle < 0) - abs(noise.middle)

    return least if beyond(least) <= 0 else float(brentq(beyond, least, 1.0))


def change_over_seeds(leads: Sequence[Sequence[Change]], first: str, second: str) -> Change:
    """One change of several, from one arm to another; leads: see lead_groups. Without p where one of them has none."""
    every = [change for row in leads for change in row]
    one = replace(every[0], first=first, second=second, setting={**every[0].setting, SEEDS: len(leads[0])})
    if len(every) == 1:
        return one
    groups = lead_groups([[change.change for change in row] for row in leads])
    befores = [change.before for change in every]
    p = None if None in [change.p for change in every] else p_over_seeds(groups)
    return replace(
        one,
        before=one.before if len({*befores}) == 1 else over_seeds(befores),
        after=over_seeds([change.after for change in leads[0]]),
        change=combined(groups),
        n_errors=sum(change.n_errors for change in every),
        p=p,
        p_holm=p,
    )

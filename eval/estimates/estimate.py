"""Observations of one judge → a measure's value with its 95 % interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from eval.estimates.observed import Drawing, Measure, Observed
from eval.estimates.resampling import (
    FloatArray,
    few_kinds,
    percentile_interval,
    pivotal_interval,
    resampled_means,
    resampled_sums,
    rng_for,
)
from eval.estimates.student_t import cluster_t_interval

Ends = tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its 95 % interval, both in the measure's unit; None is unknown."""

    value: float | None
    low: float | None
    high: float | None
    n_units: int  # that it rests on

    @property
    def half(self) -> float | None:
        """Half the interval's width: what tables print after ±."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly on one side of a value; an unknown one does not."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """One observation with its bootstrap draws, made once and only where they are asked for."""

    observed: Observed
    drawing: Drawing
    drawn: dict[str, FloatArray] = field(default_factory=dict)  # measure → its draws: averages ask for them again

    @cached_property
    def means(self) -> FloatArray:
        """(n_draws, n_parts)."""
        of = self.observed
        return resampled_means(of.earned, of.counted, self.drawing.n_draws, self.rng())

    def of(self, measure: Measure) -> FloatArray:
        """Draws of a measure on this dataset, (n_draws,); NaN where a draw counts nothing.

        Where all units count, as they mostly do, a linear measure is the mean of what each adds to it. Of that there
        are mostly few kinds, and how often each is drawn is quick to draw; else draws of the parts serve every measure.
        """
        if measure.name not in self.drawn:
            self.drawn[measure.name] = self.draws_of(measure)
        return self.drawn[measure.name]

    def draws_of(self, measure: Measure) -> FloatArray:
        """The draws, made."""
        of = self.observed
        if measure.is_linear and (of.counted == 1).all():
            added = measure.statistic(of.earned)[:, None]
            if few_kinds(added):
                sums = resampled_sums(added, self.drawing.n_draws, self.rng())[:, 0]
                return np.asarray(sums / len(added))
        return measure.statistic(self.means)

    def rng(self) -> np.random.Generator:
        """The dataset's own generator, from its start."""
        return rng_for(self.drawing.seed, self.observed.dataset)


def without_interval(measure: Measure, parts: Sequence[Observed]) -> Estimate:
    """A measure over some datasets, a part each. Its interval, which takes time to draw, is left out."""
    value = measure.over([measure.statistic(part.means) for part in parts])
    return estimate_of(float(value), None, sum(len(part.units) for part in parts))


def estimate(measure: Measure, parts: Sequence[Drawn]) -> Estimate:
    """A measure over some datasets, a part each; a cluster_t measure is over one."""
    if measure.interval == "cluster_t":
        (part,) = parts
        return clustered(measure, part.observed)
    value = measure.over([measure.statistic(part.observed.means) for part in parts])
    ends = ends_of(measure, float(value), measure.over([part.of(measure) for part in parts]))
    return estimate_of(float(value), ends, sum(len(part.observed.units) for part in parts))


def clustered(measure: Measure, observed: Observed) -> Estimate:
    """A cluster_t measure of one dataset: nothing is drawn for it."""
    return cluster_t(measure, float(measure.statistic(observed.means)), influences(observed, measure))


def ends_of(measure: Measure, value: float, draws: FloatArray) -> Ends:
    """The bootstrap interval of a measure's level or change."""
    is_biased = measure.is_folded or not measure.is_linear
    return pivotal_interval(value, draws) if is_biased else percentile_interval(draws)


def estimate_of(value: float, ends: Ends, n_units: int) -> Estimate:
    """A value and an interval as an estimate: NaN is unknown."""
    low, high = ends or (None, None)
    return Estimate(value=known(value), low=low, high=high, n_units=n_units)


def known(value: float) -> float | None:
    """The number, or None for NaN: an accuracy over no replies is unknown, not zero."""
    return None if math.isnan(value) else float(value)


def influences(observed: Observed, measure: Measure) -> FloatArray:
    """By how much each unit moves a measure, (n_units,); NaN for one that is in none of the parts it is made of.

    Of a mean θ = Σ earned / Σ counted it is (earned - θ counted) / Σ counted; they sum to zero.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = (observed.earned - observed.means * observed.counted) / observed.counted.sum(axis=0)
    used = measure.statistic(np.eye(observed.earned.shape[1])) != 0
    is_in = (observed.counted[:, used] > 0).any(axis=1)
    return np.where(is_in, measure.statistic(moved), np.nan)


def cluster_t(measure: Measure, value: float, moved: FloatArray, *, is_share: bool | None = None) -> Estimate:
    """A value with its cluster-robust interval; moved: by how much each unit moves it, NaN for those not in it."""
    moved = moved[~np.isnan(moved)]
    share = measure.is_share if is_share is None else is_share
    return estimate_of(value, None if math.isnan(value) else cluster_t_interval(value, moved, share), len(moved))

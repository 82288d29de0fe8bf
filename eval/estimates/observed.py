"""What one judge did in one setting: columns over units, of which every measure is a function of the sums."""

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from eval.estimates.resampling import FloatArray
from evenhand.errors import DataError

# The means of an observation's parts, shape (..., n_parts) → a measure in its unit, shape (...).
Statistic = Callable[[FloatArray], FloatArray]
# What was asked, and how replies were read and counted, by name.
Setting = Mapping[str, str | int | None]
OverDatasets = Literal["mean", "mean of absolute values", "absolute value of the mean", "mean of squares"]
IntervalKind = Literal["percentile", "cluster_t"]
Row = tuple[str, float, float]  # unit, value, weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How intervals and p-values are drawn."""

    n_draws: int
    seed: int


def drawing_of(options: argparse.Namespace) -> Drawing:
    """As --draws and --seed say."""
    return Drawing(n_draws=options.draws, seed=options.seed)


@dataclass(frozen=True, kw_only=True, eq=False)
class Observed:
    """Replies of one judge in one setting on one dataset, added up by unit: what is comparable only as a whole.

    A part (a condition, a perspective) has the mean Σ earned / Σ counted over units; a unit that is not counted in a
    part earns nothing there. Both are of shape (n_units, n_parts).
    """

    dataset: str
    units: tuple[str, ...]
    earned: FloatArray
    counted: FloatArray
    n_errors: int = 0  # replies that the engine lost

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each part, (n_parts,); NaN where nothing is counted."""
        return ratio(np.hstack([self.earned.sum(axis=0), self.counted.sum(axis=0)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure of a study.

    interval: "percentile" resamples units; "cluster_t" is Student's t of a cluster-robust standard error, with units as
        clusters. A measure of absolute values, and one that is not linear, has pivotal ones, since its draws are
        biased once more (see resampling.pivotal_interval).
    over_datasets: in absolute values and squares noise does not cancel. What it adds is taken from the squares, so that
        they are unbiased (estimate.added_by_noise); from absolute values it cannot be: see estimate.by_chance.
    is_share: whether it is a fraction of a whole, in percent, which a cluster_t interval does not leave.
    is_linear: whether the statistic is linear without a constant, as a cluster_t measure must be.
    """

    name: str
    unit: str  # "%", or "pp" for percentage points
    statistic: Statistic
    over_datasets: OverDatasets = "mean"
    interval: IntervalKind = "percentile"
    is_share: bool = False
    is_linear: bool = True

    @property
    def is_folded(self) -> bool:
        """Whether it is of absolute values."""
        return self.over_datasets in ("mean of absolute values", "absolute value of the mean")

    @property
    def is_squared(self) -> bool:
        """Whether it is of squares."""
        return self.over_datasets == "mean of squares"

    def over(self, of_datasets: Sequence[FloatArray]) -> FloatArray:
        """The measure over several datasets from its values on each, of any shape."""
        values = np.stack(of_datasets)
        if self.over_datasets == "mean of absolute values":
            return np.asarray(np.abs(values).mean(axis=0))
        if self.is_squared:
            return np.asarray(np.square(values).mean(axis=0))
        mean = np.asarray(values.mean(axis=0))
        return np.abs(mean) if self.is_folded else mean

    def slopes(self, values: FloatArray) -> FloatArray:
        """By how much `over` rises with each dataset's value, at these values; both of shape (n_datasets,)."""
        if self.is_squared:
            return np.asarray(2 * values / len(values))
        signed = values if self.over_datasets == "mean of absolute values" else values.mean()
        signs = np.where(signed < 0, -1.0, 1.0) if self.is_folded else 1.0
        return np.asarray(np.full(len(values), signs) / len(values))


def added_up(dataset: str, parts: Sequence[Iterable[Row]]) -> Observed:
    """Rows of each part, added up by unit. A row whose value is NaN, or that weighs nothing, is no row."""
    cells = [
        (unit, part, value, weight)
        for part, rows in enumerate(parts)
        for unit, value, weight in rows
        if weight > 0 and not math.isnan(value)
    ]
    place = {unit: i for i, unit in enumerate(dict.fromkeys(unit for unit, *_ in cells))}
    earned, counted = np.zeros((2, len(place), len(parts)))
    for unit, part, value, weight in cells:
        earned[place[unit], part] += weight * value
        counted[place[unit], part] += weight
    return Observed(dataset=dataset, units=tuple(place), earned=earned, counted=counted)


def ratio(sums: FloatArray) -> FloatArray:
    """Σ earned / Σ counted, shape (..., k), for sums of shape (..., 2k); NaN over nothing."""
    k = sums.shape[-1] // 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., :k] / sums[..., k:])


def aligned(first: Observed, second: Observed) -> tuple[Observed, Observed]:
    """Both over the units of either, in one order; a unit that one lacks is counted nowhere there."""
    if first.units == second.units:
        return first, second
    units = tuple(dict.fromkeys((*first.units, *second.units)))
    return over_units(first, units), over_units(second, units)


def over_units(observed: Observed, units: tuple[str, ...]) -> Observed:
    """The same replies with a row for each of some units, among which are all of its own."""
    place = {unit: i for i, unit in enumerate(units)}
    if not place.keys() >= set(observed.units):
        raise DataError(f"{observed.dataset}: units are missing from those that it is to be aligned with")
    rows = [place[unit] for unit in observed.units]
    earned, counted = np.zeros((2, len(units), observed.earned.shape[1]))
    earned[rows], counted[rows] = observed.earned, observed.counted
    return Observed(dataset=observed.dataset, units=units, earned=earned, counted=counted, n_errors=observed.n_errors)

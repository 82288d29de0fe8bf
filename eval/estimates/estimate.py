"""What one judge did in one setting (columns over units), and a measure's value over it with its 95 % interval.

A measure is a function of the columns' sums.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from eval.estimates.resampling import (
    ITEMS_PER_KIND,
    Drawing,
    FloatArray,
    cluster_t_interval,
    percentile_interval,
    pivotal_interval,
    resampled_means,
    resampled_sums,
    standard_error,
)
from evenhand.errors import DataError

# The means of an observation's parts, shape (..., n_parts) → a measure in its unit, shape (...).
Statistic = Callable[[FloatArray], FloatArray]
# What was asked, and how replies were read and counted, by name.
Setting = Mapping[str, str | int | None]
IntervalKind = Literal["percentile", "cluster_t"]
Row = tuple[str, float, float]  # unit, value, weight


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
    clusters: Mapping[str, str] = field(default_factory=dict)  # item → unit, where units are clusters
    # The same with each unparsed reply counted as the least and as the most that it can earn; None without any.
    extremes: "tuple[Observed, ...] | None" = None
    fitted: float = 0.0  # share of the units' noise that a rule was fitted to which gave these verdicts: see noise_in

    def by_cluster(self, clusters: Sequence[str]) -> "Observed":
        """The same with clusters in the place of the units: what depends on each other is resampled, swapped and
        counted together. clusters: of each unit."""
        if len({*clusters}) == len(self.units):
            return self
        of_items = dict(zip(self.units, clusters, strict=True))
        return replace(self.over_units(clusters, [*dict.fromkeys(clusters)]), clusters=of_items)

    def over_units(self, names: Sequence[str], units: Sequence[str]) -> "Observed":
        """The same over other units, each with the sums of those that have its name. names: of each unit here."""
        place = {unit: i for i, unit in enumerate(units)}
        rows = [place[name] for name in names]
        earned, counted = np.zeros((2, len(units), self.earned.shape[1]))
        np.add.at(earned, rows, self.earned)
        np.add.at(counted, rows, self.counted)
        extremes = self.extremes and tuple(extreme.over_units(names, units) for extreme in self.extremes)
        return replace(self, units=tuple(units), earned=earned, counted=counted, extremes=extremes)

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each part, (n_parts,); NaN where nothing is counted."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.earned.sum(axis=0) / self.counted.sum(axis=0))

    @cached_property
    def kept_draws(self) -> dict[Any, FloatArray]:
        """What was drawn of it once: averages, and other measures, ask for it again."""
        return {}

    def drawn_means(self, drawing: Drawing) -> FloatArray:
        """(n_draws, n_parts) means over resampled units."""
        if drawing not in self.kept_draws:
            self.kept_draws[drawing] = resampled_means(self.earned, self.counted, drawing, self.dataset)
        return self.kept_draws[drawing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure of a study.

    interval: "percentile" resamples units; "cluster_t" is Student's t of a cluster-robust standard error, with units as
        clusters. A measure of absolute values, and one that is not linear, has pivotal ones, since its draws are
        biased once more (see resampling.pivotal_interval).
    is_folded: whether it is of absolute values over datasets. Noise does not cancel in them, and cannot be taken from
        them: see estimate.by_chance.
    is_share: whether it is a fraction of a whole, in percent, which a cluster_t interval does not leave.
    is_linear: whether the statistic is linear without a constant, as a cluster_t measure must be.
    is_square: whether it is a mean of squares of linear ones. What noise adds to them is taken off, so that they are
        unbiased (estimate.noise_in).
    """

    name: str
    unit: str  # "%", or "pp" for percentage points
    statistic: Statistic
    is_folded: bool = False
    interval: IntervalKind = "percentile"
    is_share: bool = False
    is_linear: bool = True
    is_square: bool = False
    core: Statistic | None = None  # of absolute values and squares: the linear ones whose signs they lose, (..., k)
    fold: Callable[..., FloatArray] = np.mean  # what is made of these k absolute values or squares

    def over(self, of_datasets: Sequence[FloatArray]) -> FloatArray:
        """The measure over several datasets from its values on each, of any shape."""
        values = of_datasets[0] if len(of_datasets) == 1 else np.stack(of_datasets)
        values = np.abs(values) if self.is_folded else np.asarray(values)
        return values if len(of_datasets) == 1 else np.asarray(values.mean(axis=0))


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


def aligned(first: Observed, second: Observed) -> tuple[Observed, Observed]:
    """Both over the units of either, in one order; a unit that one lacks is counted nowhere there.

    Clusters are one unit where they share an item. Raises DataError where two items are one cluster on one side alone.
    """
    names = second.units
    if first.clusters or second.clusters:
        ours, theirs = (side.clusters or {unit: unit for unit in side.units} for side in (first, second))
        pairs = {(theirs[item], ours[item]) for item in ours.keys() & theirs.keys()}
        renamed = dict(pairs)
        names = tuple(renamed.get(unit, unit) for unit in second.units)
        if len(renamed) < len(pairs) or len({*names}) < len(names):
            raise DataError(
                f"{first.dataset}: items that are one cluster on one side of the comparison are not on the other; give "
                "both sides the same clusters (column `cluster`), or sample the older run again"
            )
    if first.units == names:
        return first, replace(second, units=names)
    units = [*dict.fromkeys((*first.units, *names))]
    return first.over_units(first.units, units), second.over_units(names, units)


Ends = tuple[float, float] | None
STEP = 1e-5  # of a numerical derivative
# Dataset → its units, and by how much each of them moves a value: these sum to zero.
Influences = Mapping[str, tuple[tuple[str, ...], FloatArray]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its 95 % interval, both in the measure's unit; None is unknown.

    influences: of each unit on it; known of a change and of its two sides. squares: a mean of squares with the
    noise that was taken off; of a change before and after. unparsed: what counting unparsed replies adds
    to it, at least and at most.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n_units: int  # that it rests on
    influences: Influences | None = field(default=None, compare=False, repr=False)
    squares: tuple[float, ...] = field(default=(), compare=False, repr=False)
    unparsed: tuple[float, float] = field(default=(0.0, 0.0), compare=False, repr=False)

    @property
    def half(self) -> float | None:
        """Half the interval's width: what tables print after ±."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def columns(self, name: str) -> dict[str, float | None]:
        """The value and both ends, as files of results call them."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly on one side of a value; an unknown one does not."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    @property
    def hangs(self) -> bool:
        """Whether the interval excludes 0 only as long as unparsed replies are left out."""
        if self.value is None or self.low is None or self.high is None or not self.excludes(0):
            return False
        return self.low + self.unparsed[0] <= 0 if self.value > 0 else self.high + self.unparsed[1] >= 0


def draws_of(measure: Measure, part: Observed, drawing: Drawing) -> FloatArray:
    """Draws of a measure on one dataset, (n_draws,); NaN where a draw counts nothing.

    Where all units count, as they mostly do, a linear measure is the mean of what each adds to it. Of that there are
    mostly few kinds, and how often each is drawn is quick to draw; else draws of the parts serve every measure.
    """
    key = measure.name, drawing
    if key not in part.kept_draws:
        added = measure.statistic(part.earned)
        is_mean = measure.is_linear and not measure.is_square and bool((part.counted == 1).all())
        if is_mean and 0 < len(np.unique(added)) * ITEMS_PER_KIND <= len(added):
            sums = resampled_sums(added[:, None], drawing, part.dataset)[:, 0]
            part.kept_draws[key] = np.asarray(sums / len(added))
        else:
            part.kept_draws[key] = measure.statistic(part.drawn_means(drawing))
    return part.kept_draws[key]


def without_interval(measure: Measure, parts: Sequence[Observed]) -> Estimate:
    """A measure over some datasets, a part each. Its interval, which takes time to draw, is left out."""
    _, taken = noise_in(measure, parts)
    value = float(measure.over([measure.statistic(part.means) for part in parts])) - taken
    return estimate_of(value, None, sum(len(part.units) for part in parts), unparsed=unparsed_range(measure, parts))


def estimate(measure: Measure, parts: Sequence[Observed], drawing: Drawing) -> Estimate:
    """A measure over some datasets, a part each; a cluster_t measure is over one."""
    if measure.interval == "cluster_t":
        (part,) = parts
        return clustered(measure, part)
    value = float(measure.over([measure.statistic(part.means) for part in parts]))
    draws = measure.over([draws_of(measure, part, drawing) for part in parts])
    return level_of(measure, parts, value, draws, sum(int(part.counted.any(axis=1).sum()) for part in parts))[0]


def level_of(
    measure: Measure, parts: Sequence[Observed], value: float, draws: FloatArray, n_units: int
) -> tuple[Estimate, FloatArray]:
    """A measure over some datasets from its value and draws on their means; and its draws without the noise.

    A pivotal interval of what noise has raised may lie wholly below the value, and below 0: it is cut.
    """
    added, taken = noise_in(measure, parts)
    value, draws = as_fitted(measure, parts, value - taken, draws - added - taken)
    draws = draws if n_units > 1 else draws[:0]  # those of one unit are all alike
    interval = ends_of(measure, value, draws)
    if measure.is_folded and interval is not None:
        interval = max(0.0, min(interval[0], value)), max(interval[1], value)
    squares, unparsed = (value + added,) * measure.is_square, unparsed_range(measure, parts)
    return estimate_of(value, interval, n_units, squares=squares, unparsed=unparsed), draws


def as_fitted(measure: Measure, parts: Sequence[Observed], value: float, draws: FloatArray) -> tuple[float, FloatArray]:
    """A value and its draws, where a rule was fitted on the units of one dataset; else as they are.

    What it leaves of a shift on these units is 0 by construction; on new units it leaves what noise of these moved it
    by, as the draws vary. So absolute values are the draws' mean, and the draws' own ends their interval: these are
    reflected, since ends_of reflects them again.
    """
    is_absolute = (measure.is_folded or measure.core is not None) and not measure.is_square
    if not is_absolute or not all(part.fitted > 0.5 for part in parts) or not np.isfinite(draws).all():
        return value, draws
    mean = float(draws.mean())
    return mean, 2 * mean - draws


def clustered(measure: Measure, observed: Observed) -> Estimate:
    """A cluster_t measure of one dataset: nothing is drawn for it."""
    return cluster_t(measure, float(measure.statistic(observed.means)), moved_by(measure, [observed]))


def ends_of(measure: Measure, value: float, draws: FloatArray) -> Ends:
    """The bootstrap interval of a measure's level or change."""
    is_biased = measure.is_folded or not measure.is_linear
    return pivotal_interval(value, draws) if is_biased else percentile_interval(draws)


def estimate_of(
    value: float, interval: Ends, n_units: int, influences: Influences | None = None, **more: Any
) -> Estimate:
    """A value and an interval as an estimate. NaN is unknown: an accuracy over no replies is not zero."""
    (low, high), number = interval or (None, None), None if math.isnan(value) else float(value)
    return Estimate(value=number, low=low, high=high, n_units=n_units, influences=influences, **more)


def influences(observed: Observed, measure: Measure) -> FloatArray:
    """By how much each unit moves a measure, (n_units,); NaN for one that is in none of the parts it is made of.

    Of a mean θ = Σ earned / Σ counted it is (earned - θ counted) / Σ counted; they sum to zero.
    """
    unit_steps = steps(observed)
    used = measure.statistic(np.eye(observed.earned.shape[1])) != 0
    is_in = (observed.counted[:, used] > 0).any(axis=1)
    if measure.is_square and observed.fitted > 0:
        # On new units what is left varies as on these: so the slope at a shift d with an error e is 2 √(d² + e²/2),
        # which gives the variance of a square of N(0, e²).
        linear = measure.core or measure.statistic
        shifts, shift_steps = linear(observed.means).ravel(), linear(unit_steps).reshape(len(unit_steps), -1)
        sizes = np.sqrt(shifts**2 + observed.fitted * np.square(shift_steps).sum(axis=0) / 2)
        slopes = 2 * np.where(shifts < 0, -sizes, sizes)
        return np.where(is_in, (shift_steps * slopes).mean(axis=-1), np.nan)
    if measure.is_square:
        slopes = measure.statistic(observed.means + unit_steps) - measure.statistic(observed.means - unit_steps)
        return np.where(is_in, slopes / 2, np.nan)
    if measure.is_linear:
        return np.where(is_in, measure.statistic(unit_steps), np.nan)
    here = measure.statistic(observed.means)  # the slope of the statistic along each unit's step
    return np.where(is_in, (measure.statistic(observed.means + STEP * unit_steps) - here) / STEP, np.nan)


def steps(observed: Observed) -> FloatArray:
    """By how much each unit moves each part's mean, (n_units, n_parts); NaN for a part in which nothing is counted."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((observed.earned - observed.means * observed.counted) / observed.counted.sum(axis=0))


def moved_by(measure: Measure, parts: Sequence[Observed]) -> Influences:
    """By how much each unit moves a measure over some datasets, a part each."""
    values = np.array([float(measure.statistic(part.means)) for part in parts])
    slopes = np.where(measure.is_folded & (values < 0), -1.0, 1.0) / len(parts)
    return {
        part.dataset: (part.units, slope * influences(part, measure)) for part, slope in zip(parts, slopes, strict=True)
    }


def noise_in(measure: Measure, parts: Sequence[Observed]) -> tuple[float, float]:
    """(what noise of the units adds to a mean of squares on average, and a resampling to its draws once more; what is
    taken off so that it is unbiased); both are 0 of other measures.

    A rule that was cross-fitted on D datasets together leaves D - 1 of D parts of the noise in the squares of these
    units, and the last part in those of new ones: so 1 - 2/D of the noise is taken, and added for a single dataset. In
    general 1 - 2 c, c the covariance of these units' noise with that of what was fitted, over its variance.
    """
    if not measure.is_square:
        return 0.0, 0.0
    added = []
    for part in parts:
        unit_steps, n = steps(part), len(part.units)
        up_and_down = measure.statistic(part.means + unit_steps) + measure.statistic(part.means - unit_steps)
        added.append(n / (n - 1) * (up_and_down / 2 - measure.statistic(part.means)).sum() if n > 1 else math.nan)
    shares = [1 - 2 * part.fitted for part in parts]
    return float(np.mean(added)), float(np.mean(np.multiply(shares, added)))


def unparsed_range(measure: Measure, parts: Sequence[Observed]) -> tuple[float, float]:
    """What counting unparsed replies adds to a measure, (at least, at most): all so that they lower it, or raise it.

    Of absolute values and squares all ways to count them are: the least is 0 where a linear one may have either sign.
    """
    if not any(part.extremes for part in parts):
        return 0.0, 0.0
    # (2, n_parts, k)
    extremes = np.stack([[extreme_values(measure, part, sign) for part in parts] for sign in (-1, 1)])
    if measure.is_folded or measure.core:
        least, most = np.abs(extremes).min(axis=0), np.abs(extremes).max(axis=0)
        extremes = np.stack([np.where(extremes.prod(axis=0) < 0, 0.0, least), most]) ** (2 if measure.is_square else 1)
    value = measure.over([measure.statistic(part.means) for part in parts])
    added = measure.fold(extremes, axis=-1).mean(axis=1) - value
    return (0.0, 0.0) if np.isnan(added).any() else (min(0.0, float(added[0])), max(0.0, float(added[1])))


def extreme_values(measure: Measure, part: Observed, sign: int) -> FloatArray:
    """Each linear value of a measure, (k,), with unparsed replies counted so that it is lowest (sign -1) or highest."""
    (least, most), linear = part.extremes or (part, part), measure.core or measure.statistic
    slopes = linear(np.eye(len(part.means))).reshape(len(part.means), -1).T
    values = linear(np.where(sign * slopes > 0, most.means, least.means))
    return np.asarray(values.reshape(len(slopes), -1).diagonal())


def by_chance(level: Estimate) -> float | None:
    """What a mean of absolute values is on average where each dataset's true value is 0 and its units vary as they do.

    The mean over datasets of E|N(0, se)| = se √(2/π); None where the level, or the noise of a dataset, is unknown. Of a
    mean of squares the noise that was taken off.
    """
    if level.squares and level.value is not None:
        return level.squares[-1] - level.value
    if level.value is None or level.influences is None:
        return None
    errors = [standard_error(of_units) for _, of_units in level.influences.values()]
    return estimate_of(math.sqrt(2 / math.pi) * sum(errors), None, level.n_units).value


def cluster_t(measure: Measure, value: float, influences: Influences) -> Estimate:
    """A value on one dataset with its cluster-robust interval; units that are not in it move it by NaN."""
    ((_, of_units),) = influences.values()
    of_units = of_units[~np.isnan(of_units)]
    interval = None if math.isnan(value) else cluster_t_interval(value, of_units, measure.is_share)
    return estimate_of(value, interval, len(of_units), influences)

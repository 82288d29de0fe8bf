"""Observations of two judges, or of one in two settings → what changed from the first to the second; the long frames.

A frame has one row a measure and setting, of scores or of changes. Both have study, dataset, datasets, measure, unit,
n_units, n_draws, seed, and a column for each name of the setting (what was asked, and how replies were read and
counted). Scores have run, judge, value, low, high; changes first, second, n_errors, before, after and change with their
ends (`before_low`, ...), p, p_holm, direction. What is unknown is NaN or None.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from eval.estimates.estimate import (
    Estimate,
    Influences,
    Measure,
    Observed,
    Setting,
    aligned,
    cluster_t,
    clustered,
    ends_of,
    estimate_of,
    level_of,
    moved_by,
)
from eval.estimates.resampling import (
    ALPHA,
    MOST_ENUMERATED,
    Drawing,
    FloatArray,
    all_swaps,
    draws_p,
    holm,
    ratio,
    resampled_means,
    rng_for,
    swapped_sums,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One measure on both sides over the same units, and what it rose by.

    The interval pairs the sides by unit. p is a two-sided sign-flip test: under the null it does not matter which side
    gave which of a unit's two sets of replies, so they are swapped at random, unit by unit; unlike the tails of a
    bootstrap it keeps its level however few units there are. With up to 16 units every choice of swaps is counted, so
    that p is never below 2/2ⁿ. p_holm is adjusted over those that were held against the same first and can be ranked;
    None for the others. A change is called one when its interval excludes 0 and p_holm < 0.05: simulated for two judges
    without any shift (9 datasets of 100 items), |DDS| was called lower in 2 % of cases, in 6 % where the second's
    verdicts move half as often, in 26 % where an eighth as often; by p alone in 3, 13 and 66 %.
    """

    first: str  # who is held against whom
    second: str
    setting: Setting  # what both were asked, or what the second was
    dataset: str  # or the average's name
    datasets: tuple[str, ...]
    measure: str
    unit: str
    before: Estimate
    after: Estimate
    change: Estimate
    n_errors: int
    p: float | None
    p_holm: float | None
    drawing: Drawing
    by_interval: bool = False  # whether the interval decides without a p, see change_in

    @property
    def is_rejected(self) -> bool | None:
        """Whether p lets it be called one; None where it is unknown, or it cannot be ranked."""
        return self.by_interval or (None if self.p_holm is None else self.p_holm < ALPHA)

    @property
    def direction(self) -> int | None:
        """-1 or +1 for a fall or a rise that is shown, 0 where none is; None where it is unknown."""
        if self.is_rejected is None or self.change.low is None or self.change.value is None or self.hangs:
            return None
        return 0 if not self.is_rejected or not self.change.excludes(0) else (1 if self.change.value > 0 else -1)

    @property
    def hangs(self) -> bool:
        """Whether it would be a fall or a rise, if only unparsed replies were not counted."""
        return bool(self.is_rejected) and self.change.hangs

    def as_dict(self) -> dict[str, Any]:
        """One row of the long form, as compare.json and scorecard_changes.json hold them."""
        sides, measured = {"first": self.first, "second": self.second}, {"measure": self.measure, "unit": self.unit}
        row: dict[str, Any] = {**sides, **self.setting, "dataset": self.dataset, "datasets": self.datasets, **measured}
        row |= {"n_units": self.change.n_units, "n_errors": self.n_errors}
        row |= self.before.columns("before") | self.after.columns("after") | self.change.columns("change")
        return {**row, "p": self.p, "p_holm": self.p_holm, **self.drawing._asdict()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Paired:
    """Two observations over the same units of one dataset, with draws that are made once and where they are asked for.

    On the axis of length 2 the first stands before the second.
    """

    first: Observed
    second: Observed
    drawing: Drawing

    @cached_property
    def means(self) -> FloatArray:
        """(2, n_parts)."""
        return np.stack([self.first.means, self.second.means])

    @cached_property
    def draws(self) -> FloatArray:
        """(n_draws, 2, n_parts) means over units that are drawn for both alike."""
        earned = np.hstack([self.first.earned, self.second.earned])
        counted = np.hstack([self.first.counted, self.second.counted])
        means = resampled_means(earned, counted, self.drawing, self.first.dataset)
        return means.reshape(self.drawing.n_draws, 2, -1)

    @property
    def gaps(self) -> FloatArray:
        """(n_units, 2 n_parts): what the second earned and was counted more than the first."""
        return np.hstack([self.second.earned - self.first.earned, self.second.counted - self.first.counted])

    @cached_property
    def swapped(self) -> FloatArray:
        """(n_draws, 2, n_parts) means after each unit's replies have changed sides with probability 1/2."""
        rng = rng_for(self.drawing.seed, f"{self.first.dataset} swaps")
        return self.after_swaps(swapped_sums(self.gaps, self.drawing.n_draws, rng))

    def after_swaps(self, sums_of_gaps: FloatArray) -> FloatArray:
        """The means of both sides, (..., 2, n_parts), once units with these sums of gaps have changed sides."""
        first, second = (
            np.hstack([side.earned.sum(axis=0), side.counted.sum(axis=0)]) for side in (self.first, self.second)
        )
        return ratio(np.stack([first + sums_of_gaps, second - sums_of_gaps], axis=1))


def paired(first: Observed, second: Observed, drawing: Drawing) -> Paired:
    """Two observations as a pair, over the units of either."""
    first, second = aligned(first, second)
    return Paired(first=first, second=second, drawing=drawing)


class Compared(NamedTuple):
    """What all changes between two sides in one setting share."""

    first: str
    second: str
    setting: Setting


def change_in(measure: Measure, parts: Sequence[Paired], compared: Compared, dataset: str) -> Change:
    """The change of a measure over some datasets, a part each; dataset: its name, or the average's.

    Absolute values and squares on units that a rule was fitted to are near 0 by construction, and only their estimates
    get the noise back. Swaps of raw values would test another change: there is no p, and the interval decides.
    """
    before, after, rise = estimates_in(measure, parts)
    is_fitted = any(side.fitted for part in parts for side in (part.first, part.second))
    by_interval = is_fitted and (measure.is_folded or measure.is_square or measure.core is not None)
    p = None if by_interval else swap_p(measure, parts)
    return Change(
        **compared._asdict(),
        dataset=dataset,
        datasets=tuple(part.first.dataset for part in parts),
        measure=measure.name,
        unit=measure.unit,
        before=before,
        after=after,
        change=rise,
        n_errors=sum(part.first.n_errors + part.second.n_errors for part in parts),
        p=p,
        p_holm=p,
        drawing=parts[0].drawing,
        by_interval=by_interval,
    )


def estimates_in(measure: Measure, parts: Sequence[Paired]) -> tuple[Estimate, Estimate, Estimate]:
    """(before, after, change) of a measure over some datasets, with intervals."""
    if measure.interval != "cluster_t":
        return by_draws(measure, parts)
    (part,) = parts  # a unit's parts are subtracted before they are squared
    gap = float(np.diff(measure.statistic(part.means))[0])
    more = moved_more(moved_by(measure, [part.first]), moved_by(measure, [part.second]))
    rise = cluster_t(replace(measure, is_share=False), gap, more)
    return clustered(measure, part.first), clustered(measure, part.second), rise


def swap_p(measure: Measure, parts: Sequence[Paired]) -> float | None:
    """The sign-flip p of a change; see Change."""
    before, after = measure.over([measure.statistic(part.means) for part in parts])
    ends_of_parts = np.cumsum([len(part.first.units) for part in parts])
    if is_enumerated := bool(ends_of_parts[-1] <= MOST_ENUMERATED):
        choices = np.split(all_swaps(int(ends_of_parts[-1])), ends_of_parts[:-1], axis=1)
        swapped = [part.after_swaps(swaps @ part.gaps) for part, swaps in zip(parts, choices, strict=True)]
    else:
        swapped = [part.swapped for part in parts]
    null = measure.over([measure.statistic(means) for means in swapped])
    return draws_p(after - before, null[:, 1] - null[:, 0], is_enumerated=is_enumerated)


def by_draws(measure: Measure, parts: Sequence[Paired]) -> tuple[Estimate, Estimate, Estimate]:
    """(before, after, change) with bootstrap intervals."""
    n_units = sum(len(part.first.units) for part in parts)
    sides = [part.first for part in parts], [part.second for part in parts]
    values = measure.over([measure.statistic(part.means) for part in parts]).tolist()
    draws = measure.over([measure.statistic(part.draws) for part in parts]).T
    (before, drawn), (after, drawn_after) = (
        level_of(measure, *side, n_units) for side in zip(sides, values, draws, strict=True)
    )
    moved, moved_after = (moved_by(measure, side) for side in sides)
    rise = math.nan if before.value is None or after.value is None else after.value - before.value
    interval, more = ends_of(measure, rise, drawn_after - drawn), moved_more(moved, moved_after)
    (least, most), (least_after, most_after) = before.unparsed, after.unparsed
    unparsed, squares = (least_after - most, most_after - least), (*before.squares, *after.squares)
    change = estimate_of(rise, interval, n_units, more, squares=squares, unparsed=unparsed)
    return replace(before, influences=moved), replace(after, influences=moved_after), change


def moved_more(first: Influences, second: Influences) -> Influences:
    """By how much each unit moves the change between two sides over the same units; NaN for one that is in neither."""
    more = {}
    for dataset, (units, before) in first.items():
        after = second[dataset][1]
        is_in_neither = np.isnan(before) & np.isnan(after)
        more[dataset] = units, np.where(is_in_neither, np.nan, np.nan_to_num(after) - np.nan_to_num(before))
    return more


def family(change: Change) -> tuple[Any, ...]:
    """What the changes of several sides have in common that are adjusted for each other."""
    return tuple(change.setting.items()), change.dataset, change.measure


def adjusted(
    sides: Sequence[Sequence[Change]],
    unranked: Sequence[bool] = (),
    family: Callable[[Change], tuple[Any, ...]] = family,
) -> list[list[Change]]:
    """The changes of several sides from one first, with p_holm over the sides for each setting, dataset and measure.

    unranked: sides that cannot be ranked whatever their figures are; they are in no family and have no p_holm.
    """
    ranked = [not is_out for is_out in unranked] or [True] * len(sides)
    families: dict[Any, list[float]] = defaultdict(list)
    for change in (change for side, is_ranked in zip(sides, ranked, strict=True) if is_ranked for change in side):
        if change.p is not None:
            families[family(change)].append(change.p)
    holms = {key: iter(holm(ps)) for key, ps in families.items()}

    def in_family(change: Change, *, is_ranked: bool) -> Change:
        p_holm = next(holms[family(change)]) if is_ranked and change.p is not None else None
        return replace(change, p_holm=p_holm, by_interval=change.by_interval and is_ranked)

    pairs = zip(sides, ranked, strict=True)
    return [[in_family(change, is_ranked=is_ranked) for change in side] for side, is_ranked in pairs]


SHARED = ("dataset", "datasets", "measure", "unit", "n_units", "n_draws", "seed")
SCORE_FIGURES = ("value", "low", "high")
CHANGE_FIGURES = (
    *(f"{side}{end}" for side in ("before", "after", "change") for end in ("", "_low", "_high")),
    *("p", "p_holm"),
)
SCORE_COLUMNS = ("run", "judge", *SHARED, *SCORE_FIGURES)
CHANGE_COLUMNS = ("first", "second", *SHARED, *CHANGE_FIGURES, "n_errors", "direction")
NUMBERS = {*SCORE_FIGURES, *CHANGE_FIGURES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One measure of one judge in one setting."""

    run: str  # the run directory's name, or the files'
    judge: str  # what tables call it
    setting: Setting  # what was asked and how replies were read and counted, by name
    dataset: str  # or the average's name
    datasets: tuple[str, ...] = ()  # that an average is over
    measure: str
    unit: str  # "%", "pp" (percentage points), "count", "p", "rate" (0 to 1), "ratio", "SD"
    estimate: Estimate
    drawing: Drawing | None = None  # None where no interval is drawn

    def as_dict(self) -> dict[str, Any]:
        """The row as files have it."""
        estimate, drawing, run = self.estimate, self.drawing, {"run": self.run, "judge": self.judge}
        datasets = {"dataset": self.dataset, "datasets": self.datasets or (self.dataset,)}
        value = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n_units": estimate.n_units}
        draws = {"n_draws": drawing and drawing.n_draws, "seed": drawing and drawing.seed}
        return {**run, **self.setting, **datasets, "measure": self.measure, "unit": self.unit, **value, **draws}


def scores_frame(scores: Iterable[Score]) -> pd.DataFrame:
    """The scores of one study."""
    return framed((score.as_dict() for score in scores), SCORE_COLUMNS)


def changes_frame(changes: Iterable[Change]) -> pd.DataFrame:
    """The changes of one study; direction: -1 and 1 for a significant fall and rise, 0 for none."""
    return framed(({**change.as_dict(), "direction": change.direction} for change in changes), CHANGE_COLUMNS)


def framed(rows: Iterable[Mapping[str, Any]], least: Sequence[str]) -> pd.DataFrame:
    """Rows as a frame that has at least these columns; figures are floats, all else is as it was."""
    listed = list(rows)
    names = list(dict.fromkeys([*(name for row in listed for name in row), *least]))
    frame = pd.DataFrame([[row.get(name) for name in names] for row in listed], columns=names, dtype=object)
    return frame.astype({name: "float64" for name in names if name in NUMBERS})

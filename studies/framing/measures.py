"""What is measured of a study in YAML: levels and shifts of each framing, over the grids of a run.

Every figure is a mean over cases and orders of means over items, and intervals resample items.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from eval.estimates.estimate import Measure, Observed
from eval.estimates.resampling import FloatArray
from eval.evaluation import Block
from studies.abstaining import AGREED, MEASURES, UNCLEAR, Claims
from studies.framing.grids import PUSHED_BY, SHARE_OF, FramedRun, Grid
from studies.framing.section import FramingSection

ALL = "(all)"  # groups; no name of the user's has brackets around it
EVERY = "(every framing)"  # of the measures over all framings
FEWEST_IN_GROUP, MOST_GROUPS = 5, 20
AVERAGE = "(average)"


@dataclass(frozen=True, slots=True)
class Sides:
    """How the columns of a block lie: sides (framings) × cases × orders; and the statistics over them.

    A statistic takes means of columns, of shape (..., n_sides · n_cases · n_orders).
    """

    n_sides: int
    n_cases: int
    n_orders: int
    scale: float = 100.0

    def by_cell(self, means: FloatArray) -> FloatArray:
        """(..., n_sides, n_cases, n_orders)."""
        cells = means.reshape(*means.shape[:-1], self.n_sides, self.n_cases, self.n_orders)
        return np.asarray(self.scale * cells)

    def levels(self, means: FloatArray) -> FloatArray:
        """(..., n_sides): means over cases and orders."""
        return np.asarray(self.by_cell(means).mean(axis=(-1, -2)))

    def level(self, means: FloatArray) -> FloatArray:
        """The first side's mean over cases and orders."""
        return self.levels(means)[..., 0]

    def levels_of_known(self, means: FloatArray) -> FloatArray:
        """(..., n_sides): means over the known cases; a case may lack a label, or have no wrong first answer."""
        return known_mean(self.by_cell(means).mean(axis=-1), axis=-1)

    def level_of_known(self, means: FloatArray) -> FloatArray:
        """The mean of levels_of_known over the sides."""
        return np.asarray(self.levels_of_known(means).mean(axis=-1))

    def rise_of_known(self, means: FloatArray) -> FloatArray:
        """The first of levels_of_known less the second."""
        levels = self.levels_of_known(means)
        return levels[..., 0] - levels[..., 1]

    def rises(self, means: FloatArray) -> FloatArray:
        """(..., n_orders): the first side less the second."""
        sides = self.by_cell(means).mean(axis=-2)
        return np.asarray(sides[..., 0, :] - sides[..., 1, :])

    def shift(self, means: FloatArray) -> FloatArray:
        """The mean rise over orders: d where both were asked."""
        return np.asarray(self.rises(means).mean(axis=-1))

    def pull(self, means: FloatArray) -> FloatArray:
        """Half of what the rises in the two orders differ by: p, the pull of the answer that is shown first."""
        rises = self.rises(means)
        return (rises[..., 0] - rises[..., 1]) / 2

    def shifts(self, means: FloatArray) -> FloatArray:
        """(..., n_sides / 2): the shift of each pair of sides, a framing's and the baseline's."""
        levels = self.levels(means)
        return levels[..., ::2] - levels[..., 1::2]

    def mean_absolute(self, means: FloatArray) -> FloatArray:
        """The mean of |shift| over pairs of sides, which noise raises."""
        return np.asarray(np.abs(self.shifts(means)).mean(axis=-1))

    def mean_square(self, means: FloatArray) -> FloatArray:
        """The mean of shift² over pairs of sides."""
        return np.asarray(np.square(self.shifts(means)).mean(axis=-1))


def known_mean(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """The mean over some axes of what is known; NaN where nothing is."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values, axis=axis) / (~np.isnan(values)).sum(axis=axis))


class Part(NamedTuple):
    """Measures of a framing, and the columns that they are made of: a dataset's grid → arrays (n_items, ...)."""

    measures: Sequence[Measure]
    arrays: Callable[[Grid], list[FloatArray]]


def share(name: str, statistic: Callable[[FloatArray], FloatArray]) -> Measure:
    """A measure in percent."""
    return Measure(name=name, unit="%", statistic=statistic, is_share=True)


def blocks_of(run: FramedRun) -> Iterator[Block]:
    """Everything that is measured of a run, framing by framing."""
    grid = run.first_grid
    groups = sorted({group for of_dataset in run.grids.values() for group in of_dataset.groups})
    for framing in grid.framings:
        for part in levels(run.section, grid, framing):
            yield from block(run, framing, part)
        if framing == grid.framings[0]:
            continue
        parts = [*shift_parts(run.section, grid, framing)]
        for part in parts:
            yield from block(run, framing, part)
        if 1 < len(groups) <= MOST_GROUPS:
            for group in groups:
                yield from block(run, framing, parts[0], group)
    if framings := [name for name in grid.compared if name not in run.left_out]:
        for part in overall(run.section, grid, framings):
            yield from block(run, EVERY, part)
        claims = {dataset: claims_of(dataset, grid, run.section) for dataset, grid in run.grids.items()}
        agreed = {dataset: of_dataset.observed(of_dataset.support == 1) for dataset, of_dataset in claims.items()}
        has_labels = any(observed.counted[:, -1].any() for observed in agreed.values())
        yield block_of(run, EVERY, ALL, MEASURES if has_labels else [AGREED], agreed)


def claims_of(dataset: str, grid: Grid, section: FramingSection) -> Claims:
    """The verdicts on each item and case in the baseline and all framings but the placebos, in each order.

    A follow-up that was not asked, since the reply before it names no answer, agrees with none.
    """
    framings = [i for i, name in enumerate(grid.framings) if name not in grid.placebos]
    before = [grid.at(section.texts[name].follow_up_to or name) for name in grid.framings]

    def askings(values: FloatArray) -> FloatArray:
        return np.moveaxis(values[:, framings], 1, 2).reshape(len(grid.items), len(grid.cases), -1)

    unread = grid.fields["unread"]
    is_asked, is_clear = ~np.isnan(unread), (unread == 0) & ~np.isnan(grid.named)
    is_known = is_asked | (is_asked & ~is_clear)[:, before]
    return Claims(
        dataset=dataset,
        items=grid.items,
        clusters=grid.clusters,
        verdicts=askings(np.where(is_clear, grid.named, np.where(is_known, UNCLEAR, math.nan))),
        right=askings(grid.of("right")),
        odds=askings(grid.fields["odds"]),
    )


def block(run: FramedRun, framing: str, part: Part, group: str = ALL) -> Iterator[Block]:
    """A part over each dataset in which it is known, and their average; nothing where it is known in none."""
    observations = {}
    for dataset, grid in run.grids.items():
        rows = None if group == ALL else np.flatnonzero(np.array(grid.groups) == group)
        observed = observed_in(run, dataset, part.arrays, rows)
        if observed.counted.any() and (rows is None or len(rows) >= FEWEST_IN_GROUP):
            observations[dataset] = observed
    if observations:
        yield block_of(run, framing, group, part.measures, observations)


def block_of(
    run: FramedRun, framing: str, group: str, measures: Sequence[Measure], observations: Mapping[str, Observed]
) -> Block:
    """Measures over each dataset and their average."""
    setting = {"framing": framing, "group": group, "verdict": run.verdict}
    averages = {AVERAGE: [*observations]} if len(observations) > 1 else {}
    return Block(setting=setting, measures=measures, parts=observations, averages=averages)


def observed_in(run: FramedRun, dataset: str, arrays: Callable[[Grid], list[FloatArray]], rows: Any = None) -> Observed:
    """Columns of a dataset, also with unparsed replies counted either way. arrays, rows: see Part and columns."""
    grids = (run.grids[dataset], *run.filled[dataset])
    observed, *extremes = (columns(dataset, grid, arrays(grid), rows) for grid in grids)
    return replace(observed, extremes=tuple(extremes) or None)


def columns(dataset: str, grid: Grid, arrays: Sequence[FloatArray], rows: Any = None) -> Observed:
    """Arrays (n_items, ...) with NaN for unknown, as columns side by side, by cluster. rows: some items alone."""
    kept = np.arange(len(grid.items)) if rows is None else rows
    flat = np.hstack([array.reshape(len(grid.items), -1)[kept] for array in arrays])
    is_known = ~np.isnan(flat)
    of_items = Observed(
        dataset=dataset,
        units=tuple(grid.items[i] for i in kept),
        earned=np.where(is_known, flat, 0.0),
        counted=is_known.astype(float),
        fitted=grid.fitted,
    )
    return of_items.by_cluster([grid.clusters[i] for i in kept])


def levels(section: FramingSection, grid: Grid, framing: str) -> Iterator[Part]:
    """How the judge answers in one framing. grid: of any dataset."""
    is_scale = section.scale is not None
    sides = Sides(1, len(grid.cases), len(grid.orders))

    def value(name: str) -> Measure:
        points = replace(sides, scale=1.0)
        return Measure(name=name, unit="points", statistic=points.level) if is_scale else share(name, sides.level)

    def field(name: str) -> Callable[[Grid], list[FloatArray]]:
        return lambda grid: [grid.of(name, framing)]

    yield Part([value("value")], field("value"))
    if not is_scale and len(grid.answers) > 2:
        for name in grid.answers:
            yield Part([share(SHARE_OF + name, sides.level)], field(SHARE_OF + name))
    yield Part([share("unread", sides.level)], field("unread"))
    yield Part([value("soft")], field("soft"))
    if len(grid.orders) > 1:
        yield Part([share("first", sides.level)], field("first"))
        consistent = share("consistent", replace(sides, n_orders=1).level)
        yield Part([consistent], lambda grid: [grid.consistent(framing)])
    for name in ("right", "accepts_wrong"):
        yield Part([share(name, sides.level_of_known)], field(name))


def shift_parts(section: FramingSection, grid: Grid, framing: str) -> Iterator[Part]:
    """By how much one framing moves the judge from the baseline. grid: of any dataset."""
    base, shape = grid.framings[0], (len(grid.cases), len(grid.orders))
    scale, unit = (1.0, "points") if section.scale else (100.0, "pp")
    two, in_percent = Sides(2, *shape, scale), Sides(2, *shape)

    def pair(name: str) -> Callable[[Grid], list[FloatArray]]:
        return lambda grid: where_all_known(grid.of(name, framing), grid.of(name, base))

    shifts = [Measure(name="shift", unit=unit, statistic=two.shift)]
    if len(grid.orders) > 1:
        shifts.append(Measure(name="pull", unit=unit, statistic=two.pull))
    if is_claim(section):
        shifts.append(Measure(name="dds", unit=unit, statistic=lambda means: 2 * two.shift(means)))
    yield Part(shifts, pair("value"))
    yield Part([Measure(name="soft_shift", unit=unit, statistic=two.shift)], pair("soft"))
    yield Part([Measure(name="right_shift", unit="pp", statistic=in_percent.rise_of_known)], pair("right"))
    if section.texts[framing].pushed is not None:
        adopts = Measure(name="adopts", unit="pp", statistic=in_percent.shift)
        yield Part([adopts], pair(PUSHED_BY + framing))
    yield Part([share("changed", Sides(1, *shape).level)], lambda grid: [grid.changed(framing)])
    if grid.placebos and framing not in grid.placebos:  # less their mean

        def less_placebos(array: Callable[[Grid, str], FloatArray]) -> Callable[[Grid], list[FloatArray]]:
            def both(grid: Grid) -> list[FloatArray]:
                placebos = known_mean(np.stack([array(grid, name) for name in grid.placebos]), axis=0)
                return where_all_known(array(grid, framing), placebos)

            return both

        net_shift = Measure(name="net_shift", unit=unit, statistic=two.shift)
        yield Part([net_shift], less_placebos(lambda grid, name: grid.of("value", name)))
        net_changed = Measure(name="net_changed", unit="pp", statistic=in_percent.shift)
        yield Part([net_changed], less_placebos(lambda grid, name: grid.changed(name)))


def where_all_known(*arrays: FloatArray) -> list[FloatArray]:
    """Arrays of one shape, each known only where all of them are: what is compared is compared item by item."""
    is_known = ~np.isnan(np.stack(arrays)).any(axis=0)
    return [np.where(is_known, array, math.nan) for array in arrays]


def overall(section: FramingSection, grid: Grid, framings: Sequence[str]) -> Iterator[Part]:
    """By how much the framings move the judge on average, in either direction, and how often it is right in them."""
    scale, unit = (1.0, "points") if section.scale else (100.0, "pp")
    base, shape = grid.framings[0], (len(grid.cases), len(grid.orders))
    pairs = Sides(2 * len(framings), *shape, scale)
    core = pairs.shifts
    folded = Measure(name="mean_abs_shift", unit=unit, statistic=pairs.mean_absolute, is_linear=False, core=core)
    squared = replace(folded, name="mean_square_shift", unit=f"{unit}²", statistic=pairs.mean_square, is_square=True)

    def sides(grid: Grid) -> list[FloatArray]:
        values = [(grid.of("value", name), grid.of("value", base)) for name in framings]
        return [side for pair in values for side in where_all_known(*pair)]

    yield Part([folded, replace(squared, is_linear=True)], sides)
    right = share("right", Sides(len(framings), *shape).level_of_known)
    yield Part([right], lambda grid: [grid.of("right", name) for name in framings])


def is_claim(section: FramingSection) -> bool:
    """Whether each item is asked as a true and a false claim, so that twice the shift is DialDefer's DDS."""
    names = [*section.answer_texts]
    labels = [case.get("label") for case in section.cases.values()]
    return len(names) == 2 and len(labels) == 2 and {*labels} == {*names}

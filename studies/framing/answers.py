"""Do the framings move the judge? A run's scores as typed shifts; see eval.shift.answer."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.estimate import Drawing, Drawn, estimate
from eval.estimates.resampling import FloatArray
from eval.evaluation import Block
from eval.shift.answer import LITTLE, Shift
from studies.framing.grids import FramedRun, Grid
from studies.framing.measures import ALL, AVERAGE, blocks_moved, columns, known_mean, where_all_known

# What may move → its measure, and that of what the placebos move.
MOVED = {"shift": ("shift", "shift"), "right": ("right_shift", "right_shift"), "changed": ("net_changed", "changed")}


def shifts_of(run: FramedRun, judge: str, scores: pd.DataFrame, p_values: Any, drawing: Drawing) -> Iterator[Shift]:
    """Every framing's shift of the first answer, of what is right, and of how many answers change beyond the placebos'.

    scores: the long frame. p_values(measure): (framing, dataset) → p.
    """
    mine = scores[(scores["judge"] == judge) & (scores["group"] == ALL)]
    scale = run.section.scale
    for name, (measure, of_placebos) in MOVED.items():
        rows = {(row.framing, row.dataset): row for row in mine[mine["measure"] == measure].itertuples()}
        placebos = placebo_shifts(mine[mine["measure"] == of_placebos], run, is_centred=name == "changed")
        tested = p_values(measure)
        for block in blocks_moved(run, measure):
            for over, datasets in block.over.items():
                if (row := rows.get((block.setting["framing"], over))) is None:
                    continue
                ends = [row.value, row.low, row.high]
                if name == "changed":  # fewer changes than under the placebos are no move
                    ends = [max(0.0, end) for end in ends]
                yield Shift(
                    measure=name,
                    condition=row.framing,
                    dataset=over,
                    value=ends[0],
                    low=ends[1],
                    high=ends[2],
                    n_units=int(row.n_units),
                    p=tested.get((row.framing, over)),
                    little=LITTLE / 100 * (scale[1] - scale[0]) if scale and name == "shift" else LITTLE,
                    is_average=over == AVERAGE,
                    bounds=bounds(run, name, block, datasets, drawing),
                    placebos=placebos.get(over, ()),
                    contains="shift" if name == "changed" else None,
                )


def placebo_shifts(rows: pd.DataFrame, run: FramedRun, *, is_centred: bool) -> dict[str, tuple[float, ...]]:
    """Dataset or average → by how much each placebo moves the judge; is_centred: less their mean."""
    of_placebos = rows[~rows["framing"].isin(run.section.framings) & rows["value"].notna()]
    shifts = {str(over): values.to_numpy() for over, values in of_placebos.groupby("dataset")["value"]}
    return {over: tuple(values - values.mean() if is_centred else values) for over, values in shifts.items()}


def bounds(
    run: FramedRun, name: str, block: Block, datasets: Sequence[str], drawing: Drawing
) -> tuple[float, float] | None:
    """The ends of the intervals with unparsed replies counted against the shift, and for it; None without any."""
    framing, (measure, *_) = str(block.setting["framing"]), block.measures
    grids = [run.grids[dataset] for dataset in datasets]
    asked = [run.section.baseline, framing, *(grids[0].placebos if name == "changed" else ())]
    if not any((grid.of("unread", each) > 0).any() for grid in grids for each in asked):
        return None
    limits = run.section.scale or (0.0, 1.0) if name == "shift" else (0.0, 1.0)
    ends = []
    for fills in (limits, limits[::-1]):
        parts = [columns(d, run.grids[d], sides(run.grids[d], name, framing, fills)) for d in datasets]
        ends.append(estimate(measure, [Drawn(observed=part, drawing=drawing) for part in parts]))
    low, high = ends[0].low, ends[1].high
    return None if low is None or high is None else (low, high)


def sides(grid: Grid, name: str, framing: str, fills: Sequence[float]) -> list[FloatArray]:
    """(n_items, n_cases, n_orders) of a framing and of what it is held against.

    Unparsed replies count as fills[0] in the framing and as fills[1] in the other."""
    base = grid.framings[0]
    if name != "changed":
        field = "value" if name == "shift" else "right"
        return where_all_known(filled(grid, field, framing, fills[0]), filled(grid, field, base, fills[1]))

    def changed(each: str, fill: float) -> FloatArray:
        is_unparsed = (grid.of("unread", each) > 0) | (grid.of("unread", base) > 0)
        return np.where(is_unparsed, fill, grid.changed(each))

    return where_all_known(changed(framing, fills[0]), known_mean([changed(each, fills[1]) for each in grid.placebos]))


def filled(grid: Grid, field: str, framing: str, fill: float) -> FloatArray:
    """A field with each unparsed reply counted as `fill`."""
    known, unparsed = grid.of(field, framing), grid.of("unread", framing)
    values = (1 - unparsed) * np.nan_to_num(known) + unparsed * fill
    if field == "right":
        values = np.where(np.isnan(grid.of("labelled", framing)), math.nan, values)
    return np.where(unparsed > 0, values, known)

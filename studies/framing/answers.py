"""Do the framings move the judge? A run's scores as typed shifts; see eval.shift.answer."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from eval.estimates.changes import Paired
from eval.estimates.estimate import Drawing, Measure
from eval.shift.answer import LITTLE, Shift
from eval.shift.contrast import contrasted
from studies.framing.grids import PUSHED_BY, FramedRun, Grid
from studies.framing.measures import (
    ALL,
    AVERAGE,
    Sides,
    columns,
    compared_framings,
    first_grid,
    known_mean,
    where_all_known,
)

# What may move → its measure, and that of what the placebos move.
MOVED = {"shift": ("shift", "shift"), "right": ("right_shift", "right_shift"), "changed": ("net_changed", "changed")}


def shifts_of(run: FramedRun, judge: str, scores: pd.DataFrame, drawing: Drawing) -> Iterator[Shift]:
    """Every framing's shift of the first answer, of what is right, of how many answers change beyond the placebos', and
    of more than two answers also of the one that the framing argues for.

    scores: the long frame.
    """
    grid = first_grid(run)
    limits = run.section.scale or (0.0, 1.0)
    filled = {dataset: [each.filled(limits, i) for i in (0, 1)] for dataset, each in run.grids.items()}
    mine = scores[(scores["judge"] == judge) & (scores["group"] == ALL)]
    adopted = {"adopts": ("adopts", "")} if len(grid.answers) > 2 else {}
    for name, (measure, of_placebos) in {**MOVED, **adopted}.items():
        placebos = placebo_shifts(mine[mine["measure"] == of_placebos], run, is_centred=name == "changed")
        scale = run.section.scale if name == "shift" else None
        sides = Sides(1, len(grid.cases), len(grid.orders), 1.0 if scale else 100.0)
        level = Measure(name=name, unit="", statistic=sides.level_of_known if name == "right" else sides.level)
        for row in mine[(mine["measure"] == measure) & mine["framing"].isin(compared_framings(grid))].itertuples():
            grids = {dataset: run.grids[dataset] for dataset in row.datasets}
            pushed = PUSHED_BY + row.framing
            field = pushed if name == "adopts" else {"shift": "value"}.get(name, name)
            ways = (0, 1) if has_unparsed(grids.values(), row.framing, name) else ()
            shift = contrasted(
                level,
                [pair(dataset, each, each, field, row.framing, drawing) for dataset, each in grids.items()],
                [[pair(d, filled[d][1 - i], filled[d][i], field, row.framing, drawing) for d in grids] for i in ways],
                condition=row.framing,
                dataset=row.dataset,
                value=row.value,
                low=row.low,
                high=row.high,
                n_units=int(row.n_units),
                little=LITTLE / 100 * (scale[1] - scale[0]) if scale else LITTLE,
                is_average=row.dataset == AVERAGE,
                placebos=rises(grids.values(), pushed) if name == "adopts" else placebos.get(row.dataset, ()),
                contains="shift" if name == "changed" else None,
            )
            if name == "changed":  # fewer changes than under the placebos are no move
                value, low, high, *bounds = (
                    max(0.0, end) for end in (shift.value, shift.low, shift.high, *(shift.bounds or ()))
                )
                shift = replace(
                    shift, value=value, low=low, high=high, bounds=(bounds[0], bounds[1]) if bounds else None
                )
            yield shift


def placebo_shifts(rows: pd.DataFrame, run: FramedRun, *, is_centred: bool) -> dict[str, tuple[float, ...]]:
    """Dataset or average → by how much each placebo moves the judge; is_centred: less their mean."""
    of_placebos = rows[~rows["framing"].isin(run.section.framings) & rows["value"].notna()]
    shifts = {str(over): values.to_numpy() for over, values in of_placebos.groupby("dataset")["value"]}
    return {over: tuple(values - values.mean() if is_centred else values) for over, values in shifts.items()}


def rises(grids: Iterable[Grid], field: str) -> tuple[float, ...]:
    """By how much each placebo with parsed replies raises a field of shares, in points; the mean of some datasets."""
    of_datasets = [
        [100 * pd.Series((grid.of(field, name) - grid.of(field, grid.framings[0])).ravel()).mean() for name in placebos]
        for grid in grids
        for placebos in [grid.placebos]
    ]
    return tuple(rise for rise in np.mean(of_datasets, axis=0).tolist() if not math.isnan(rise))


def has_unparsed(grids: Iterable[Grid], framing: str, name: str) -> bool:
    """Whether some reply that a shift is made of names no answer."""
    return any(
        (grid.of("unread", each) > 0).any()
        for grid in grids
        for each in (grid.framings[0], framing, *(grid.placebos if name == "changed" else ()))
    )


def pair(dataset: str, base: Grid, framed: Grid, field: str, framing: str, drawing: Drawing) -> Paired:
    """What a framing is held against, and the framing. Unparsed replies count as they do in the grid of each."""
    if field == "changed":
        arrays = where_all_known(known_mean([base.changed(each) for each in base.placebos]), framed.changed(framing))
    else:
        arrays = where_all_known(base.of(field, base.framings[0]), framed.of(field, framing))
    first, second = (columns(dataset, base, [array]) for array in arrays)
    return Paired(first=first, second=second, drawing=drawing)

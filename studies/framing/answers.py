"""Do the framings move the judge? A run's scores as typed shifts; see eval.shift.answer."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from eval.estimates.changes import Paired
from eval.estimates.estimate import Measure
from eval.estimates.resampling import Drawing, FloatArray
from eval.shift.answer import LITTLE, Shift, contrasted
from studies.framing import measures
from studies.framing.grids import PUSHED_BY, FramedRun, Grid

# What may move → its measure, and that of what the placebos move.
MOVED = {"shift": ("shift", "shift"), "right": ("right_shift", "right_shift"), "changed": ("net_changed", "changed")}


def shifts_of(run: FramedRun, judge: str, scores: pd.DataFrame, drawing: Drawing) -> Iterator[Shift]:
    """Every framing's shift of the first answer, of what is right, of how many answers change beyond the placebos', and
    of more than two answers also of the one that the framing argues for.

    scores: the long frame.
    """
    grid = run.first_grid
    mine = scores[(scores["judge"] == judge) & (scores["group"] == measures.ALL)]
    adopted = {"adopts": ("adopts", "")} if len(grid.answers) > 2 else {}
    for name, (measure, of_placebos) in {**MOVED, **adopted}.items():
        placebos = placebo_shifts(mine[mine["measure"] == of_placebos], run, is_centred=name == "changed")
        scale = run.section.scale if name == "shift" else None
        sides = measures.Sides(1, len(grid.cases), len(grid.orders), 1.0 if scale else 100.0)
        level = Measure(name=name, unit="", statistic=sides.level_of_known if name == "right" else sides.level)
        compared = mine["framing"].isin(grid.compared)
        for row in mine[(mine["measure"] == measure) & compared].itertuples():
            grids = {dataset: run.grids[dataset] for dataset in row.datasets}
            pushed = PUSHED_BY + row.framing
            field = pushed if name == "adopts" else {"shift": "value"}.get(name, name)
            shift = contrasted(
                level,
                [pair(run, dataset, field, row.framing, drawing) for dataset in grids],
                condition=row.framing,
                dataset=row.dataset,
                value=row.value,
                low=row.low,
                high=row.high,
                n_units=int(row.n_units),
                little=LITTLE / 100 * (scale[1] - scale[0]) if scale else LITTLE,
                is_average=row.dataset == measures.AVERAGE,
                placebos=rises(grids.values(), pushed) if name == "adopts" else placebos.get(row.dataset, ()),
                contains="shift" if name == "changed" else None,
            )
            if name == "changed":  # fewer changes than under the placebos are no move
                ends = (shift.value, shift.low, shift.high, *(shift.bounds or ()))
                value, low, high, *bounds = (max(0.0, end) for end in ends)
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


def pair(run: FramedRun, dataset: str, field: str, framing: str, drawing: Drawing) -> Paired:
    """What a framing is held against, and the framing."""

    def arrays(grid: Grid) -> list[FloatArray]:
        if field == "changed":
            placebos = measures.known_mean(np.stack([grid.changed(each) for each in grid.placebos]), axis=0)
            return measures.where_all_known(placebos, grid.changed(framing))
        return measures.where_all_known(grid.of(field, grid.framings[0]), grid.of(field, framing))

    first, second = (measures.observed_in(run, dataset, lambda grid, i=i: [arrays(grid)[i]]) for i in (0, 1))  # type: ignore[misc]
    return Paired(first=first, second=second, drawing=drawing)

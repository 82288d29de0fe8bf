"""Does a judge move when a speaker makes the claim? Its panels and scores as typed shifts; see eval.shift.answer."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.changes import Paired
from eval.estimates.estimate import Measure, Observed
from eval.estimates.resampling import Drawing, FloatArray
from eval.shift.answer import LITTLE, Answer, Shift, answer, contrasted
from evenhand.completions import UNLIKELY
from studies.dialdefer import scores
from studies.dialdefer.measures import C1, C2
from studies.dialdefer.panels import Panel, grouped
from studies.dialdefer.quantities import observed

LITTLE_DDS = 2 * LITTLE  # DDS is twice the rise in acceptance
Row = Any  # of the wide frame, by scores.records


def by_claim(means: FloatArray) -> FloatArray:
    """(..., 2): accuracy on true and on false claims, the mean over answer orders, in percent."""
    return np.asarray(100 * means.reshape(*means.shape[:-1], -1, 2).mean(axis=-2))


# Over one framing's parts: true and false claims, in each answer order. Its change from C1 to C2 is the figure.
LEAN = Measure(name="dds", unit="pp", statistic=lambda means: by_claim(means) @ np.array([1.0, -1.0]))
ACCURACY = Measure(name="right", unit="pp", statistic=lambda means: by_claim(means).mean(axis=-1))
# Measure → the columns of the wide frame with one answer order and with both, and what is little in its unit.
FIGURES = {LEAN: ("dds", "deference", LITTLE_DDS), ACCURACY: ("change_acc", "change_acc_orders", LITTLE)}


def answer_of(
    panels: Sequence[Panel],
    row: Row,
    both: Row | None,
    others: Sequence[Row],
    frame: pd.DataFrame,
    drawing: Drawing,
    templates: Sequence[str] | None = None,
) -> Answer:
    """Whether a judge moves. row: its headline; both: the row over both answer orders; others: of each order alone.
    templates: those of placebos; None where no config names them.
    """
    main = both or row
    alike = ("run", "model", "arm", "roles", "c1_source", "denominator", "variant")
    of_datasets = frame[frame.is_dataset & frame.dataset.isin(row.datasets)]
    parts = [
        part for part in scores.records(of_datasets) if all(getattr(part, key) == getattr(main, key) for key in alike)
    ]
    group = grouped(list(scores.PANELS_BY_C1[row.c1_source](panels)), panels)[row.arm, row.roles, main.variant]
    by_dataset = {panel.dataset: panel for panel in group}
    pairs = {dataset: pair_of_framings(by_dataset[dataset], row.denominator, drawing) for dataset in row.datasets}
    shifts = [
        replace(shift, placebos=placebo_shifts(measure, own_panels, panels, templates, row.denominator))
        for part in ([main] if len(row.datasets) == 1 else [main, *parts])
        for own_panels in [[by_dataset[dataset] for dataset in part.datasets]]
        for measure in FIGURES
        if (shift := shift_of(part, measure, bool(both), [pairs[dataset] for dataset in part.datasets]))
    ]
    p_answer = [getattr(part, f"p_answer_{framing}", None) for part in others for framing in ("c1", "c2")]
    void = ["unlikely"] if any(p is not None and p < UNLIKELY for p in p_answer) else []
    hidden = ["saturated"] if any(part.saturated for part in others) else []
    if any(part.dds_pp is None for part in parts):  # no reply to some condition is parsed
        hidden.append("unparsed")
    return answer(shifts, void, hidden)


def placebo_shifts(
    measure: Measure, over: Sequence[Panel], panels: Sequence[Panel], templates: Sequence[str] | None, denominator: str
) -> tuple[float, ...]:
    """By how much a statement in other words moves a measure from that in the panels' own, a value for each of some
    templates (None: of which the statement alone was asked): the mean over the datasets that have one (r/AIO has not).
    """
    by_dataset = []
    for panel in over:
        alike = ("arm", "roles", "answer_order")
        placebos = [
            placebo
            for placebo in panels
            if (placebo.dataset, placebo.has_c1) == (panel.dataset, True)
            and (not placebo.has_c2 if templates is None else placebo.factors.template in templates)
            and all(getattr(placebo.factors, key) == getattr(panel.factors, key) for key in alike)
            and placebo.factors.template != panel.factors.template
        ]
        if placebos:
            by_dataset.append([placebo_shift(measure, panel, placebo, denominator) for placebo in placebos])
    means = map(fmean, zip(*by_dataset, strict=False))
    return tuple(value for value in means if not math.isnan(value))  # of one without a parsed reply nothing is known


def placebo_shift(measure: Measure, panel: Panel, placebo: Panel, denominator: str) -> float:
    """By how much the statement of a placebo moves a measure, over its items."""
    same = panel.at(np.flatnonzero(np.isin(panel.item_ids, placebo.item_ids)))
    sides = observed("orders" if panel.orders else "verdicts", [same, placebo], denominator)
    before, after = (measure.statistic(side.means.reshape(-1, 4)[:, C1].ravel()) for side in sides)
    return float(after - before)


def shift_of(row: Row, measure: Measure, is_both: bool, pairs: Sequence[Paired]) -> Shift | None:
    """A row's shift in one measure; None where it is unknown. pairs: C1 and C2 of its datasets."""
    one_order, in_both, little = FIGURES[measure]
    name = in_both if is_both else one_order
    value, low, high = (getattr(row, f"{name}{end}_pp") for end in ("", "_ci_low", "_ci_high"))
    if value is None or low is None or high is None:
        return None
    return contrasted(
        measure,
        pairs,
        condition="dialogue",
        dataset=row.dataset,
        value=value,
        low=low,
        high=high,
        n_units=sum(len(pair.first.units) for pair in pairs),
        little=little,
        is_average=len(row.datasets) > 1,
    )


def pair_of_framings(panel: Panel, denominator: str, drawing: Drawing) -> Paired:
    """C1 and C2 of a panel as a pair, 2 parts an answer order."""
    (whole,) = observed("orders" if panel.orders else "verdicts", [panel], denominator)

    def parts(whole: Observed, framing: list[int]) -> Observed:
        at = [4 * order + i for order in range(whole.earned.shape[1] // 4) for i in framing]
        extremes = whole.extremes and tuple(parts(each, framing) for each in whole.extremes)
        return replace(whole, earned=whole.earned[:, at], counted=whole.counted[:, at], extremes=extremes)

    return Paired(first=parts(whole, C1), second=parts(whole, C2), drawing=drawing)

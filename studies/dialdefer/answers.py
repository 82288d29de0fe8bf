"""Does a judge move when a speaker makes the claim? Its panels and scores as typed shifts; see eval.shift.answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.changes import Compared, Paired, change_in, swap_p
from eval.estimates.estimate import Drawing, Measure
from eval.estimates.resampling import FloatArray
from eval.shift.answer import LITTLE, Answer, Shift, answer
from evenhand.completions import UNLIKELY
from studies.dialdefer import scores
from studies.dialdefer.measures import ACCEPT, C1, C2, REJECT, RIGHT, UNPARSED
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
    panels: Sequence[Panel], row: Row, both: Row | None, others: Sequence[Row], frame: pd.DataFrame, drawing: Drawing
) -> Answer:
    """Whether a judge moves. row: its headline; both: the row over both answer orders; others: of each order alone."""
    main = both or row
    alike = ("run", "model", "arm", "roles", "c1_source", "denominator", "variant")
    of_datasets = frame[frame.is_dataset & frame.dataset.isin(row.datasets)]
    parts = [it for it in scores.records(of_datasets) if all(getattr(it, key) == getattr(main, key) for key in alike)]
    own = grouped(list(scores.PANELS_BY_C1[row.c1_source](panels)), panels)[row.arm, row.roles, main.variant]
    by_dataset = {panel.dataset: panel for panel in own}
    shifts = [
        shift_of(it, measure, bool(both), [by_dataset[dataset] for dataset in it.datasets], drawing)
        for it in ([main] if len(row.datasets) == 1 else [main, *parts])
        for measure in FIGURES
    ]
    p_answer = [getattr(it, f"p_answer_{framing}", None) for it in others for framing in ("c1", "c2")]
    void = ["unlikely"] if any(p is not None and p < UNLIKELY for p in p_answer) else []
    hidden = ["saturated"] if any(it.saturated for it in others) else []
    return answer([shift for shift in shifts if shift], void, hidden)


def shift_of(row: Row, measure: Measure, is_both: bool, panels: Sequence[Panel], drawing: Drawing) -> Shift | None:
    """A row's shift in one measure; None where it is unknown. panels: of its datasets."""
    one_order, in_both, little = FIGURES[measure]
    name = in_both if is_both else one_order
    value, low, high = (getattr(row, f"{name}{end}_pp") for end in ("", "_ci_low", "_ci_high"))
    if value is None or low is None or high is None:
        return None
    pairs = [pair_of_framings(panel, row.denominator, drawing) for panel in panels]
    return Shift(
        measure=measure.name,
        condition="dialogue",
        dataset=row.dataset,
        value=value,
        low=low,
        high=high,
        n_units=sum(len(pair.first.units) for pair in pairs),
        p=swap_p(measure, pairs),
        little=little,
        is_average=len(row.datasets) > 1,
        bounds=bounds(measure, panels, row, drawing),
    )


def bounds(measure: Measure, panels: Sequence[Panel], row: Row, drawing: Drawing) -> tuple[float, float] | None:
    """The ends of the intervals with unparsed replies counted against the shift, and for it; None without any."""
    if not any((order.replies == UNPARSED).any() for panel in panels for order in panel.by_order):
        return None
    raised = np.full(4, ACCEPT) if measure is LEAN else RIGHT
    lowered = REJECT + ACCEPT - raised
    ends = []
    for c1, c2 in ((raised, lowered), (lowered, raised)):
        codes = np.concatenate([c1[C1], c2[C2]])
        pairs = [pair_of_framings(panel, row.denominator, drawing, codes) for panel in panels]
        ends.append(change_in(measure, pairs, Compared("C1", "C2", {}), row.dataset).change)
    low, high = ends[0].low, ends[1].high
    return None if low is None or high is None else (low, high)


def pair_of_framings(panel: Panel, denominator: str, drawing: Drawing, codes: Any = None) -> Paired:
    """C1 and C2 of a panel as a pair, 2 parts an answer order. codes: what unparsed replies count as."""
    if codes is not None:
        filled = [
            replace(p, replies=np.where(p.replies == UNPARSED, codes[:, None], p.replies).astype(np.int8))
            for p in panel.by_order
        ]
        panel = replace(panel, orders=tuple(filled)) if panel.orders else filled[0]
    (whole,) = observed("orders" if panel.orders else "verdicts", [panel], denominator)
    n_orders = whole.earned.shape[1] // 4
    places = [[4 * order + i for order in range(n_orders) for i in framing] for framing in (C1, C2)]
    first, second = (
        replace(whole, earned=whole.earned[:, at], counted=whole.counted[:, at], extremes=None) for at in places
    )
    return Paired(first=first, second=second, drawing=drawing)

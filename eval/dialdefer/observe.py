"""Panels → what is observed of them: per item, what each condition earned and counted; and the measures over that."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.measures import (
    C1,
    C1_FALSE,
    C1_TRUE,
    C2_CORRECT,
    C2_INCORRECT,
    ERROR,
    credit,
    dds_pp,
    deltas_pp,
    soft_credit,
)
from eval.dialdefer.panels import Panel, answered_by_both, refuse_unequal_items
from eval.estimates.changes import Paired
from eval.estimates.estimate import Drawing, Measure, Observed, OverDatasets
from eval.estimates.resampling import FloatArray


def accuracy(name: str, conditions: Sequence[int]) -> Measure:
    """The mean accuracy over some conditions."""
    return Measure(name=name, unit="%", statistic=lambda means: 100 * means[..., conditions].mean(axis=-1))


def deference(name: str, over_datasets: OverDatasets = "mean") -> Measure:
    """DDS (equation 3); of margins, soft DDS."""
    return Measure(name=name, unit="pp", statistic=dds_pp, over_datasets=over_datasets)


ACC = accuracy("acc", [C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT])
ACC_C1 = accuracy("acc_c1", [C1_TRUE, C1_FALSE])
ACC_C2 = accuracy("acc_c2", [C2_CORRECT, C2_INCORRECT])
ACC_C1_TRUE = accuracy("acc_c1_true", [C1_TRUE])
ACC_C1_FALSE = accuracy("acc_c1_false", [C1_FALSE])
ACC_C2_CORRECT = accuracy("acc_c2_correct", [C2_CORRECT])
ACC_C2_INCORRECT = accuracy("acc_c2_incorrect", [C2_INCORRECT])
DELTA_CORRECT = Measure(name="delta_correct", unit="pp", statistic=lambda means: deltas_pp(means)[..., 0])
DELTA_INCORRECT = Measure(name="delta_incorrect", unit="pp", statistic=lambda means: deltas_pp(means)[..., 1])
DDS, SOFT_DDS = deference("dds"), deference("soft_dds")

SCORED = (  # without an interval
    *(ACC_C1_TRUE, ACC_C1_FALSE, ACC_C2_CORRECT, ACC_C2_INCORRECT, ACC_C1, ACC_C2),
    *(DELTA_CORRECT, DELTA_INCORRECT),
)
CHANGED = (DDS, ACC, ACC_C1, ACC_C2, DELTA_CORRECT, DELTA_INCORRECT)


def by_order(means: FloatArray) -> FloatArray:
    """DDS with the accepting answer first and with it second, (..., 2), for means of the four conditions in each."""
    return np.stack([dds_pp(means[..., :4]), dds_pp(means[..., 4:])], axis=-1)


def scale_free_shift(means: FloatArray, at: int) -> FloatArray:
    """Rise in acceptance margin from C1 to C2, mean of both claims, in standard deviations of C1 margins.

    Glass's Δ within true and within false claims; NaN where these margins do not vary. means, (..., k): the four
    margins (log-odds of accepting, nats), and from `at` on a judge's centred C1 margins on true and false claims, and
    their squares.
    """
    variances = means[..., at + 2 : at + 4] - means[..., at : at + 2] ** 2
    deviations = np.sqrt(np.where(variances > NO_VARIANCE, variances, np.nan))
    return np.asarray(((means[..., 2:4] - means[..., :2]) / deviations).mean(axis=-1))


# Over both answer orders: DDS(yes first) = deference + position, DDS(no first) = deference - position.
DEFERENCE = Measure(name="deference", unit="pp", statistic=lambda means: by_order(means).mean(axis=-1))
POSITION = Measure(name="position", unit="pp", statistic=lambda means: by_order(means) @ np.array([0.5, -0.5]))
# In the judge's own deviations: the same whatever its margins are multiplied by, as training may do to them.
SHIFT = Measure(name="shift", unit="SD", statistic=lambda means: scale_free_shift(means, 4), is_linear=False)
# In those of the judge before: there growing confidence counts as bend.
BASE_SHIFT = replace(SHIFT, name="shift_in_base_sd", statistic=lambda means: scale_free_shift(means, 8))
NO_VARIANCE = 1e-18  # nats²: rounding alone


def observed(panel: Panel, denominator: str, n_errors: int = 0) -> Observed:
    """What each item earned in each condition, of a panel without lost items; see accuracy.credit."""
    earned, counted = credit(panel.replies, denominator)
    return of_panel(panel, earned, counted, n_errors)


def soft_observed(panel: Panel) -> Observed | None:
    """The same of the probabilities of right answers; None for a panel without margins. Each item has one sample."""
    earned, counted = soft_credit(panel.margins[:, :, 0])
    return of_panel(panel, earned, counted, 0) if counted.any() else None


def order_observed(panel: Panel, denominator: str, n_errors: int = 0) -> Observed | None:
    """What each item earned in each condition in both answer orders, 8 parts; None where one order was asked."""
    if panel.orders is None:
        return None
    sides = [credit(order.replies, denominator) for order in panel.orders]
    earned, counted = (np.hstack(of_sides) for of_sides in zip(*sides, strict=True))
    return of_panel(panel, earned, counted, n_errors)


def margin_observed(panel: Panel, *bases: Panel) -> Observed | None:
    """Each item's margins, and for this judge and those before it what scale_free_shift takes of their C1 margins.

    None where no item has all of them. An infinite margin is none: no number of deviations leads to it.
    """
    judges = [judge.margins[:, :, 0] for judge in (panel, *bases)]
    whole: NDArray[np.bool_] = np.asarray(np.isfinite(np.hstack(judges)).all(axis=1))
    if not whole.any():
        return None
    columns = [judges[0]]
    for margins in judges:
        centred = np.where(whole[:, None], margins[:, C1] - margins[whole][:, C1].mean(axis=0), 0.0)
        columns += [centred, centred**2]
    earned = np.where(whole[:, None], np.hstack(columns), 0.0)
    return of_panel(panel, earned, np.repeat(whole[:, None], earned.shape[1], axis=1).astype(np.float64), 0)


def of_panel(panel: Panel, earned: FloatArray, counted: FloatArray, n_errors: int) -> Observed:
    """Columns of a panel's items."""
    return Observed(dataset=panel.dataset, units=panel.item_ids, earned=earned, counted=counted, n_errors=n_errors)


def pair_of(first: Panel, second: Panel, denominator: str, drawing: Drawing) -> Paired:
    """Two panels as a pair. An item that either engine failed on is left out of both.

    Raises DataError when they are not over the same items, or when no item is left.
    """
    refuse_unequal_items(f"{first.dataset}, arm {first.factors.arm}, before against after", first, second)
    n_errors = [int((panel.replies == ERROR).sum()) for panel in (first, second)]
    first, second = answered_by_both(first, second)
    sides = [observed(p, denominator, n) for p, n in zip((first, second), n_errors, strict=True)]
    return Paired(first=sides[0], second=sides[1], drawing=drawing)


def paired(before: Observed | None, after: Observed | None, drawing: Drawing) -> Paired | None:
    """Two observations as a pair; None where one side has none."""
    return Paired(first=before, second=after, drawing=drawing) if before and after else None


def order_pair_of(first: Panel, second: Panel, denominator: str, drawing: Drawing) -> Paired | None:
    """Both answer orders of two panels as a pair; None where one side was asked in one order."""
    before, after = (order_observed(panel, denominator) for panel in answered_by_both(first, second))
    return paired(before, after, drawing)


def shift_pair_of(first: Panel, second: Panel, drawing: Drawing) -> Paired | None:
    """The margins of two panels as a pair for SHIFT and BASE_SHIFT; None where no item has all of both sides."""
    first, second = answered_by_both(first, second)
    whole = np.isfinite(np.hstack([first.margins[:, :, 0], second.margins[:, :, 0]])).all(axis=1)
    first, second = (panel.at(np.flatnonzero(whole)) for panel in (first, second))
    return paired(margin_observed(first, first), margin_observed(second, first), drawing)


def soft_pair_of(first: Panel, second: Panel, drawing: Drawing) -> Paired | None:
    """The margins of two panels as a pair, over the items that have all of theirs in both; None where none has."""
    panels = answered_by_both(first, second)
    unknown = np.isnan(np.hstack([panel.margins[:, :, :1] for panel in panels])).any(axis=(1, 2), keepdims=True)
    before, after = (soft_observed(replace(p, margins=np.where(unknown, np.nan, p.margins))) for p in panels)
    return paired(before, after, drawing)

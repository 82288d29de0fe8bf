"""Panels → what is observed of them: per item, what each condition earned and counted; and the measures over that."""

from collections.abc import Sequence

import numpy as np

from eval.dialdefer.accuracy import credit
from eval.dialdefer.dds import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT, dds_pp, deltas_pp
from eval.dialdefer.margins import soft_credit
from eval.dialdefer.panels import ERROR, Panel, refuse_unequal_items
from eval.estimates.changes import Paired
from eval.estimates.observed import Drawing, Measure, Observed, OverDatasets
from eval.estimates.resampling import FloatArray
from evenhand.errors import DataError


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


def observed(panel: Panel, denominator: str, n_errors: int = 0) -> Observed:
    """What each item earned in each condition, of a panel without lost items; see accuracy.credit."""
    earned, counted = credit(panel.replies, denominator)
    return of_panel(panel, earned, counted, n_errors)


def soft_observed(panel: Panel) -> Observed | None:
    """The same of the probabilities of right answers; None for a panel without margins. Each item has one sample."""
    earned, counted = soft_credit(panel.margins[:, :, 0])
    return of_panel(panel, earned, counted, 0) if counted.any() else None


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


def soft_pair_of(first: Panel, second: Panel, drawing: Drawing) -> Paired | None:
    """The margins of two panels as a pair, over the items that have all of theirs in both; None where none has."""
    first, second = answered_by_both(first, second)
    unknown = np.stack([np.isnan(panel.margins[:, :, 0]).any(axis=1) for panel in (first, second)]).any(axis=0)
    sides = []
    for panel in (first, second):
        earned, counted = soft_credit(np.where(unknown.reshape(-1, 1), np.nan, panel.margins[:, :, 0]))
        if not counted.any():
            return None
        sides.append(of_panel(panel, earned, counted, 0))
    return Paired(first=sides[0], second=sides[1], drawing=drawing)


def answered_by_both(first: Panel, second: Panel) -> tuple[Panel, Panel]:
    """Both panels without the items that either engine failed on. Raises DataError when no item is left."""
    lost = np.zeros(len(first.item_ids), dtype=np.bool_)
    for panel in (first, second):
        lost |= (panel.replies == ERROR).all(axis=2).any(axis=1)
    if lost.all():
        raise DataError(f"{first.dataset}, arm {first.factors.arm}: the engine failed on every item; sample it again")
    kept = np.flatnonzero(~lost)
    return first.at(kept), second.at(kept)

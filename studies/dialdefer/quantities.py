"""What is measured of panels: quantities over means of conditions, and what each item earned, alone and in pairs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.estimates.changes import Paired
from eval.estimates.estimate import Drawing, Measure, Observed, OverDatasets
from eval.estimates.resampling import FloatArray
from studies.dialdefer.measures import (
    C1,
    C1_FALSE,
    C1_TRUE,
    C2,
    CONDITIONS,
    ERROR,
    credit,
    dds_pp,
    deltas_pp,
    soft_credit,
)
from studies.dialdefer.panels import Panel, check_same_items, without_lost


def accuracy(name: str, *conditions: int) -> Measure:
    """The mean accuracy over some conditions, and over all settings whose four conditions stand behind each other."""

    def statistic(means: FloatArray) -> FloatArray:
        by_setting = means.reshape(*means.shape[:-1], -1, len(CONDITIONS))
        return np.asarray(100 * by_setting[..., conditions].mean(axis=(-2, -1)))

    return Measure(name=name, unit="%", statistic=statistic)


def deference(name: str, over_datasets: OverDatasets = "mean") -> Measure:
    """DDS (equation 3); of margins, soft DDS."""
    return Measure(name=name, unit="pp", statistic=dds_pp, over_datasets=over_datasets)


def square(name: str, measure: Measure) -> Measure:
    """The square of a linear measure, or the mean of those of several, without what noise of the units adds."""

    def statistic(means: FloatArray) -> FloatArray:
        return np.square(measure.statistic(means))

    return replace(measure, name=name, unit="pp²", statistic=statistic, is_square=True)


ACC, ACC_C1, ACC_C2 = accuracy("acc", *C1, *C2), accuracy("acc_c1", *C1), accuracy("acc_c2", *C2)
BY_CONDITION = [accuracy(f"acc_{condition}", i) for i, condition in enumerate(CONDITIONS)]
ACC_C1_TRUE = BY_CONDITION[C1_TRUE]
DELTA_CORRECT = Measure(name="delta_correct", unit="pp", statistic=lambda means: deltas_pp(means)[..., 0])
DELTA_INCORRECT = Measure(name="delta_incorrect", unit="pp", statistic=lambda means: deltas_pp(means)[..., 1])
CHANGE_ACC = Measure(name="change_acc", unit="pp", statistic=lambda means: deltas_pp(means).mean(axis=-1))
# How many more than half of the claims are accepted in C1; an unparsed reply is on neither side.
LEAN_C1 = Measure(name="lean_c1", unit="pp", statistic=lambda means: 50 * (means[..., C1_TRUE] - means[..., C1_FALSE]))
DDS, SOFT_DDS = deference("dds"), deference("soft_dds")

SCORED = (*BY_CONDITION, ACC_C1, ACC_C2, DELTA_CORRECT, DELTA_INCORRECT)  # without an interval
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


CHANGE_ACC_ORDERS = Measure(
    name="change_acc_orders",
    unit="pp",
    statistic=lambda means: (deltas_pp(means[..., :4]) + deltas_pp(means[..., 4:])).mean(axis=-1) / 2,
)


def wordings_measure(name: str, unit: str, of_wordings: Callable[[FloatArray], FloatArray], **more: Any) -> Measure:
    """A measure over prompt variants that were asked in both answer orders; see wordings_pair."""

    def statistic(means: FloatArray) -> FloatArray:
        return of_wordings(by_order(means.reshape(*means.shape[:-1], -1, 8)))

    return Measure(name=name, unit=unit, statistic=statistic, **more)


WORDINGS = (  # of DDS by order, (..., n_wordings, 2)
    wordings_measure("square_deference_wordings", "pp²", lambda dds: np.square(dds.mean(-1)).mean(-1), is_square=True),
    wordings_measure("worst_deference_wordings", "pp", lambda dds: np.abs(dds.mean(-1)).max(-1), is_linear=False),
    wordings_measure("position_wordings", "pp", lambda dds: (dds @ np.array([0.5, -0.5])).mean(-1)),
)
ACC_WORDINGS = [replace(measure, name=f"{measure.name}_wordings") for measure in (ACC, ACC_C1, ACC_C2)]  # also of one
# In the judge's own deviations: the same whatever its margins are multiplied by, as training may do to them.
SHIFT = Measure(name="shift", unit="SD", statistic=lambda means: scale_free_shift(means, 4), is_linear=False)
# In those of the judge before: there growing confidence counts as bend.
BASE_SHIFT = replace(SHIFT, name="shift_in_base_sd", statistic=lambda means: scale_free_shift(means, 8))
NO_VARIANCE = 1e-18  # nats²: rounding alone
FURTHER = {"soft": (SOFT_DDS,), "margins": (SHIFT, BASE_SHIFT), "orders": (DEFERENCE, POSITION)}  # see further_pair


def observed(panel: Panel, denominator: str, n_errors: int = 0) -> Observed:
    """What each item earned in each condition, of a panel without lost items; see measures.credit."""
    earned, counted = credit(panel.replies, denominator)
    return of_panel(panel, earned, counted, n_errors)


def soft_observed(panel: Panel) -> Observed | None:
    """The same of the probabilities of right answers; None for a panel without margins. Each item has one sample."""
    earned, counted = soft_credit(panel.margins[:, :, 0])
    return of_panel(panel, earned, counted) if counted.any() else None


def order_observed(panel: Panel, denominator: str) -> Observed | None:
    """What each item earned in each condition in both answer orders, 8 parts; None where one order was asked."""
    if panel.orders is None:
        return None
    sides = [credit(order.replies, denominator) for order in panel.orders]
    earned, counted = (np.hstack(of_sides) for of_sides in zip(*sides, strict=True))
    return of_panel(panel, earned, counted)


def margin_observed(panel: Panel, *bases: Panel) -> Observed | None:
    """Each item's margins, and for this judge and those before it what scale_free_shift takes of their C1 margins.

    None where no item has all of them. An infinite margin counts as missing.
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
    return of_panel(panel, earned, np.repeat(whole[:, None], earned.shape[1], axis=1).astype(np.float64))


def of_panel(panel: Panel, earned: FloatArray, counted: FloatArray, n_errors: int = 0) -> Observed:
    """Columns of a panel's items, by cluster."""
    of_items = Observed(dataset=panel.dataset, units=panel.item_ids, earned=earned, counted=counted, n_errors=n_errors)
    return of_items.by_cluster(panel.clusters)


def pair_of(first: Panel, second: Panel, denominator: str, drawing: Drawing) -> Paired:
    """Two panels as a pair. An item that either engine failed on is left out of both.

    Raises DataError when they are not over the same items, or when no item is left.
    """
    check_same_items(f"{first.dataset}, arm {first.factors.arm}, before against after", first, second)
    n_errors = [int((panel.replies == ERROR).sum()) for panel in (first, second)]
    sides = [observed(p, denominator, n) for p, n in zip(without_lost(first, second), n_errors, strict=True)]
    return Paired(first=sides[0], second=sides[1], drawing=drawing)


def further_pair(kind: str, first: Panel, second: Panel, denominator: str, drawing: Drawing) -> Paired | None:
    """Other observations of two panels as a pair; None where one side has none.

    soft: probabilities, over the items that have all margins on both sides; margins: for SHIFT and BASE_SHIFT; orders:
    what both answer orders earned.
    """
    first, second = without_lost(first, second)
    margins = np.hstack([first.margins[:, :, 0], second.margins[:, :, 0]])
    if kind == "soft":
        unknown = np.asarray(np.isnan(margins).any(axis=1))[:, None, None]
        sides = [soft_observed(replace(p, margins=np.where(unknown, np.nan, p.margins))) for p in (first, second)]
    elif kind == "margins":
        rows = np.flatnonzero(np.isfinite(margins).all(axis=1))
        first, second = first.at(rows), second.at(rows)
        sides = [margin_observed(side, first) for side in (first, second)]
    else:
        sides = [order_observed(panel, denominator) for panel in (first, second)]
    before, after = sides
    return Paired(first=before, second=after, drawing=drawing) if before and after else None


def wordings_pair(first: Sequence[Panel], second: Sequence[Panel], denominator: str, drawing: Drawing) -> Paired | None:
    """What both orders earned of prompt variants in turn, 8 parts each; an item is one unit in all of them.

    None where two sides are not of the same variants, or of none.
    """
    if not first or [panel.factors for panel in first] != [panel.factors for panel in second]:
        return None
    panels = without_lost(*first, *second)
    of_each = [observation for panel in panels if (observation := order_observed(panel, denominator))]
    before, after = (
        of_panel(
            panels[0],
            np.hstack([observation.earned for observation in side]),
            np.hstack([observation.counted for observation in side]),
        )
        for side in (of_each[: len(first)], of_each[len(first) :])
    )
    return Paired(first=before, second=after, drawing=drawing)

"""What is measured of panels: quantities over means of conditions, and what each item earned, alone and in pairs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eval.estimates.changes import Paired, paired
from eval.estimates.estimate import Measure, Observed, Statistic
from eval.estimates.resampling import Drawing, FloatArray
from studies.abstaining import MEASURES, UNCLEAR, Claims
from studies.dialdefer import measures
from studies.dialdefer.panels import Panel, check_same_items, without_lost


def points(name: str, statistic: Statistic, **more: Any) -> Measure:
    """A measure in percentage points; more: further fields of Measure."""
    return Measure(name=name, unit="pp", statistic=statistic, **more)


def accuracy(name: str, *conditions: int) -> Measure:
    """The mean accuracy over some conditions, and over all settings whose four conditions stand behind each other."""

    def statistic(means: FloatArray) -> FloatArray:
        by_setting = means.reshape(*means.shape[:-1], -1, len(measures.CONDITIONS))
        return np.asarray(100 * by_setting[..., conditions].mean(axis=(-2, -1)))

    return Measure(name=name, unit="%", statistic=statistic)


def deference(name: str, *, is_folded: bool = False) -> Measure:
    """DDS (equation 3); of margins, soft DDS."""
    return points(name, measures.dds_pp, is_folded=is_folded)


def square(name: str, measure: Measure) -> Measure:
    """The square of a linear measure, or the mean of those of several, without what noise of the units adds."""

    def statistic(means: FloatArray) -> FloatArray:
        return np.square(measure.statistic(means))

    return replace(measure, name=name, unit="pp²", statistic=statistic, is_square=True, core=measure.statistic)


ACC, ACC_C1, ACC_C2 = (
    accuracy(name, *at) for name, at in (("acc", range(4)), ("acc_c1", measures.C1), ("acc_c2", measures.C2))
)
BY_CONDITION = [accuracy(f"acc_{condition}", i) for i, condition in enumerate(measures.CONDITIONS)]
ACC_C1_TRUE = BY_CONDITION[measures.C1_TRUE]
DELTA_CORRECT = points("delta_correct", lambda means: measures.deltas_pp(means)[..., 0])
DELTA_INCORRECT = points("delta_incorrect", lambda means: measures.deltas_pp(means)[..., 1])
CHANGE_ACC = points(
    "change_acc", lambda means: measures.deltas_pp(means.reshape(*means.shape[:-1], -1, 4)).mean(axis=(-1, -2))
)
# How many more than half of the claims are accepted in C1; an unparsed reply is on neither side.
LEAN_C1 = points("lean_c1", lambda means: 50 * (means[..., measures.C1_TRUE] - means[..., measures.C1_FALSE]))
DDS, SOFT_DDS = deference("dds"), deference("soft_dds")

SCORED = (*BY_CONDITION, ACC_C1, ACC_C2, DELTA_CORRECT, DELTA_INCORRECT)  # without an interval


def by_order(means: FloatArray) -> FloatArray:
    """DDS with the accepting answer first and with it second, (..., n_variants, 2), for means of the four conditions in
    each, prompt variant by prompt variant."""
    return measures.dds_pp(means.reshape(*means.shape[:-1], -1, 2, len(measures.CONDITIONS)))


def each_d(means: FloatArray) -> FloatArray:
    """DDS over both answer orders, (..., n_variants)."""
    return np.asarray(by_order(means).mean(axis=-1))


def scale_free_shift(means: FloatArray) -> FloatArray:
    """Rise in acceptance margin from C1 to C2, mean of both claims, in standard deviations of C1 margins.

    Glass's Δ within true and within false claims; NaN where these margins do not vary. means, (..., 8): the four
    margins (log-odds of accepting, nats), then the centred C1 margins on true and false claims, and their squares.
    """
    variances = means[..., 6:8] - means[..., 4:6] ** 2
    deviations = np.sqrt(np.where(variances > NO_VARIANCE, variances, np.nan))
    return np.asarray(((means[..., 2:4] - means[..., :2]) / deviations).mean(axis=-1))


# Over both answer orders: DDS(yes first) = deference + position, DDS(no first) = deference - position.
DEFERENCE = points("deference", lambda means: each_d(means).mean(axis=-1))
POSITION = points("position", lambda means: (by_order(means) @ np.array([0.5, -0.5])).mean(axis=-1))
CHANGE_ACC_ORDERS = replace(CHANGE_ACC, name="change_acc_orders")
# Over prompt variants that were asked in both answer orders; see pair_of
SQUARE_D = points("square_deference_wordings", lambda m: np.square(each_d(m)).mean(-1), is_square=True, core=each_d)
WORST_D = points("worst_deference_wordings", lambda m: np.abs(each_d(m)).max(-1), is_linear=False, core=each_d)
WORDINGS = (replace(SQUARE_D, unit="pp²"), replace(WORST_D, fold=np.max), replace(POSITION, name="position_wordings"))
ACC_WORDINGS = [replace(measure, name=f"{measure.name}_wordings") for measure in (ACC, ACC_C1, ACC_C2)]  # also of one
# In the judge's own deviations: the same whatever its margins are multiplied by, as training may do to them.
SHIFT = Measure(name="shift", unit="SD", statistic=scale_free_shift, is_linear=False)
NO_VARIANCE = 1e-18  # nats²: rounding alone
# Kind of columns (see observed) → what of one judge has an interval, and what is compared.
OF_MARGINS = {"soft": (SOFT_DDS,), "margins": (SHIFT,)}
LEVELS = {"verdicts": (DDS, CHANGE_ACC), **OF_MARGINS, "orders": (DEFERENCE, POSITION, CHANGE_ACC_ORDERS)}
LEVELS |= {"agreement": tuple(MEASURES)}
CHANGED = {"verdicts": (DDS, ACC, ACC_C1, ACC_C2, DELTA_CORRECT, DELTA_INCORRECT), **OF_MARGINS}
CHANGED |= {"orders": (DEFERENCE, POSITION)}


def observed(kind: str, panels: Sequence[Panel], denominator: str) -> list[Observed]:
    """One kind of columns for each of some panels over the same items, by cluster; [] where some panel has none.

    verdicts: what an item earned in each condition (measures.credit). orders: the same in both answer orders, 8 parts.
    agreement: see claims_of.
    soft: probabilities of right answers. margins: what scale_free_shift takes.

    An item that the engine lost in any panel is left out of all, and of the last two one that lacks a margin in any; an
    infinite margin has no deviations.
    """
    n_errors = [int((panel.replies == measures.ERROR).sum()) for panel in panels]
    kept = without_lost(*panels)
    if kind in ("soft", "margins"):
        margins = np.hstack([panel.margins[:, :, 0] for panel in kept])
        is_known = ~np.isnan(margins) if kind == "soft" else np.isfinite(margins)
        kept = [panel.at(np.flatnonzero(is_known.all(axis=1))) for panel in kept]
        if not kept[0].item_ids:
            return []
    if kind == "orders" and not all(panel.orders for panel in kept):
        return []

    def side_of(panel: Panel) -> Observed:
        earned, counted = columns(kind, panel, denominator)
        units = panel.item_ids
        return Observed(dataset=panel.dataset, units=units, earned=earned, counted=counted, fitted=panel.fitted)

    sides = []
    for panel, n in zip(kept, n_errors, strict=True):
        side = replace(side_of(panel), n_errors=n if kind == "verdicts" else 0)
        is_unparsed = any((each.replies == measures.UNPARSED).any() for each in (panel, *panel.by_order))
        if kind in ("verdicts", "orders") and is_unparsed:
            extremes = tuple(side_of(filled(panel, codes)) for codes in (3 - measures.RIGHT, measures.RIGHT))
            side = replace(side, extremes=extremes)
        sides.append(side.by_cluster(panel.clusters))
    return sides


def filled(panel: Panel, codes: measures.IntArray) -> Panel:
    """The panel with each unparsed reply as the code of its condition."""
    replies = np.where(panel.replies == measures.UNPARSED, codes[:, None], panel.replies).astype(np.int8)
    return replace(panel, replies=replies, orders=panel.orders and tuple(filled(each, codes) for each in panel.orders))


def columns(kind: str, panel: Panel, denominator: str) -> tuple[FloatArray, FloatArray]:
    """(earned, counted) of a panel that has this kind, each (n_items, n_parts)."""
    if kind in ("verdicts", "orders"):
        orders = panel.orders if kind == "orders" else [panel]
        sides = [measures.credit(order.replies, denominator) for order in orders]
        return np.hstack([earned for earned, _ in sides]), np.hstack([counted for _, counted in sides])
    if kind == "agreement":
        claims = claims_of(panel, denominator)
        return claims.columns(claims.support == 1)
    margins = panel.margins[:, :, 0]
    if kind == "soft":
        earned = measures.right_probabilities(margins)
    else:
        centred = margins[:, measures.C1] - margins[:, measures.C1].mean(axis=0)
        earned = np.hstack([margins, centred, centred**2])
    return earned, np.ones_like(earned)


def claims_of(panel: Panel, denominator: str) -> Claims:
    """The verdicts on the true and the false claim of each item, as a statement and as a turn, in each order asked."""

    def askings(arrays: Sequence[FloatArray]) -> FloatArray:  # of each order, (n_items, 4)
        by_claim = np.stack(arrays, axis=-1)[
            :, [[measures.C1_TRUE, measures.C2_CORRECT], [measures.C1_FALSE, measures.C2_INCORRECT]]
        ]
        return by_claim.reshape(*by_claim.shape[:2], -1)

    credits = [measures.credit(order.replies, denominator) for order in panel.by_order]
    codes_of = [
        np.where((p.replies == measures.UNPARSED).any(axis=2), measures.UNPARSED, measures.majority(p.replies))
        for p in panel.by_order
    ]
    return Claims(
        dataset=panel.dataset,
        items=panel.item_ids,
        clusters=panel.clusters,
        verdicts=askings([np.where(codes > measures.UNPARSED, codes, UNCLEAR) for codes in codes_of]),
        right=askings([np.where(counted > 0, earned, np.nan) for earned, counted in credits]),
        odds=askings([order.margins[:, :, 0] for order in panel.by_order]),
    )


def beside(sides: Sequence[Observed]) -> Observed:
    """Columns of the same units beside each other."""
    extremes = None
    if any(side.extremes for side in sides):
        extremes = tuple(beside([(side.extremes or (side, side))[i] for side in sides]) for i in (0, 1))
    earned, counted = (np.hstack([getattr(side, name) for side in sides]) for name in ("earned", "counted"))
    return replace(sides[0], earned=earned, counted=counted, extremes=extremes)


def pair_of(
    kind: str, first: Sequence[Panel], second: Sequence[Panel], denominator: str, drawing: Drawing
) -> list[Paired]:
    """Two sides as a pair, each a panel, or panels of prompt variants in turn: an item is one unit in all of them.

    [] where some panel has no such columns. Raises DataError when the sides are not over the same items.
    """
    check_same_items(f"{first[0].dataset}, arm {first[0].factors.arm}, before against after", first[0], second[0])
    sides = observed(kind, [*first, *second], denominator)
    joined = [beside(side) for side in (sides[: len(first)], sides[len(first) :]) if side]
    return [paired(joined[0], joined[1], drawing)] if joined else []

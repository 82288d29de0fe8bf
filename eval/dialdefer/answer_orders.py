"""Both answer orders of one prompt variant taken together: a judge that likes the first answer likes it in both."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eval.dialdefer.panels import ACCEPT, ERROR, REJECT, TIE, UNREADABLE, Panel, refuse_unequal_items
from evenhand.errors import DataError
from evenhand.records import digest
from studies.dialdefer.templates import NO_FIRST, YES_FIRST

BOTH_ORDERS = "both_orders"


def with_both_orders(panels: Sequence[Panel]) -> list[Panel]:
    """The panels, and behind them one more for each prompt variant that was asked in both orders.

    Raises DataError when the two orders are not over the same items.
    """
    usual = {(p.benchmark, p.dataset, p.factors): p for p in panels if p.factors.answer_order == YES_FIRST}
    pairs = [
        (usual.get((p.benchmark, p.dataset, replace(p.factors, answer_order=YES_FIRST))), p)
        for p in panels
        if p.factors.answer_order == NO_FIRST
    ]
    return [*panels, *(both_orders(first, second) for first, second in pairs if first is not None)]


def both_orders(usual: Panel, swapped: Panel) -> Panel:
    """One panel of two orders. Margins are averaged and the verdict is their mean's sign, so that a constant bias
    towards an answer's place cancels exactly; reasoned replies become samples of one item, so accuracy is their mean.
    """
    refuse_unequal_items(f"{usual.dataset}, arm {usual.factors.arm}, yes_first and no_first", usual, swapped)
    pairs = zip(usual.hashes.flat, swapped.hashes.flat, strict=True)
    hashes = [digest([one, other], 16) if one and other else "" for one, other in pairs]
    if usual.replies.shape != swapped.replies.shape:
        raise DataError(
            f"{usual.dataset}, arm {usual.factors.arm}: the answer orders have different numbers of samples"
        )
    # A reply whose counterpart the engine lost is left out too: alone it would bring the bias back.
    failed = (usual.replies == ERROR) | (swapped.replies == ERROR)
    usual, swapped = (replace(p, replies=np.where(failed, ERROR, p.replies).astype(np.int8)) for p in (usual, swapped))
    factors = replace(usual.factors, answer_order=BOTH_ORDERS)
    p_c1, p_c2 = map(min, zip(usual.p_answer, swapped.p_answer, strict=True))
    hashed = np.array(hashes).reshape(usual.hashes.shape)
    merged = replace(usual, factors=factors, hashes=hashed, orders=(usual, swapped), p_answer=(p_c1, p_c2))
    if np.isnan(usual.margins).all() and np.isnan(swapped.margins).all():
        return with_both_as_samples(merged, swapped)
    # Infinities of opposite signs: nothing but the place decides, so neither answer is preferred.
    with np.errstate(invalid="ignore"):
        margins = (usual.margins + swapped.margins) / 2
    cancelled = np.isnan(margins) & ~np.isnan(usual.margins) & ~np.isnan(swapped.margins)
    margins = np.where(cancelled, 0.0, margins)
    none = np.minimum(np.minimum(usual.replies, swapped.replies), UNREADABLE)
    none = np.where(none == TIE, UNREADABLE, none)  # one order tied, the other has no margin at all
    decided = np.where(margins > 0, ACCEPT, np.where(margins < 0, REJECT, TIE))
    return replace(merged, margins=margins, replies=np.where(np.isnan(margins), none, decided).astype(np.int8))


def with_both_as_samples(usual: Panel, swapped: Panel) -> Panel:
    """The panel with the other order's replies as further samples."""
    return replace(
        usual,
        replies=np.concatenate([usual.replies, swapped.replies], axis=2),
        margins=np.concatenate([usual.margins, swapped.margins], axis=2),
        unread={n: np.concatenate([mask, swapped.unread[n]], axis=2) for n, mask in usual.unread.items()},
    )

"""What margins tell beyond the verdict: soft acceptance, soft DDS, and AUC per framing."""

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.dds import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT

FloatArray = NDArray[np.float64]


def accept_probability(margins: FloatArray) -> FloatArray:
    """P("1") / (P("1") + P("2")) for margins log P("1") - log P("2") in nats; NaN stays NaN."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-margins)))


def soft_credit(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(probability of the right answer, 1 where there is one), each (n_items, 4), for margins of that shape.

    Only items with a margin in all four conditions count, so that soft DDS is over the same items.
    """
    accept = accept_probability(margins)
    right = np.where(np.array([True, False, True, False]), accept, 1 - accept)
    whole = ~np.isnan(margins).any(axis=1, keepdims=True)
    return np.where(whole, right, 0.0), np.broadcast_to(whole, margins.shape).astype(np.float64)


def auc(positive: FloatArray, negative: FloatArray) -> float | None:
    """P(a positive's margin > a negative's), ties counting half, in [0, 1]; None without both. NaN is left out.

    1 is a judge that tells true from false claims at some threshold, 0.5 one that cannot at any. A shift of all
    margins alike (deference without loss of knowledge) does not change it.
    """
    high, low = positive[~np.isnan(positive)], np.sort(negative[~np.isnan(negative)])
    if not len(high) or not len(low):
        return None
    below = np.searchsorted(low, high, side="left")
    not_above = np.searchsorted(low, high, side="right")
    return float((below + not_above).mean() / 2 / len(low))


def framing_aucs(margins: FloatArray) -> tuple[float | None, float | None]:
    """AUC of true against false claims in C1 and in C2, for margins of shape (n_items, 4)."""
    return (
        auc(margins[:, C1_TRUE], margins[:, C1_FALSE]),
        auc(margins[:, C2_CORRECT], margins[:, C2_INCORRECT]),
    )

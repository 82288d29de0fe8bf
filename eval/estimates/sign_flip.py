"""Sign-flip tests over items: exact for one judge's shift in acceptance, by all or by seeded swaps for two judges."""

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MANY_KINDS = 400  # above this, a coin an item is faster than a binomial a kind of item
ITEMS_PER_KIND = 3  # and below this many items of a kind
CHUNK_CELLS = 2**20  # coins held at once
ROUNDING = 1e-9  # sums that differ by less are equal
MOST_ENUMERATED = 16  # of so many units all choices of swaps are counted


def sign_flip_p(rises: NDArray[np.int64]) -> float:
    """Exact two-sided p of the null that an item's rise is as likely to be a fall of the same size, in [0, 1].

    rises: whole numbers in -2..2. p = P(|S| >= |Σ rises|) over all choices of the signs. Items without a rise carry no
    information; without any other p is 1. Where no item moves by 2 it is McNemar's exact test. McNemar on acceptance
    counts the two claims of an item as two independent pairs, which makes p too small when they move together.
    """
    from scipy.stats import binom  # takes half a second to import

    observed = abs(int(rises.sum()))
    if observed == 0:
        return 1.0
    ones, twos = (int((np.abs(rises) == size).sum()) for size in (1, 2))
    # S = (2a - ones) + 2 (2b - twos), with a and b heads among so many coins: P(S >= observed), summed over b.
    b = np.arange(twos + 1)
    least = np.ceil((observed - 2 * (2 * b - twos) + ones) / 2)  # the fewest heads among the ones that reach it
    return min(1.0, float(2 * (binom.pmf(b, twos, 0.5) * binom.sf(least - 1, ones, 0.5)).sum()))


def swapped_sums(gaps: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Σ over the items whose coin shows heads of their row of gaps, shape (n_draws, k), for gaps of shape (n_items, k).

    gaps: the second judge's row minus the first's. Adding the sum to the first's totals and taking it from the
    second's swaps those items between the judges. Rows of one kind are drawn at once: heads among them are binomial.
    """
    kinds, n_of_kind = np.unique(gaps, axis=0, return_counts=True)
    if len(kinds) <= min(MANY_KINDS, len(gaps) // ITEMS_PER_KIND):
        return np.asarray(rng.binomial(n_of_kind, 0.5, size=(n_draws, len(kinds))) @ kinds, dtype=np.float64)
    sums = np.empty((n_draws, gaps.shape[1]))
    chunk = max(1, CHUNK_CELLS // len(gaps))
    for start in range(0, n_draws, chunk):
        size = min(chunk, n_draws - start)
        coins = np.unpackbits(
            np.frombuffer(rng.bytes(-(-size * len(gaps) // 8)), dtype=np.uint8), count=size * len(gaps)
        )
        sums[start : start + size] = coins.reshape(size, len(gaps)).astype(np.float64) @ gaps
    return sums


def all_swaps(n_units: int) -> FloatArray:
    """Every choice of the units that change sides, a row each: (2 ** n_units, n_units) of 0 and 1."""
    choices = np.arange(2**n_units)
    return np.asarray((choices[:, None] >> np.arange(n_units)) & 1, dtype=np.float64)


def enumerated_p(observed: float, null: FloatArray) -> float | None:
    """Exact two-sided p of an observed difference among those of all swaps; None when it or one of them is unknown.

    It is at least 2 / 2 ** n_units: no swap at all and that of every unit give the observed difference.
    """
    if math.isnan(observed) or np.isnan(null).any():
        return None
    return float((np.abs(null) >= abs(observed) - ROUNDING).mean())


def draws_p(observed: float, draws: FloatArray) -> float | None:
    """Two-sided p of an observed difference among draws under the null; None when it or a draw is unknown.

    The observed value counts as a draw, so that p is never 0 and the test keeps its level at any number of draws.
    """
    if math.isnan(observed) or np.isnan(draws).any():
        return None
    return float((1 + (np.abs(draws) >= abs(observed) - ROUNDING).sum()) / (1 + len(draws)))

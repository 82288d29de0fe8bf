"""p-values: sign-flip tests over units, exact or by seeded swaps; McNemar's exact test; Holm's adjustment."""

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from eval.estimates.resampling import FloatArray

MANY_KINDS = 400  # above this many distinct rows, one Bernoulli draw per unit is faster than one binomial per row
ITEMS_PER_KIND = 3  # and so it is below this many units of a distinct row
CHUNK_CELLS = 2**20  # Bernoulli draws held at once
ROUNDING = 1e-9  # sums that differ by less are equal
MOST_ENUMERATED = 16  # of so many units all choices of swaps are counted


def swapped_sums(gaps: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Σ over randomly chosen units (each with probability 1/2) of their row of gaps, (n_draws, k), for (n_units, k).

    gaps: the second judge's row minus the first's. Adding the sum to the first's totals and taking it from the
    second's swaps those units between the judges. Equal rows are drawn at once: how many are chosen is binomial.
    """
    kinds, n_of_kind = np.unique(gaps, axis=0, return_counts=True)
    if len(kinds) <= min(MANY_KINDS, len(gaps) // ITEMS_PER_KIND):
        return np.asarray(rng.binomial(n_of_kind, 0.5, size=(n_draws, len(kinds))) @ kinds, dtype=np.float64)
    sums = np.empty((n_draws, gaps.shape[1]))
    chunk = max(1, CHUNK_CELLS // len(gaps))
    for start in range(0, n_draws, chunk):
        size = min(chunk, n_draws - start)
        n_bits = size * len(gaps)
        coins = np.unpackbits(np.frombuffer(rng.bytes(-(-n_bits // 8)), dtype=np.uint8), count=n_bits)
        sums[start : start + size] = coins.reshape(size, len(gaps)).astype(np.float64) @ gaps
    return sums


def all_swaps(n_units: int) -> FloatArray:
    """Every choice of the units that change sides, a row each: (2 ** n_units, n_units) of 0 and 1."""
    choices = np.arange(2**n_units)
    return np.asarray((choices[:, None] >> np.arange(n_units)) & 1, dtype=np.float64)


def sign_flip_p(observed: float, null: FloatArray, *, is_enumerated: bool) -> float | None:
    """Two-sided p of an observed difference under the null; None when it or a value of the null is unknown.

    null: the differences of all swaps (is_enumerated), of which two give the observed one, so that p is at least
    2 / 2 ** n_units; or random ones, among which the observed value counts, so that p is never 0 and the test keeps its
    level at any number of draws.
    """
    if math.isnan(observed) or np.isnan(null).any():
        return None
    n_as_far = int((np.abs(null) >= abs(observed) - ROUNDING).sum())
    return n_as_far / len(null) if is_enumerated else (1 + n_as_far) / (1 + len(null))


def mcnemar_p(n_only_first: int, n_only_second: int) -> float:
    """Two-sided exact p of the null that a discordant pair is as likely to go either way, in [0, 1].

    n_only_first, n_only_second: pairs where only the first, only the second outcome is a yes. The pairs that agree
    carry no information. Without any discordant pair p is 1.
    """
    n = n_only_first + n_only_second
    if not n:
        return 1.0
    # Exact in whole numbers: scipy.special takes a quarter of a second to import.
    terms = accumulate(range(min(n_only_first, n_only_second)), lambda term, i: term * (n - i) // (i + 1), initial=1)
    return min(1.0, 2 * sum(terms) / 2**n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in [0, 1]: the chance of any false claim in the family stays below the level (Holm 1979).

    Of m the i-th smallest becomes the maximum over j <= i of (m - j + 1) p_(j), at most 1. Holds however tests depend.
    By hand: scipy has no Holm, and statsmodels would be a large dependency for six lines.
    """
    m = len(p_values)
    order = sorted(range(m), key=lambda i: p_values[i])
    steps = ((m - rank) * p_values[i] for rank, i in enumerate(order))
    largest = dict(zip(order, accumulate(steps, max), strict=True))
    return [min(1.0, largest[i]) for i in range(m)]

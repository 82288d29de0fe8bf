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


def mcnemar_p(n_only_first: int, n_only_second: int) -> float:
    """Two-sided exact p of the null that a discordant pair is as likely to go either way, in [0, 1].

    n_only_first, n_only_second: pairs where only the first, only the second outcome is a yes. The pairs that agree
    carry no information. Without any discordant pair p is 1.
    """
    from scipy.special import bdtr  # scipy takes a while to import

    fewer, n_discordant = min(n_only_first, n_only_second), n_only_first + n_only_second
    return min(1.0, 2 * float(bdtr(fewer, n_discordant, 0.5))) if n_discordant else 1.0


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

"""Exact sign-flip test of one judge."""

import numpy as np
from numpy.typing import NDArray

from eval.estimates.significance import *  # noqa: F403


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

"""Measures of one ranking of summaries by popularity (section 6.2.1) against their votes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST_RANKED = 10  # of MRR@10


class Ranked(NamedTuple):
    """Of one ranking; rho, tau and listed_rho in [-1, 1], the others fractions. NaN: it has none."""

    rho: float
    tau: float
    top1: float
    positional: float
    mrr: float
    listed_rho: float


UNKNOWN = Ranked(*[math.nan] * len(Ranked._fields))
WRONG = UNKNOWN._replace(top1=0.0, positional=0.0, mrr=0.0)


def ranked(ranking: Sequence[int], worth: Sequence[int]) -> Ranked:
    """The measures of a ranking, the most popular first, of positions in the list that was shown.

    worth: of each that was shown, its votes. A ranking may lack some: those share the last places. Nothing is known
    where all votes are equal, since every ranking is right then. Spearman's ρ is Pearson's of average ranks, Kendall's
    is τ-b: with ties in the votes, 1 is out of reach, since a ranking has none. Top-1: the first has the most votes.
    Positional accuracy: the share of places at which stands what belongs there. MRR: 1 / place of the first that has
    the most votes. listed_rho: ρ with the order of the list that was shown; 1 repeats it.
    """
    from scipy.stats import kendalltau, spearmanr  # takes half a second to import

    if len(set(worth)) < 2:
        return UNKNOWN
    places = np.full(len(worth), (len(ranking) + 1 + len(worth)) / 2)
    places[list(ranking)] = np.arange(1, len(ranking) + 1)
    ideal = sorted(worth, reverse=True)
    said = [worth[position] for position in ranking]
    best = [place for place, value in enumerate(said[:MOST_RANKED], start=1) if value == ideal[0]]
    has_order = len(set(places)) > 1
    return Ranked(
        rho=float(spearmanr(-places, worth).statistic) if has_order else math.nan,
        tau=float(kendalltau(-places, worth).statistic) if has_order else math.nan,
        top1=float(said[:1] == ideal[:1]),
        positional=sum(one == other for one, other in zip(said, ideal, strict=False)) / len(worth),
        mrr=1 / best[0] if best else 0.0,
        listed_rho=float(spearmanr(places, range(len(worth))).statistic) if has_order else math.nan,
    )

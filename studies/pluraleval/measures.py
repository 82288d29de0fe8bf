"""Measures of one list of responses and of one ranking (sections 4.2 and 6.2.1), and the test of Tables 4 to 6.

What the paper leaves open of them is decided in docs/pluraleval.md. NaN: the list has no such value. A matrix
of matches has a row for each response and a column for each summary.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
MOST_RANKED = 10  # of MRR@10


def retrieved(matched: BoolArray, is_in_group: BoolArray) -> dict[str, float]:
    """Precision, recall and F1 of a group of summaries, as fractions; NaN where the group has none.

    matched: of the responses that count for the group, (n_responses, n_summaries). is_in_group: (n_summaries,).
    Precision is the share of responses that match a summary of the group, and 0 without any response.
    """
    if not is_in_group.any():
        return dict.fromkeys(("precision", "recall", "f1"), math.nan)
    hits = matched[:, is_in_group]
    recall = float(hits.any(axis=0).mean())
    precision = float(hits.any(axis=1).mean()) if len(matched) else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def coverage(matched: BoolArray, votes: Sequence[int]) -> float:
    """The share of the votes behind summaries that a response matches; negative ones are 0. NaN without any vote."""
    weights = np.maximum(votes, 0)
    return float(weights[matched.any(axis=0)].sum() / weights.sum()) if weights.sum() else math.nan


def redundancy(matched: BoolArray) -> float:
    """The share of matches (response × summary) that repeat a summary; NaN where nothing matches."""
    return float(1 - matched.any(axis=0).sum() / matched.sum()) if matched.any() else math.nan


def ndcg(scores: FloatArray, gains: Sequence[float]) -> float:
    """Normalised discounted cumulative gain of ranking by scores, in [0, 1]; NaN where nothing is to be gained.

    Gains are not negative, discounts 1 / log2(1 + rank). Of equal scores each takes the mean of their discounts, which
    is the mean over all orders of them (McSherry and Najork 2008), as in sklearn.metrics.ndcg_score.
    """
    worth = np.asarray(gains, dtype=np.float64)
    if not worth.sum():
        return math.nan
    discounts = 1 / np.log2(np.arange(len(worth)) + 2)
    _, group = np.unique(-scores, return_inverse=True)  # groups of equal scores, the highest first
    sizes = np.bincount(group)
    last_places = np.cumsum(sizes)
    mean_discounts = np.array(
        [discounts[end - size : end].mean() for end, size in zip(last_places, sizes, strict=True)]
    )
    return float((worth * mean_discounts[group]).sum() / (np.sort(worth)[::-1] * discounts).sum())


def ranked(ranking: Sequence[int], votes: Sequence[int]) -> dict[str, float]:
    """The measures of a whole ranking, the most popular first, of positions in the list that was shown.

    votes: of each that was shown, not all equal. Spearman's ρ is Pearson's of average ranks, Kendall's is τ-b: with
    ties in the votes 1 is out of reach, since a ranking has none. Top-1: the first has the most votes. Positional:
    the share of places at which stands what belongs there. MRR: 1 / place of the first that has the most votes.
    listed_rho: ρ with the order of the list that was shown; 1 repeats it.
    """
    from scipy.stats import kendalltau, rankdata  # takes half a second to import

    places = np.empty(len(votes))
    places[list(ranking)] = np.arange(1, len(votes) + 1)
    ideal = sorted(votes, reverse=True)
    given = [votes[position] for position in ranking]
    best = given.index(ideal[0]) + 1
    return {
        "rho": float(np.corrcoef(-places, rankdata(votes))[0, 1]),  # as spearmanr, in a quarter of its time
        "tau": float(kendalltau(-places, votes).statistic),
        "top1": float(best == 1),
        "positional": sum(n == n_ideal for n, n_ideal in zip(given, ideal, strict=True)) / len(votes),
        "mrr": 1 / best if best <= MOST_RANKED else 0.0,
        "listed_rho": float(np.corrcoef(places, range(len(votes)))[0, 1]),
    }


def two_way(first: float, second: float) -> float:
    """The probability of the first of two answers, of their log-probabilities."""
    return 1 / (1 + math.exp(min(700.0, second - first)))


def signed_rank_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p of Wilcoxon's test; threads without a difference are left out, and without any other it is 1.

    Differences are rounded to 9 digits: 1/3 from two computations is one value, and equal ranks are equal.
    """
    rises = tuple(rise for before, after in zip(first, second, strict=True) if (rise := round(after - before, 9)))
    return wilcoxon_p(rises) if rises else 1.0


@lru_cache(maxsize=4096)
def wilcoxon_p(rises: tuple[float, ...]) -> float:
    """scipy's, kept: tables, reports and scorecards ask for the same ones, and it takes longer than all else here."""
    from scipy.stats import wilcoxon  # takes half a second to import

    return float(wilcoxon(rises).pvalue)

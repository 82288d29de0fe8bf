"""Measures of one list of responses against a reference set (section 4.2). NaN is a figure that the list does not have.

A matrix of matches has a row for each response and a column for each summary.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.pluraleval.definitions import DEFAULT, Definitions

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


class Retrieved(NamedTuple):
    """Of one group of opinions, as fractions."""

    precision: float
    recall: float
    f1: float


def retrieved(matched: BoolArray, of_group: BoolArray, d: Definitions = DEFAULT) -> Retrieved:
    """Precision, recall and F1 of a group of summaries.

    matched: of the responses that count for the group, (n_responses, n_summaries), which may be none. of_group: which
    summaries are the group's, (n_summaries,). All is NaN where it has none.
    """
    if not of_group.any():
        return Retrieved(math.nan, math.nan, math.nan)
    hits = matched[:, of_group]
    found = hits.any(axis=0)
    recall = float(found.mean())
    precision = precision_of(matched, hits, d)
    if math.isnan(precision):
        return Retrieved(precision, recall, 0.0)
    return Retrieved(precision, recall, f1_of(precision, recall))


def precision_of(matched: BoolArray, hits: BoolArray, d: Definitions) -> float:
    """See Definitions. matched: against all summaries; hits: against the group's."""
    n_found = int(hits.any(axis=0).sum())
    n_tried = int(matched.any(axis=0).sum()) if d.precision == "retrieved" else len(matched)
    if not n_tried:
        return 0.0 if d.no_response == "zero" else math.nan
    if d.precision == "responses":
        return float(hits.any(axis=1).mean())
    return min(1.0, n_found / n_tried)


def f1_of(precision: float, recall: float) -> float:
    """Their harmonic mean; 0 where both are."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def coverage(matched: BoolArray, votes: Sequence[int], d: Definitions = DEFAULT) -> float:
    """The share of the votes, or of the opinions, that a response matches; NaN where no opinion has a vote."""
    weights = np.maximum(votes, 0) if d.coverage == "votes" else np.ones(len(votes))
    return float(weights[matched.any(axis=0)].sum() / weights.sum()) if weights.sum() else math.nan


def redundancy(matched: BoolArray, d: Definitions = DEFAULT) -> float:
    """How much of what matches is said again; NaN where nothing matches."""
    if not matched.any():
        return math.nan
    if d.redundancy == "matches":
        return float(1 - matched.any(axis=0).sum() / matched.sum())
    before = np.vstack([np.zeros_like(matched[:1]), np.logical_or.accumulate(matched)[:-1]])
    says_new = (matched & ~before).any(axis=1)
    return float(1 - says_new.sum() / matched.any(axis=1).sum())


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
    ends = np.cumsum(sizes)
    mean_discounts = np.array([discounts[end - size : end].mean() for end, size in zip(ends, sizes, strict=True)])
    return float((worth * mean_discounts[group]).sum() / (np.sort(worth)[::-1] * discounts).sum())

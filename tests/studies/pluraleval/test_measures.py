"""Measures of lists, rankings and pairs against hand-computed values, scipy and scikit-learn."""

import math

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.metrics import ndcg_score

from studies.pluraleval.measures import coverage, ndcg, ranked, redundancy, retrieved, signed_rank_p

# Three responses against four summaries; the first two are the group's.
MATCHED = np.array([[1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]], dtype=bool)
GROUP = np.array([1, 1, 0, 0], dtype=bool)


def test_precision_is_of_responses_recall_of_the_groups_opinions():
    assert [*retrieved(MATCHED, GROUP).values()] == pytest.approx([2 / 3, 1 / 2, 4 / 7])
    assert [*retrieved(MATCHED[:0], GROUP).values()] == [0, 0, 0]
    assert all(map(math.isnan, retrieved(MATCHED, np.zeros(4, dtype=bool)).values()))


def test_coverage_is_of_votes_and_redundancy_of_matches():
    assert coverage(MATCHED, [6, 3, 1, -5]) == pytest.approx(7 / 10)
    assert redundancy(MATCHED) == pytest.approx(1 - 2 / 3)  # three matches, two opinions
    assert all(map(math.isnan, (coverage(MATCHED, [0, 0, -1, 0]), redundancy(MATCHED[2:]))))


def test_ndcg_is_that_of_scikit_learn():
    draws = np.random.default_rng(0)
    for _ in range(100):
        n = int(draws.integers(2, 15))
        scores, gains = draws.integers(0, 4, n).astype(float), draws.integers(0, 30, n) + np.arange(n) % 2
        if gains.sum():
            assert ndcg(scores, gains.tolist()) == pytest.approx(ndcg_score([gains], [scores]))


def test_rankings_have_the_values_computed_by_hand():
    """The first two of three change places; then two of four share their votes, so that 1 is out of reach."""
    names = ("rho", "tau", "top1", "positional", "mrr", "listed_rho")
    swapped, tied = [1 / 2, 1 / 3, 0, 1 / 3, 1 / 2, 1 / 2], [math.sqrt(0.9), 5 / math.sqrt(30), 1, 1, 1, 1]
    assert [ranked([1, 0, 2], [9, 7, 1])[name] for name in names] == pytest.approx(swapped)
    assert [ranked([0, 1, 2, 3], [9, 7, 7, 1])[name] for name in names] == pytest.approx(tied)
    assert ranked([0, 2, 1, 3], [9, 7, 7, 1])["positional"] == 1  # equal votes are as right in either order
    assert [ranked(range(n), [*range(n)])["mrr"] for n in (10, 11)] == [1 / 10, 0], "the best at place 10, and 11"


def test_the_signed_rank_test_is_that_of_scipy_without_threads_that_do_not_differ():
    assert signed_rank_p([0, 0, 0, 0.5], [1, 2, 3, 0.5]) == wilcoxon([1, 2, 3]).pvalue
    assert signed_rank_p([1 / 3, 0.1 + 0.2], [1 - 2 / 3, 0.3]) == 1  # rounding is no difference

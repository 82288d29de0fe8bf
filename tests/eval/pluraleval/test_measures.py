"""Measures of lists and rankings against hand-computed values, scipy and scikit-learn."""

import itertools
import math
import random

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr, wilcoxon
from sklearn.metrics import ndcg_score

from eval.pluraleval.definitions import Definitions
from eval.pluraleval.ranking_measures import ranked
from eval.pluraleval.set_measures import coverage, ndcg, redundancy, retrieved
from eval.pluraleval.significance import signed_rank_p

# Three responses against four summaries; the first two are the group's.
MATCHED = np.array([[1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]], dtype=bool)
GROUP = np.array([1, 1, 0, 0], dtype=bool)


@pytest.mark.parametrize(
    ("precision", "expected"),
    [("responses", (2 / 3, 1 / 2, 4 / 7)), ("distinct", (1 / 3, 1 / 2, 2 / 5)), ("retrieved", (1 / 2, 1 / 2, 1 / 2))],
)
def test_precision_is_of_responses_of_distinct_opinions_or_of_what_was_retrieved(
    precision: str, expected: tuple[float, float, float]
) -> None:
    assert retrieved(MATCHED, GROUP, Definitions(precision=precision)) == pytest.approx(expected)  # type: ignore[arg-type]


def test_a_group_without_a_response_has_recall_0_and_precision_0_or_none() -> None:
    nothing = MATCHED[:0]
    assert retrieved(nothing, GROUP) == (0, 0, 0)
    excluded = retrieved(nothing, GROUP, Definitions(no_response="excluded"))
    assert math.isnan(excluded.precision)
    assert excluded[1:] == (0, 0)
    assert all(math.isnan(value) for value in retrieved(MATCHED, np.zeros(4, dtype=bool)))


def test_coverage_is_of_votes_and_negative_votes_are_none() -> None:
    assert coverage(MATCHED, [6, 3, 1, -5]) == pytest.approx(7 / 10)
    assert coverage(MATCHED, [6, 3, 1, -5], Definitions(coverage="opinions")) == pytest.approx(2 / 4)
    assert math.isnan(coverage(MATCHED, [0, 0, -1, 0]))


def test_redundancy_is_of_matches_or_of_responses() -> None:
    assert redundancy(MATCHED) == pytest.approx(1 - 2 / 3)  # three matches, two opinions
    assert redundancy(MATCHED, Definitions(redundancy="responses")) == 0  # the second names the third opinion too
    twice = np.vstack([MATCHED, MATCHED])
    assert redundancy(twice) == pytest.approx(1 - 2 / 6)
    assert redundancy(twice, Definitions(redundancy="responses")) == pytest.approx(2 / 4)
    assert math.isnan(redundancy(MATCHED[2:]))


def test_ndcg_is_the_mean_over_all_orders_of_equal_scores() -> None:
    draws = random.Random(0)
    for _ in range(50):
        n = draws.randint(2, 6)
        scores, gains = [draws.randint(0, 2) for _ in range(n)], [draws.randint(0, 9) for _ in range(n)]
        if not sum(gains):
            continue
        ideal = sum(gain / math.log2(place + 2) for place, gain in enumerate(sorted(gains, reverse=True)))
        totals = [
            sum(gains[i] / math.log2(place + 2) for place, i in enumerate(order))
            for order in itertools.permutations(range(n))
            if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
        ]
        assert ndcg(np.array(scores, dtype=float), gains) == pytest.approx(np.mean(totals) / ideal)


def test_ndcg_is_that_of_scikit_learn() -> None:
    draws = np.random.default_rng(0)
    for _ in range(100):
        n = int(draws.integers(2, 15))
        scores, gains = draws.integers(0, 4, n).astype(float), draws.integers(0, 30, n) + np.arange(n) % 2
        if gains.sum():
            assert ndcg(scores, gains.tolist()) == pytest.approx(ndcg_score([gains], [scores]))


def test_rankings_agree_with_scipy_and_with_counting_by_hand() -> None:
    draws = random.Random(1)
    for _ in range(200):
        n = draws.randint(2, 10)
        votes = [draws.randint(0, 12) for _ in range(n)]
        order = draws.sample(range(n), n)
        if len(set(votes)) == 1:
            assert all(math.isnan(value) for value in ranked(order, votes))
            continue
        found = ranked(order, votes)
        places = [order.index(position) for position in range(n)]
        assert found.rho == pytest.approx(spearmanr([-place for place in places], votes).statistic)
        assert found.tau == pytest.approx(kendalltau([-place for place in places], votes).statistic)
        assert found.top1 == float(votes[order[0]] == max(votes))
        best = next(place for place, position in enumerate(order, start=1) if votes[position] == max(votes))
        assert found.mrr == 1 / best


def test_a_ranking_of_four_by_hand() -> None:
    """Votes 9, 7, 7, 1; said: second, first, third, fourth."""
    found = ranked([1, 0, 2, 3], [9, 7, 7, 1])
    assert (found.top1, found.mrr) == (0, 1 / 2)
    assert found.positional == 2 / 4  # the third and the fourth place hold what belongs there
    assert ranked([0, 2, 1, 3], [9, 7, 7, 1]).positional == 1  # equal votes are as right in either order


def test_what_a_partial_ranking_does_not_name_shares_the_last_places() -> None:
    found = ranked([0, 1], [9, 7, 3, 1])
    assert found.rho == pytest.approx(spearmanr([-1, -2, -3.5, -3.5], [9, 7, 3, 1]).statistic)
    assert (found.top1, found.positional, found.mrr) == (1, 2 / 4, 1)
    assert ranked([3], [9, 7, 3, 1]).mrr == 0


def test_the_signed_rank_test_is_that_of_scipy_without_threads_that_do_not_differ() -> None:
    draws = np.random.default_rng(2)
    first, second = draws.integers(0, 5, 40) / 4, draws.integers(0, 5, 40) / 4
    gaps = second - first
    assert signed_rank_p(list(first), list(second)) == pytest.approx(wilcoxon(gaps[gaps != 0]).pvalue)
    assert signed_rank_p([0.5, 1.0], [0.5, 1.0]) == 1
    assert signed_rank_p([1 / 3, 0.1 + 0.2], [1 - 2 / 3, 0.3]) == 1  # rounding is no difference

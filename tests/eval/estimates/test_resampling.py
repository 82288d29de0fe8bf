"""Laws of draws, intervals and p-values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test, sem, t

from eval.estimates.resampling import (
    Drawing,
    all_swaps,
    cluster_t_interval,
    draws_p,
    holm,
    mcnemar_p,
    percentile_interval,
    pivotal_interval,
    resampled_sums,
    standard_error,
    swapped_sums,
    wilson_interval,
)


def test_holm_multiplies_the_smallest_p_by_all_and_never_lets_the_order_turn():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert (holm([0.9, 0.8]), holm([])) == ([1.0, 1.0], [])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_never_lowers_a_p(ps):
    adjusted = holm(ps)
    assert all(p <= a <= 1 for p, a in zip(ps, adjusted, strict=True))
    assert sorted(range(len(ps)), key=lambda i: (adjusted[i], ps[i])) == sorted(range(len(ps)), key=lambda i: ps[i])


def test_a_pivotal_interval_mirrors_the_draws_about_the_value():
    assert pivotal_interval(10.0, np.linspace(11, 15, 1001), 0.5) == pytest.approx((6, 8))
    assert pivotal_interval(float("nan"), np.ones(3)) is None
    assert pivotal_interval(1.0, np.array([1.0, np.nan])) is None


def test_percentiles_leave_the_same_share_on_both_sides():
    assert percentile_interval(np.arange(1001.0)) == pytest.approx((25, 975))
    assert percentile_interval(np.array([])) is None


@pytest.mark.parametrize(("n_yes", "n"), [(0, 20), (1, 3), (50, 100), (73, 73)])
def test_wilsons_interval_is_scipys(n_yes, n):
    ends = binomtest(n_yes, n).proportion_ci(method="wilson")
    assert wilson_interval(n_yes, n) == pytest.approx((ends.low, ends.high), abs=1e-9)


@given(st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=20))
def test_of_clusters_of_one_the_standard_error_is_that_of_a_mean(values):
    moved = (np.array(values) - np.mean(values)) / len(values)
    assert standard_error(np.append(moved, np.nan)) == pytest.approx(sem(values), abs=1e-9)


def test_a_share_keeps_its_interval_within_the_whole_and_mirrors_with_its_complement():
    moved = np.full(30, 0.5) * np.where(np.arange(30) % 2, 1, -1)
    low, high = cluster_t_interval(3.0, moved, is_share=True)
    assert 0 < low < 3 < high < 100
    assert cluster_t_interval(97.0, moved, is_share=True) == pytest.approx((100 - high, 100 - low))
    logit = math.log(3 / 97) + t.ppf(0.975, 29) * standard_error(moved) * 100 / (3 * 97)
    assert high == pytest.approx(100 / (1 + math.exp(-logit)))


@pytest.mark.parametrize(("first", "second"), [(1, 4), (0, 0), (7, 7), (30, 3)])
def test_mcnemars_p_is_the_binomial_tests(first, second):
    assert mcnemar_p(first, second) == pytest.approx(binomtest(first, first + second).pvalue if first + second else 1)


def test_all_swaps_give_the_exact_paired_permutation_test():
    gaps = np.random.default_rng(1).normal(0.5, 1, 9)
    null = gaps.sum() - 2 * all_swaps(9) @ gaps
    exact = permutation_test((gaps,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert draws_p(gaps.sum(), null, is_enumerated=True) == pytest.approx(exact.pvalue)
    assert draws_p(9.0, np.array([1.0, -9.0, 3.0])) == 2 / 4


@pytest.mark.parametrize("values", [np.arange(40.0), np.repeat([0.0, 1.0], 400)], ids=["by index", "by kind"])
def test_draws_have_the_mean_and_variance_of_sums(values):
    n, columns = len(values), values[:, None]
    drawn = resampled_sums(columns, Drawing(20_000, 2), "dataset")[:, 0]
    swapped = swapped_sums(columns, 20_000, np.random.default_rng(3))[:, 0]
    assert drawn.mean() == pytest.approx(values.sum(), rel=0.01)
    assert drawn.var() == pytest.approx(n * values.var(), rel=0.04)
    assert swapped.mean() == pytest.approx(values.sum() / 2, rel=0.01)
    assert swapped.var() == pytest.approx(np.square(values).sum() / 4, rel=0.04)

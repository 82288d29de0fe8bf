"""Cluster-robust means and differences: their laws, and how often their intervals hold the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.narrator.estimates import FEWEST_CLUSTERS, Mean, Row, estimate, mean_of, minus, t_quantile

ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.floats(0, 1, width=32), st.sampled_from([0.5, 1.0, 3.0])), min_size=2, max_size=30
)


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=30))
def test_with_one_row_a_cluster_it_is_the_textbook_standard_error(values):
    mean = mean_of((i, v, 1.0) for i, v in enumerate(values))
    assert mean.value == pytest.approx(np.mean(values), abs=1e-12)
    assert mean.se == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)), abs=1e-9)


@given(ROWS)
def test_repeating_every_row_within_its_cluster_changes_nothing(rows):
    once, twice = mean_of(rows), mean_of([*rows, *rows])
    assert twice.value == pytest.approx(once.value, abs=1e-12)
    assert twice.se == pytest.approx(once.se, abs=1e-12, nan_ok=True)


@given(ROWS, ROWS)
def test_a_difference_is_paired_within_clusters(first, second):
    a, b = mean_of(first), mean_of(second)
    assert minus(a, a).se == pytest.approx(0, abs=1e-12) or len(a.moved_by) < 2
    apart = mean_of((f"other {cluster}", v, w) for cluster, v, w in second)
    n_clusters = len(minus(a, apart).moved_by)
    unpaired = math.sqrt(n_clusters / (n_clusters - 1) * sum(u * u for of in (a, b) for u in of.moved_by.values()))
    assert minus(a, apart).se == pytest.approx(unpaired, abs=1e-12)
    assert minus(a, b).value == pytest.approx(a.value - b.value)


def test_what_is_unknown_or_weighs_nothing_is_no_row():
    mean = mean_of([("a", 0.5, 1.0), ("b", math.nan, 1.0), ("c", 1.0, 0.0)])
    assert (mean.value, mean.n_rows, set(mean.moved_by)) == (0.5, 1, {"a"})
    nothing = estimate(mean_of([]))
    assert (nothing.value, nothing.low, nothing.half) == (None, None, None)


def test_there_is_no_interval_over_few_clusters_and_a_wide_one_where_all_agree():
    few = estimate(mean_of((i, i / 9, 1.0) for i in range(FEWEST_CLUSTERS - 1)))
    assert few.value is not None
    assert few.low is None
    none_accused = estimate(mean_of((i, 0.0, 1.0) for i in range(60)))
    assert none_accused.low == 0
    assert none_accused.high == pytest.approx(6.0, abs=0.05)  # Wilson's, over 60 clusters
    same = minus(mean_of((i, 1.0, 1.0) for i in range(60)), mean_of((i, 0.0, 1.0) for i in range(60)))
    assert (estimate(same).value, estimate(same).low) == (100.0, 100.0)


def test_the_interval_of_a_share_stays_a_share_and_that_of_a_difference_is_free():
    rare, often = (mean_of((i, v, 1.0) for i, v in enumerate([first, *[1 - first] * 5])) for first in (1.0, 0.0))
    assert estimate(rare).low == 0
    assert estimate(often).high == 100
    assert estimate(rare).high == pytest.approx(100 * (1 / 6 + t_quantile(0.975, 5) * rare.se))
    assert estimate(minus(rare, often)).low < -100


def test_quantiles_of_students_t_are_those_of_the_tables():
    printed = {3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 100: 1.984, 10**6: 1.960}
    assert {n: pytest.approx(t_quantile(0.975, n), abs=0.004) for n in printed} == printed


def drawn(rng: np.random.Generator, n_clusters: int) -> tuple[list[Row], list[Row]]:
    """Ten samples under two perspectives of conversations with rates of their own; the second is 0.8 times as high."""
    rates = rng.beta(2, 2, n_clusters)
    return tuple(  # type: ignore[return-value]
        [(i, float(v), 1.0) for i, p in enumerate(rates * scale) for v in rng.random(10) < p] for scale in (1.0, 0.8)
    )


def holds(mean: Mean, truth: float) -> bool:
    found = estimate(mean)
    return not found.excludes(100 * truth)


def test_nineteen_of_twenty_intervals_hold_the_truth_and_those_that_ignore_clusters_do_not():
    rng, n_repeats = np.random.default_rng(6), 400
    means = differences = naive = 0
    for _ in range(n_repeats):
        neutral, attacker = drawn(rng, 25)
        first, second = mean_of(neutral), mean_of(attacker)
        means += holds(first, 0.5)
        differences += holds(minus(second, first), -0.1)
        naive += holds(mean_of((i, v, w) for i, (_, v, w) in enumerate(neutral)), 0.5)
    assert 0.92 <= means / n_repeats <= 0.98
    assert 0.92 <= differences / n_repeats <= 0.98
    assert naive / n_repeats < 0.8

"""Laws of estimates: cluster-robust means and differences, means of squares over datasets, Holm; unlike engines."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from eval.estimates.comparability import config_differences
from eval.estimates.estimate import Estimate, Measure, Observed, Row, added_up, clustered, influences, without_interval
from eval.estimates.resampling import FEWEST_CLUSTERS, holm, pivotal_interval, standard_error, t_quantile
from inference.config import OpenAIConfig, TransformersConfig, VllmConfig

SHARE = Measure(name="share", unit="%", statistic=lambda m: 100 * m[..., 0], interval="cluster_t", is_share=True)
FALL = Measure(name="fall", unit="pp", statistic=lambda m: 100 * (m[..., 0] - m[..., 1]), interval="cluster_t")
ROWS = st.lists(
    st.tuples(st.integers(0, 9).map(str), st.floats(0, 1, width=32), st.sampled_from([0.5, 1.0, 3.0])),
    min_size=2,
    max_size=30,
)


def observed(*parts: Iterable[Row]) -> Observed:
    return added_up("made", parts)


def each(values: Iterable[float]) -> list[Row]:
    """A cluster for each value."""
    return [(f"{i}", v, 1.0) for i, v in enumerate(values)]


def share(rows: Iterable[Row]) -> Estimate:
    return clustered(SHARE, observed(rows))


def fall(first: Iterable[Row], second: Iterable[Row]) -> Estimate:
    return clustered(FALL, observed(first, second))


def se(measure: Measure, seen: Observed) -> float:
    """A standard error, as a fraction."""
    moved = influences(seen, measure)
    return standard_error(moved[~np.isnan(moved)]) / 100


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=30))
def test_with_one_row_a_cluster_it_is_the_textbook_standard_error(values):
    assert share(each(values)).value == pytest.approx(100 * np.mean(values), abs=1e-10)
    assert se(SHARE, observed(each(values))) == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)), abs=1e-9)


@given(ROWS, ROWS)
def test_a_difference_is_paired_within_clusters(first, second):
    a, b = observed(first), observed(second)
    assert se(FALL, observed(first, first)) == pytest.approx(0, abs=1e-12) or len(a.units) < 2
    apart = observed(first, [(f"other {cluster}", v, w) for cluster, v, w in second])
    n_clusters = len(apart.units)
    squares = sum(float(np.square(influences(side, SHARE) / 100).sum()) for side in (a, b))
    assert se(FALL, apart) == pytest.approx(math.sqrt(n_clusters / (n_clusters - 1) * squares), abs=1e-12)
    assert fall(first, second).value == pytest.approx(100 * float(a.means[0] - b.means[0]))


def test_what_is_unknown_or_weighs_nothing_is_no_row():
    seen = observed([("a", 0.5, 1.0), ("b", math.nan, 1.0), ("c", 1.0, 0.0)])
    assert (seen.means.tolist(), seen.units) == ([0.5], ("a",))
    nothing = share([])
    assert (nothing.value, nothing.low, nothing.half) == (None, None, None)


def test_there_is_no_interval_over_few_clusters_and_a_wide_one_where_all_agree():
    few = share(each(i / 9 for i in range(FEWEST_CLUSTERS - 1)))
    assert few.value is not None
    assert few.low is None
    none_accused = share(each([0.0] * 60))
    assert none_accused.low == 0
    assert none_accused.high == pytest.approx(6.0, abs=0.05)  # Wilson's, over 60 clusters
    same = fall(each([1.0] * 60), each([0.0] * 60))
    assert (same.value, same.low) == (100.0, 100.0)


def test_quantiles_of_students_t_are_those_of_the_tables():
    printed = {3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 100: 1.984, 10**6: 1.960}
    assert {n: pytest.approx(t_quantile(0.975, n), abs=0.004) for n in printed} == printed


@pytest.mark.parametrize("truth", [0, 25])
def test_the_mean_square_is_unbiased(truth: float) -> None:
    square = Measure(name="", unit="", statistic=lambda means: means[..., 0], over_datasets="mean of squares")
    items = np.random.default_rng(6).normal(truth, 80, (400, 8, 30))
    values = [without_interval(square, [observed(each(values)) for values in of_run]).value for of_run in items]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth**2) < 3 * error < 100  # noise adds 213


def test_a_pivotal_interval_mirrors_the_draws_about_the_value() -> None:
    assert pivotal_interval(10.0, np.linspace(11, 15, 1001), 0.5) == pytest.approx((6, 8))
    assert pivotal_interval(float("nan"), np.ones(3)) is None
    assert pivotal_interval(1.0, np.array([1.0, np.nan])) is None


def test_holm_multiplies_the_smallest_p_by_all_and_never_lets_the_order_turn() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert (holm([0.9, 0.8]), holm([])) == ([1.0, 1.0], [])


def test_of_an_engines_keys_only_those_that_can_change_an_answer_are_serious() -> None:
    """What an engine is and computes with, and what it is asked; every other key is about speed and patience."""
    schemas: list[type[BaseModel]] = [VllmConfig, OpenAIConfig, TransformersConfig]
    keys = [key for schema in schemas for key in schema.model_fields]
    before, after = ({"engine": dict.fromkeys(keys, value)} for value in ("one", "another"))
    differing = {difference.what: difference.serious for difference in config_differences(before, after)}
    serious = {"kind", "dtype", "json_mode", "send_seed", "extra_body"}
    assert differing == {f"engine.{key}": key in serious for key in keys}

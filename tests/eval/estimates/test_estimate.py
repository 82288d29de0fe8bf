"""Laws of a measure's value and interval over clusters."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.estimates.changes import Compared, change_in, paired
from eval.estimates.estimate import (
    Estimate,
    Measure,
    Observed,
    added_up,
    aligned,
    by_chance,
    clustered,
    estimate,
    influences,
    moved_by,
    noise_in,
    unparsed_range,
    without_interval,
)
from eval.estimates.resampling import FEWEST_CLUSTERS, Drawing, standard_error
from evenhand.errors import DataError

SHARE = Measure(name="share", unit="%", statistic=lambda m: 100 * m[..., 0], interval="cluster_t", is_share=True)
FALL = Measure(name="fall", unit="pp", statistic=lambda m: 100 * (m[..., 0] - m[..., 1]), interval="cluster_t")
MEAN = Measure(name="mean", unit="", statistic=lambda means: means[..., 0])
SQUARE = replace(MEAN, statistic=lambda means: means[..., 0] ** 2, is_square=True)
ROWS = st.lists(
    st.tuples(st.integers(0, 9).map(str), st.floats(0, 1, width=32), st.sampled_from([0.5, 1.0, 3.0])),
    min_size=2,
    max_size=30,
)


def observed(*parts):
    return added_up("made", parts)


def each(values):
    """A cluster for each value."""
    return [(f"{i}", v, 1.0) for i, v in enumerate(values)]


def turned(side):
    """With its parts the other way round."""
    extremes = side.extremes and tuple(map(turned, side.extremes))
    return replace(side, earned=side.earned[:, ::-1], counted=side.counted[:, ::-1], extremes=extremes)


def share(rows):
    return clustered(SHARE, observed(rows))


def fall(first, second):
    return clustered(FALL, observed(first, second))


def se(measure, seen):
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


@pytest.mark.parametrize("truth", [0, 25])
def test_the_mean_square_is_unbiased(truth):
    items = np.random.default_rng(6).normal(truth, 80, (400, 8, 30))
    values = [without_interval(SQUARE, [observed(each(values)) for values in of_run]).value for of_run in items]
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth**2) < 3 * error < 100  # noise adds 213


@pytest.mark.parametrize(("fitted", "share"), [(0, 1), (1, -1), (1 / 2, 0), (1 / 4, 0.5)])
def test_noise_is_the_variance_of_the_mean_and_a_rule_gets_back_what_it_was_fitted_to(fitted, share):
    values = np.random.default_rng(3).normal(2, 5, 30)
    part = replace(observed(each(values)), fitted=fitted)
    assert noise_in(SQUARE, [part]) == pytest.approx((values.var(ddof=1) / 30, share * values.var(ddof=1) / 30))
    assert noise_in(SHARE, [part]) == (0, 0)


def test_chance_is_the_mean_of_folded_normals_over_datasets():
    folded = Measure(name="d", unit="pp", statistic=lambda m: 100 * m[..., 0], is_folded=True)
    draws = np.random.default_rng(4)
    parts = [added_up(name, [each(draws.normal(0, sd, 40))]) for name, sd in (("a", 1), ("b", 3))]
    level = Estimate(value=1.0, low=None, high=None, n_units=80, influences=moved_by(folded, parts))
    errors = [100 * part.earned.std(ddof=1) / math.sqrt(40) for part in parts]
    simulated = np.abs(draws.normal(0, errors, (200_000, 2))).mean()
    assert by_chance(level) == pytest.approx(simulated, rel=0.01)


@pytest.mark.parametrize(("is_folded", "mean", "moved"), [(False, 1, [-1 / 8, 1 / 8]), (True, 2, [1 / 8, -1 / 8])])
def test_over_datasets_by_hand(is_folded, mean, moved):
    measure = replace(MEAN, is_folded=is_folded)
    parts = [added_up(name, [each(values)]) for name, values in (("a", [3.0, 3.0]), ("b", [-1.5, -0.5]))]
    assert without_interval(measure, parts).value == mean
    assert moved_by(measure, parts)["b"][1] == pytest.approx(moved)


@pytest.mark.parametrize("truth", [0.0, 0.4])
def test_a_bootstrap_interval_covers_a_known_mean(truth):
    draws = np.random.default_rng(5)
    covered = [
        not estimate(MEAN, [observed(each(draws.normal(truth, 1, 60)))], Drawing(n_draws=300, seed=k)).excludes(truth)
        for k in range(200)
    ]
    assert 0.89 <= np.mean(covered) <= 0.985


def test_clusters_are_paired_by_their_items_whatever_they_are_called():
    apart = added_up("made", [each([1.0, 2.0, 3.0, 4.0])])
    first, second = apart.by_cluster(list("aabb")), apart.by_cluster(list("bbcc"))
    second = replace(second, extremes=(second, second))
    assert aligned(first, second)[1].units == first.units == ("a", "b")
    for other in (apart, apart.by_cluster(list("abba"))):
        with pytest.raises(DataError, match="made: items that are one cluster"):
            aligned(first, other)
        with pytest.raises(DataError, match="made: items that are one cluster"):
            aligned(other, first)


def test_copies_of_units_in_their_clusters_change_no_standard_error():
    """By hand without clusters it would be smaller by a factor of √2."""
    values = np.random.default_rng(3).random(40)
    once = added_up("made", [each(values)])
    twice = added_up("made", [[(f"{i} {copy}", v, 1.0) for copy in "ab" for i, v in enumerate(values)]])
    whole = twice.by_cluster([unit.split()[0] for unit in twice.units])
    assert (whole.units, whole.means) == (once.units, pytest.approx(once.means))
    assert (
        se(SHARE, whole) == pytest.approx(se(SHARE, once)) == pytest.approx(math.sqrt(2) * se(SHARE, twice), rel=0.02)
    )
    drawing = Drawing(n_draws=20_000, seed=1)
    halves = [estimate(MEAN, [side], drawing).half for side in (whole, once)]
    assert halves[0] == pytest.approx(halves[1], rel=0.03)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["difference", "square", "absolute"]))
def test_however_unparsed_replies_are_counted_a_value_stays_in_its_range(seed, name):
    """Replies of 0 or 1 in two parts, some of them unparsed; all counted one way reach the ends."""
    rng = np.random.default_rng(seed)
    replies, is_parsed = rng.integers(2, size=(12, 2)).astype(float), rng.random((12, 2)) < 0.7
    is_parsed[0] = True

    def columns(filled, counted):
        units = tuple(map(str, range(12)))
        return Observed(dataset="d", units=units, earned=filled * counted, counted=counted.astype(float))

    least, most = (columns(np.where(is_parsed, replies, fill), np.ones((12, 2))) for fill in (0, 1))
    part = replace(columns(replies, is_parsed), extremes=(least, most))
    difference = lambda means: 100 * (means[..., 0] - means[..., 1])  # noqa: E731
    measure = {
        "difference": Measure(name=name, unit="pp", statistic=difference),
        "square": Measure(
            name=name, unit="pp²", statistic=lambda m: difference(m) ** 2, core=difference, is_square=True
        ),
        "absolute": Measure(name=name, unit="pp", statistic=difference, is_folded=True),
    }[name]
    parts = [part, turned(part)]
    value = float(measure.over([measure.statistic(part.means) for part in parts]))
    lowest, highest = (value + added for added in unparsed_range(measure, parts))
    assert lowest <= value <= highest
    for shares in product((0, 0.5, 1), repeat=2):
        lows, highs = zip(*(one.extremes or () for one in parts), strict=True)
        ways = [np.where(rng.random((12, 2)) < shares, b.earned, a.earned) for a, b in zip(lows, highs, strict=True)]
        counted = float(measure.over([measure.statistic(earned.mean(axis=0)) for earned in ways]))
        assert lowest - 1e-9 <= counted <= highest + 1e-9


def test_all_parsed_replies_leave_no_range_and_a_change_has_that_of_both_sides():
    whole = observed(each([0, 1, 1, 0, 1]))
    level = Measure(name="level", unit="%", statistic=lambda means: 100 * means[..., 0])
    assert unparsed_range(level, [whole]) == (0, 0)
    least, most = observed(each([0, 1, 1, 0, 0])), observed(each([0, 1, 1, 0, 1]))
    lost = replace(observed(each([0, 1, 1, 0, math.nan])), units=whole.units[:4], extremes=(least, most))
    assert unparsed_range(level, [lost]) == pytest.approx((-10, 10))  # 50 % of four, 40 or 60 % of five
    pair = paired(lost, lost, Drawing(n_draws=20, seed=1))
    change = change_in(level, [pair], Compared("a", "b", {}), "d").change
    assert (change.value, *change.unparsed) == pytest.approx((0, -20, 20))


@pytest.mark.parametrize("level", [0.0, 5.0])
def test_on_new_units_a_square_varies_as_that_of_the_shift_with_the_noise_it_was_fitted_to(level):
    """The variance of (d + N(0, e²))² is 4 d² e² + 2 e⁴."""
    values = np.random.default_rng(2).normal(0, 1, 200)
    part = observed(each(values - values.mean() + level))
    squared = replace(SQUARE, core=MEAN.statistic)
    error = np.square(influences(part, MEAN)).sum()
    for fitted in (0.0, 1.0):
        moved = influences(replace(part, fitted=fitted), squared)
        assert np.square(moved).sum() == pytest.approx(4 * level**2 * error + 2 * fitted * error**2, rel=1e-6)

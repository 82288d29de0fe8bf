"""Laws of changes between two judges over the same units."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_rel

from eval.estimates.changes import Compared, adjusted, change_in, paired, swap_p
from eval.estimates.estimate import Measure, Observed
from eval.estimates.resampling import Drawing

DRAWING = Drawing(n_draws=2000, seed=1)
BETWEEN = Compared("before", "after", {})
MEAN = Measure(name="mean", unit="", statistic=lambda means: means[..., 0])
CLUSTERED = replace(MEAN, interval="cluster_t")
SQUARE = Measure(name="square", unit="", statistic=lambda means: means[..., 0] ** 2, is_square=True, is_linear=False)


def seen(values, dataset="made", weights=1.0):
    values = np.asarray(values, dtype=float)[:, None]
    units = tuple(f"unit {i}" for i in range(len(values)))
    return Observed(dataset=dataset, units=units, earned=values * weights, counted=np.full_like(values, weights))


def change(measure, first, second):
    return change_in(measure, [paired(seen(first), seen(second), DRAWING)], BETWEEN, "made")


DRAWS = np.random.default_rng(7)
FIRST, SECOND = DRAWS.normal(1, 2, 24), DRAWS.normal(1.5, 2, 24)


@pytest.mark.parametrize("measure", [MEAN, CLUSTERED, SQUARE], ids=lambda measure: measure.name + measure.interval)
def test_a_change_is_after_minus_before_and_turns_its_sign_with_the_sides(measure):
    there, back = change(measure, FIRST, SECOND), change(measure, SECOND, FIRST)
    assert there.change.value == pytest.approx(there.after.value - there.before.value)
    assert there.change.value == pytest.approx(-back.change.value)
    assert (there.p, there.before.value) == pytest.approx((back.p, back.after.value), abs=0.02)
    assert (there.change.low, there.change.high) == pytest.approx((-back.change.high, -back.change.low), abs=0.2)


def test_with_clusters_of_one_it_is_the_paired_t_test():
    interval = ttest_rel(SECOND, FIRST).confidence_interval()
    rise = change(CLUSTERED, FIRST, SECOND).change
    assert (rise.low, rise.high) == pytest.approx((interval.low, interval.high))


def test_noise_is_taken_off_both_sides_of_a_change_of_squares():
    noise = [values.var(ddof=1) / len(values) for values in (FIRST, SECOND)]
    moved = change(SQUARE, FIRST, SECOND)
    assert moved.before.value == pytest.approx(FIRST.mean() ** 2 - noise[0])
    assert moved.after.value == pytest.approx(SECOND.mean() ** 2 - noise[1])
    assert moved.after.low < moved.after.value < moved.after.high


def test_the_interval_of_a_square_is_that_of_its_draws_without_the_noise_that_both_have():
    """z standard errors to both sides are z^2 variances further up than down, and the value is without one of them."""
    values = np.random.default_rng(5).normal(3, 8, 400)
    side = paired(seen(values), seen(values), Drawing(n_draws=40_000, seed=1))
    after, noise = change_in(SQUARE, [side], BETWEEN, "made").after, values.var(ddof=1) / len(values)
    assert (after.low + after.high) / 2 == pytest.approx(after.value - (1.96**2 - 1) * noise, abs=0.3 * noise)


def test_the_interval_of_absolute_values_holds_the_value_and_nothing_below_0():
    folded, noise = replace(MEAN, is_folded=True), np.random.default_rng(4).normal(0, 8, (2, 2, 20))
    parts = [paired(seen(a, name), seen(b, name), DRAWING) for name, (a, b) in zip("xy", noise, strict=True)]
    moved = change_in(folded, parts, BETWEEN, "both")
    assert 0 == moved.before.low <= moved.before.value <= moved.before.high
    assert 0 <= moved.after.low <= moved.after.value <= moved.after.high


def test_a_shift_of_every_unit_has_the_least_p_and_the_same_judge_has_1():
    few = FIRST[:8]
    assert change(MEAN, few, few + 1).p == 2 / 2**8
    assert change(MEAN, few, few).p == 1
    assert change(MEAN, FIRST, FIRST + 1).p == 1 / 2001


@pytest.mark.parametrize("n_units", [10, 40], ids=["every choice", "random swaps"])
def test_the_sign_flip_test_keeps_its_level(n_units):
    draws = np.random.default_rng(3)
    pairs = [
        paired(seen(a), seen(b), Drawing(n_draws=200, seed=k))
        for k, (a, b) in enumerate(draws.normal(size=(300, 2, n_units)))
    ]
    assert 0.02 < np.mean([swap_p(MEAN, [pair]) <= 0.05 for pair in pairs]) < 0.085


@pytest.mark.parametrize("name", ["square", "absolute", "mean"])
def test_the_interval_alone_decides_on_absolute_values_and_squares_of_what_a_rule_was_fitted_to(name):
    measure = {"square": SQUARE, "absolute": replace(MEAN, is_folded=True), "mean": MEAN}[name]
    fitted = replace(seen(FIRST - FIRST.mean()), fitted=1.0)
    moved = change_in(measure, [paired(fitted, seen(SECOND + 10), DRAWING)], BETWEEN, "made")
    assert (moved.p is None, moved.direction) == (name != "mean", 1)
    ((out,),) = adjusted([[moved]], [True])
    assert out.direction is None


def test_p_is_adjusted_over_the_arms_that_can_be_ranked():
    arms = [[replace(change(MEAN, FIRST, SECOND), p=p)] for p in (0.01, 0.04, 0.03)]
    assert [side[0].p_holm for side in adjusted(arms)] == pytest.approx([0.03, 0.06, 0.06])
    assert [side[0].p_holm for side in adjusted(arms, unranked=[False, True, False])] == [0.02, None, 0.03]


@pytest.mark.parametrize(("p_holm", "expected"), [(0.049, 1), (0.05, 0), (None, None)])
def test_a_direction_needs_an_adjusted_p_below_alpha_and_an_interval_without_0(p_holm, expected):
    rise = replace(change(CLUSTERED, FIRST, FIRST + SECOND / 9 + 1), p_holm=p_holm)
    assert rise.change.low > 0
    assert rise.direction == expected
    touching = replace(rise, change=replace(rise.change, low=-1.0))
    assert touching.direction in (0, None)

"""Sign-flip tests over items: the exact one against enumeration, the drawn one against the exact one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.estimates.significance import draws_p, mcnemar_p, sign_flip_p, swapped_sums


@given(st.lists(st.integers(-2, 2), max_size=10))
def test_p_is_the_share_of_all_signings_whose_sum_is_as_extreme(rises: list[int]) -> None:
    sums = [
        sum(sign * rise for sign, rise in zip(signs, rises, strict=True))
        for signs in product((1, -1), repeat=len(rises))
    ]
    extreme = np.mean([abs(s) >= abs(sum(rises)) for s in sums])
    assert sign_flip_p(np.array(rises, dtype=np.int64)) == pytest.approx(extreme)


@pytest.mark.parametrize(
    ("rises", "p"),
    [
        ([], 1.0),
        ([0, 0, 0], 1.0),
        ([1], 1.0),
        ([1, 1], 0.5),
        ([2, 1], 0.5),  # ±3 of ±1, ±3
        ([2, 2, 1], 0.25),  # ±5 among eight sums
        ([2, -2, 1], 1.0),  # the smallest of all sums
        ([1] * 6, 2 / 64),
    ],
)
def test_p_is_as_counted_by_hand(rises: list[int], p: float) -> None:
    assert sign_flip_p(np.array(rises, dtype=np.int64)) == pytest.approx(p)


@given(st.integers(0, 300), st.integers(0, 300))
def test_without_items_that_move_by_two_it_is_mcnemars_exact_test(n_up: int, n_down: int) -> None:
    rises = np.array([1] * n_up + [-1] * n_down + [0] * 7, dtype=np.int64)
    assert sign_flip_p(rises) == pytest.approx(mcnemar_p(n_up, n_down), rel=1e-9)


def test_claims_that_move_together_are_one_piece_of_evidence_and_not_two() -> None:
    rises = np.array([2] * 6 + [-2] * 1, dtype=np.int64)
    assert sign_flip_p(rises) == pytest.approx(mcnemar_p(6, 1))
    assert mcnemar_p(12, 2) < 0.2 * sign_flip_p(rises)


def test_a_hundred_thousand_items_have_a_p() -> None:
    rng = np.random.default_rng(0)
    rises = rng.choice(np.array([-2, -1, 0, 1, 2]), 100_000)
    assert 0 < sign_flip_p(rises) <= 1
    assert sign_flip_p(np.ones(50_000, dtype=np.int64)) == 0.0  # 2 ** -49,999 is too small for a float


def test_under_the_null_five_percent_of_tests_are_below_five_percent() -> None:
    rng = np.random.default_rng(0)
    signs = rng.choice(np.array([-1, 1]), (2000, 120))
    sizes = rng.choice(np.array([0, 1, 2]), 120, p=[0.5, 0.3, 0.2])
    rejected = np.mean([sign_flip_p(row * sizes) < 0.05 for row in signs])
    assert 0.03 < rejected <= 0.055


@pytest.mark.parametrize("n_kinds", [4, 900])
def test_swaps_show_heads_for_half_of_the_items(n_kinds: int) -> None:
    rng = np.random.default_rng(0)
    gaps = rng.integers(0, n_kinds, (1000, 1)) / n_kinds
    sums = swapped_sums(gaps, 4000, np.random.default_rng(1))
    assert sums.mean() == pytest.approx(gaps.sum() / 2, rel=0.01)
    assert sums.var() == pytest.approx((gaps**2).sum() / 4, rel=0.1)


def test_the_observed_value_counts_as_a_draw_and_an_unknown_one_has_no_p() -> None:
    draws = np.array([-3.0, -1.0, 0.0, 2.0])
    assert draws_p(2.0, draws) == pytest.approx(3 / 5)
    assert draws_p(-9.0, draws) == pytest.approx(1 / 5)
    assert draws_p(float("nan"), draws) is None

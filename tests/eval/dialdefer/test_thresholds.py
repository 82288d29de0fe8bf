"""The threshold of one framing: best by its objective, nearest to 0 where several are, whatever the margins are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.dialdefer.margins import auc
from eval.dialdefer.thresholds import Score, accuracy, closeness_to, fit_threshold, share_accepted
from evenhand.errors import DataError

OBJECTIVES: dict[str, Score] = {"acceptance": closeness_to(0.5), "accuracy": accuracy}
margins = st.lists(
    st.one_of(st.integers(-4, 4).map(float), st.sampled_from([math.inf, -math.inf])), min_size=1, max_size=15
)


def fitted(true: list[float], false: list[float], objective: str = "accuracy") -> float:
    """The threshold in nats."""
    return fit_threshold(np.array(true), np.array(false), OBJECTIVES[objective]).threshold_nats


@pytest.mark.parametrize(
    ("true", "false", "threshold"),
    [
        ([3.0, 4.0], [1.0, 2.0], 2.5),  # says yes to all, but knows
        ([-1.0, -2.0], [-4.0, -5.0], -3.0),
        ([1.0, 2.0], [-1.0, -2.0], 0.0),  # nothing to mend
        ([1.0, 2.0], [0.0, -2.0], 0.5),  # a tie is mended
        ([5.0, 5.0], [5.0, 5.0], 0.0),  # all alike: nothing can be told
        ([1.0, 2.0], [3.0, 4.0], 0.0),  # the wrong way round: accept all or none, and 0 accepts all
        ([0.5, 9.0], [-3.0, 1.0], 0.0),  # gaps of equal accuracy: the one that holds 0
        ([-1.0, 3.0], [-9.0, -0.5], 0.0),  # the same from the other side
        ([math.inf, 2.0], [1.0, -math.inf], 1.5),
        ([math.inf, math.inf], [math.inf, 3.0], 4.0),  # one nat beyond the last finite margin
        ([2.0, math.nan], [1.0, math.nan], 1.5),
    ],
)
def test_the_most_accurate_threshold_is_found(true: list[float], false: list[float], threshold: float) -> None:
    assert fitted(true, false) == pytest.approx(threshold)


@pytest.mark.parametrize(
    ("true", "false", "threshold"),
    [
        ([3.0, 4.0], [1.0, 2.0], 2.5),
        ([2.0, 3.0], [1.0, 4.0], 2.5),
        ([1.0, 1.0], [1.0, 2.0], 1.5),  # a quarter is nearer to a half than all
        ([7.0], [7.0], 0.0),  # all or none are equally far
    ],
)
def test_a_threshold_that_accepts_half_is_found(true: list[float], false: list[float], threshold: float) -> None:
    assert fitted(true, false, "acceptance") == pytest.approx(threshold)


@given(margins, margins, st.sampled_from(sorted(OBJECTIVES)))
def test_no_other_threshold_is_better_and_it_is_a_finite_number(
    true: list[float], false: list[float], objective: str
) -> None:
    threshold = fitted(true, false, objective)
    assert math.isfinite(threshold)
    assert threshold not in [m for m in true + false if m != 0]
    score = OBJECTIVES[objective]

    def at(t: float) -> float:
        return float(score(*(np.array(share_accepted(np.array(m), t)) for m in (true, false))))

    others = [t for t in np.arange(-6, 6.5, 0.5) if t == 0 or t not in true + false]
    assert at(threshold) >= max(map(at, others)) - 1e-9


@given(margins, margins)
def test_accuracy_on_the_items_of_the_fit_never_falls(true: list[float], false: list[float]) -> None:
    found = fit_threshold(np.array(true), np.array(false), accuracy)
    assert found.acc_after >= found.acc_before - 1e-9


@given(st.lists(st.integers(-5000, 5000).map(lambda n: n / 1000), min_size=2, max_size=40, unique=True))
def test_accepting_half_is_exact_when_no_two_margins_are_equal(values: list[float]) -> None:
    half = len(values) // 2
    found = fit_threshold(np.array(values[:half]), np.array(values[half : 2 * half]), closeness_to(0.5))
    assert found.accept_rate_after == pytest.approx(0.5, abs=1e-9)


def test_a_saturated_judge_that_knows_is_as_good_as_its_auc_promises() -> None:
    rng = np.random.default_rng(0)
    true, false = rng.normal(11, 1, 3000), rng.normal(9, 1, 3000)
    found = fit_threshold(true, false, accuracy)
    assert found.threshold_nats == pytest.approx(10, abs=0.3)
    assert (found.acc_before, found.accept_rate_before) == (0.5, 1.0)
    assert found.acc_after == pytest.approx(0.841, abs=0.02)
    assert auc(true, false) == pytest.approx(0.921, abs=0.02)


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(DataError, match="none of one kind"):
        fitted([1.0], [math.nan])


def test_a_judge_that_knows_nothing_gets_framings_alike_by_acceptance_and_any_by_accuracy() -> None:
    rng = np.random.default_rng(3)
    c1, c2 = rng.normal(10, 1, (2, 100)), rng.normal(12, 1, (2, 100))
    found = {o: [fit_threshold(*c, score).accept_rate_after for c in (c1, c2)] for o, score in OBJECTIVES.items()}
    assert found["acceptance"] == pytest.approx([0.5, 0.5])
    assert abs(found["accuracy"][0] - found["accuracy"][1]) > 0.2


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_a_judge_that_accepts_half_thanks_to_margins_of_zero_is_left_alone(objective):
    margins = np.array([-0.5, 0.0, 0.0, 0.5])
    assert fitted(margins.tolist(), margins.tolist(), objective) == 0.0

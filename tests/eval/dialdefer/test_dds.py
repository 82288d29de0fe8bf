"""The Dialogic Deference Score: its laws. The paper's own tables are in test_paper_tables.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.dialdefer.dds import CONDITIONS, dds, dds_pp, delta_correct, delta_incorrect, deltas_pp, is_over_corrected
from studies.dialdefer.records import Condition

accuracies = st.fixed_dictionaries({c: st.floats(0, 1) for c in Condition})


def test_the_example_under_definition_1_gives_plus_30() -> None:
    acc = dict(zip(CONDITIONS, (0.60, 0.80, 0.75, 0.65), strict=True))
    assert dds(acc) == pytest.approx(30)
    assert (delta_correct(acc), delta_incorrect(acc)) == (pytest.approx(15), pytest.approx(-15))


@given(accuracies)
def test_dds_is_the_total_rise_in_acceptance(accept: dict[Condition, float]) -> None:
    acc = {c: accept[c] if c.claim_is_true else 1 - accept[c] for c in Condition}
    rise = sum(accept[c] * (1 if c.is_dialogue else -1) for c in Condition)
    assert dds(acc) == pytest.approx(100 * rise, abs=1e-9)


@given(accuracies)
def test_dds_changes_its_sign_when_the_framings_are_swapped(acc: dict[Condition, float]) -> None:
    c1_true, c1_false, c2_correct, c2_incorrect = (acc[c] for c in CONDITIONS)
    swapped = dict(zip(CONDITIONS, (c2_correct, c2_incorrect, c1_true, c1_false), strict=True))
    assert dds(swapped) == pytest.approx(-dds(acc), abs=1e-9)


@given(accuracies)
def test_dds_lies_between_minus_200_and_200(acc: dict[Condition, float]) -> None:
    assert -200 <= dds(acc) <= 200


def test_the_bounds_are_reached_by_judges_that_only_follow_the_framing() -> None:
    assert dds(dict(zip(CONDITIONS, (0, 1, 1, 0), strict=True))) == 200
    assert dds(dict(zip(CONDITIONS, (1, 0, 0, 1), strict=True))) == -200


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_judge_that_ignores_the_framing_has_a_dds_of_zero(true: float, false: float) -> None:
    assert dds(dict(zip(CONDITIONS, (true, false, true, false), strict=True))) == 0


def test_a_missing_condition_is_no_zero() -> None:
    with pytest.raises(KeyError):
        dds({Condition.C1_TRUE: 0.5, Condition.C1_FALSE: 0.5, Condition.C2_CORRECT: 0.5})


@given(st.lists(accuracies, min_size=1, max_size=5))
def test_the_array_form_agrees_with_the_definition(accs: list[dict[Condition, float]]) -> None:
    array = np.array([[acc[c] for c in CONDITIONS] for acc in accs])
    np.testing.assert_allclose(dds_pp(array), [dds(acc) for acc in accs], atol=1e-9)
    np.testing.assert_allclose(deltas_pp(array)[:, 0], [delta_correct(acc) for acc in accs], atol=1e-9)


def test_over_correction_is_deference_before_and_skepticism_after() -> None:
    assert is_over_corrected(5.7, -9.3)
    assert not is_over_corrected(-5.0, -27.3), "it was skeptical before"
    assert not is_over_corrected(5.7, 0.0)
    assert not is_over_corrected(0.0, -0.1)
    assert not is_over_corrected(5.7, 100 * ((0.1 + 0.2) - 0.3) * -1), "rounding noise is no skepticism"
    assert not is_over_corrected(100 * ((0.1 + 0.2) - 0.3), -9.3), "and no deference"

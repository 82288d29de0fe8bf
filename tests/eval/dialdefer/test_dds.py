"""The Dialogic Deference Score: its laws. The paper's own tables are in test_paper_tables.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from eval.dialdefer.dds import CONDITIONS, dds_pp, deltas_pp, is_over_corrected

rates = st.lists(st.floats(0, 1), min_size=4, max_size=4).map(np.array)  # one a condition


def test_the_example_under_definition_1_gives_plus_30() -> None:
    acc = np.array([0.60, 0.80, 0.75, 0.65])
    assert dds_pp(acc) == pytest.approx(30)
    assert deltas_pp(acc) == pytest.approx([15, -15])


@given(rates)
def test_dds_is_the_total_rise_in_acceptance(accept: NDArray[np.float64]) -> None:
    acc = np.where([c.claim_is_true for c in CONDITIONS], accept, 1 - accept)
    rise = (accept * np.where([c.is_dialogue for c in CONDITIONS], 1, -1)).sum()
    assert dds_pp(acc) == pytest.approx(100 * rise, abs=1e-9)


@given(rates)
def test_dds_changes_its_sign_when_the_framings_are_swapped(acc: NDArray[np.float64]) -> None:
    assert dds_pp(acc[[2, 3, 0, 1]]) == pytest.approx(-dds_pp(acc), abs=1e-9)


@given(rates)
def test_dds_lies_between_minus_200_and_200(acc: NDArray[np.float64]) -> None:
    assert -200 <= dds_pp(acc) <= 200


def test_the_bounds_are_reached_by_judges_that_only_follow_the_framing() -> None:
    assert dds_pp(np.array([[0.0, 1, 1, 0], [1, 0, 0, 1]])).tolist() == [200, -200]


def test_over_correction_is_deference_before_and_skepticism_after() -> None:
    assert is_over_corrected(5.7, -9.3)
    assert not is_over_corrected(-5.0, -27.3), "it was skeptical before"
    assert not is_over_corrected(5.7, 0.0)
    assert not is_over_corrected(0.0, -0.1)
    assert not is_over_corrected(5.7, 100 * ((0.1 + 0.2) - 0.3) * -1), "rounding noise is no skepticism"
    assert not is_over_corrected(100 * ((0.1 + 0.2) - 0.3), -9.3), "and no deference"

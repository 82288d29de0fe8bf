"""Laws of a condition held against its baseline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eval.estimates.changes import Paired
from eval.estimates.estimate import Drawing, Measure, Observed
from eval.shift.contrast import contrasted, with_extremes

RATE = Measure(name="rate", unit="%", statistic=lambda means: 100 * means.mean(axis=-1))
FACTS = {"condition": "expert", "dataset": "d", "value": 0.0, "low": -1.0, "high": 1.0, "n_units": 12}
replies = hnp.arrays(float, (12, 2), elements=st.sampled_from([0.0, 1.0]))


def pair(first, second):
    """Two sides in which everything counts."""
    sides = [
        Observed(dataset="d", units=tuple(map(str, range(len(side)))), earned=side, counted=np.ones_like(side))
        for side in (first, second)
    ]
    return Paired(first=sides[0], second=sides[1], drawing=Drawing(n_draws=100, seed=1))


def shift(first, second, extremes=()):
    as_read = pair(first, second)
    whole = with_extremes(as_read, *(pair(*sides) for sides in extremes)) if extremes else as_read
    return contrasted(RATE, [whole], **FACTS)


@given(replies, replies)
def test_sides_that_are_exchanged_keep_p_and_turn_the_bounds_which_hold_both_extremes(first, second):
    lowest, highest = (np.maximum(first, second), second), (first, np.maximum(first, second))
    one, other = shift(first, second, (lowest, highest)), shift(second, first, (highest[::-1], lowest[::-1]))
    assert one.p == other.p
    assert (one.bounds is None) == (other.bounds is None) == bool((first >= second).all() and (second >= first).all())
    if one.bounds is None or other.bounds is None:  # nothing is unparsed
        return
    assert one.bounds == pytest.approx([-end for end in reversed(other.bounds)])
    least, most = (100 * (after - before).mean() for before, after in (lowest, highest))
    assert one.bounds[0] <= least + 1e-9
    assert most - 1e-9 <= one.bounds[1]


def test_where_every_reply_was_parsed_there_are_no_bounds_and_equal_sides_have_p_1():
    same = np.tile([0.0, 1.0], (12, 1))
    assert (shift(same, same).bounds, shift(same, same).p) == (None, 1.0)


@pytest.mark.parametrize(("n_units", "least_p"), [(12, 2 / 2**12), (17, 1 / 101)])
def test_a_shift_of_every_unit_has_the_least_p(n_units, least_p):
    every = shift(np.zeros((n_units, 2)), np.ones((n_units, 2)))
    assert every.p == every.least_p == least_p

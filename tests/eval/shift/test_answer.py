"""The answer: laws of its rules, and how often it is right of simulated judges (a part of docs/results.md's table)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import norm

from bench.simulated_answers import Judge, Threads, verdicts
from eval.estimates.changes import Paired
from eval.estimates.estimate import Measure, Observed
from eval.estimates.resampling import Drawing
from eval.shift.answer import Shift, answer, contrasted, in_one_family, prediction_p, with_extremes
from evenhand.files import shipped_yaml

CASES = shipped_yaml(Path(__file__).with_name("cases.yaml"))


def shift(value, half=3.0, placebos=(), **keys):
    """A shift with its interval, significant where the interval excludes 0."""
    low, high = value - half, value + half
    of = {
        "measure": "shift",
        "condition": "expert",
        "dataset": "a",
        "n_units": 400,
        "p": 0.5 if low <= 0 <= high else 0,
    }
    return Shift(**{**of, "value": value, "low": low, "high": high, "placebos": tuple(placebos), **keys})


def turned(each):
    """The same shift the other way."""
    bounds = each.bounds and (-each.bounds[1], -each.bounds[0])
    ends = {"low": -each.high, "high": -each.low, "bounds": bounds}
    return replace(each, value=-each.value, **ends, placebos=tuple(-p for p in each.placebos))


shifts = st.lists(
    st.builds(
        shift,
        st.floats(-20, 20),
        st.floats(0.5, 8),
        placebos=st.lists(st.floats(-6, 6), max_size=8).map(tuple),
        is_average=st.booleans(),
        bounds=st.none() | st.tuples(st.floats(-30, 0), st.floats(0, 30)),
        n_units=st.sampled_from([40, 400]),
    ),
    min_size=1,
    max_size=6,
)


@given(shifts)
def test_turned_shifts_turn_the_direction_alone_and_a_yes_has_one_beyond_little_and_a_no_has_none(made):
    one, other = answer(made), answer([turned(each) for each in made])
    assert one.verdict == other.verdict
    assert one.direction == (other.direction and -other.direction)
    largest = max(abs(each.value) for each in made)
    assert one.verdict != "yes" or largest > 5
    assert one.verdict != "no" or largest <= 5


@pytest.mark.parametrize(("made", "verdict", "direction"), CASES["rules"])
def test_the_rules(made, verdict, direction):
    given_answer = answer([shift(**each) for each in made])
    assert (given_answer.verdict, given_answer.direction) == (verdict, direction)


def test_what_is_void_is_never_told_and_what_may_hide_a_shift_takes_a_no():
    assert answer([shift(20)], void=["margins of answers that it would not give"]).verdict == "cannot tell"
    assert answer([shift(20)], hidden=["saturated"]).verdict == "yes"
    assert answer([shift(0)], hidden=["saturated"]).verdict == "cannot tell"
    assert answer([]).verdict == "cannot tell"


def test_one_judge_among_many_must_be_further_from_0_and_from_its_placebos():
    by_units, by_floor = answer([shift(9, p=0.02)]), answer([shift(12, placebos=(-4, -2, 0, 2, 4))])
    assert (by_units.verdict, by_floor.verdict) == ("yes", "yes")
    others = {str(i): answer([shift(0)]) for i in range(5)}
    for alone, obstacle in ((by_units, "significance"), (by_floor, None)):
        together = in_one_family({"moved": alone, **others})
        assert (together["moved"].shifts[0].obstacle, together["0"].verdict) == (obstacle, "no")
        said = [of.over_judges for of in (alone, together["moved"], together["0"])]
        assert said == ["", ", p adjusted over 6 judges", ""], "where it decides"
    together = in_one_family({str(i): by_floor for i in range(6)})
    assert together["0"].shifts[0].obstacle == "floor"
    assert together["0"].least_beyond_floor > by_floor.least_beyond_floor


def test_a_framing_that_is_one_more_rewording_is_found_in_one_of_twenty():
    rng = np.random.default_rng(0)
    drawn = rng.normal(3, 4, (4_000, 9))  # a common shift of all rewordings is none of the framing's
    p = [prediction_p(shift(row[0], placebos=tuple(row[1:]))) for row in drawn]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize(
    ("half", "placebos", "detectable"), [(2, (), 5.86), (6, (), 9.90), (2, (-1, 1) * 4, 5.86), (2, (-2, 2) * 4, 7.95)]
)
def test_a_detectable_shift_makes_a_yes_in_80_percent(half, placebos, detectable):
    """Of three framings one moves the judge; the limit is the size that is little, Holm's level, or the floor."""
    others = [shift(0, half, condition=name, placebos=placebos) for name in "ab"]
    assert answer([shift(0, half, placebos=placebos), *others]).detectable == pytest.approx(detectable, abs=0.01)
    drawn = np.random.default_rng(0).normal(detectable, half / 1.96, 2_000)
    moved = [shift(value, half, p=2 * norm.sf(abs(value) * 1.96 / half), placebos=placebos) for value in drawn]
    yes = [answer([each, *others]).verdict == "yes" for each in moved]
    assert np.mean(yes) == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize(("kind", "keys", "word", "least", "most"), CASES["simulated"])
def test_of_simulated_judges_the_answer_is_right_as_often_as_the_docs_say(kind, keys, word, least, most):
    judge = {"Judge": Judge, "Threads": Threads}[kind](**keys)
    assert least <= verdicts(judge, n_runs=60)[word] / 60 <= most


def test_what_contains_a_shift_within_the_floor_makes_no_yes():
    moved = shift(20, placebos=(20, -20, 15, -15, 10))
    more = replace(moved, measure="changed", placebos=(0.1, 0, -0.1, 0, 0), contains=moved.measure)
    assert answer([more]).verdict == "yes"
    assert answer([moved, more]).verdict == "cannot tell"
    assert answer([replace(moved, condition="another"), more]).verdict == "yes"


def test_what_hangs_on_unparsed_replies_is_said_first_and_frees_nothing_that_contains_it():
    small, far = shift(4, bounds=(-1, 9)), shift(20, bounds=(-1, 30), placebos=(20, -20, 15, -15, 10))
    assert [answer([each]).shifts[0].obstacle for each in (small, far)] == ["unparsed"] * 2
    more = shift(20, measure="changed", contains="shift")
    assert answer([far, more]).verdict == "cannot tell"


def test_a_placebo_of_which_nothing_is_known_takes_no_yes_from_another_judge():
    unknown, known = (answer([shift(20, placebos=(0, 1, -1, 0.5, last))]) for last in (np.nan, -0.5))
    for names in (("unknown", "known"), ("known", "unknown")):
        together = in_one_family({name: {"unknown": unknown, "known": known}[name] for name in names})
        assert (together["known"].verdict, together["unknown"].shifts[0].p_floor) == ("yes", 1)


def test_of_shifts_both_ways_the_largest_of_either_sign_come_first():
    made = [shift(value, dataset=str(value)) for value in (9, 33, -7, 31, -23, 26)]
    assert [each.value for each in answer(made).of_datasets] == [33, -23, 31, 26, 9, -7]


@pytest.mark.parametrize(
    ("n_units", "least_p", "verdict", "way_out"),
    [(400, 1 / 101, "cannot tell", "--draws 120 "), (400, 1 / 121, "yes", ""), (7, 2 / 2**7, "cannot tell", "more")],
)
def test_where_no_p_of_the_family_can_be_small_the_answer_says_so(n_units, least_p, verdict, way_out):
    alone = answer([shift(20, p=least_p, least_p=least_p, n_units=n_units)])
    together = in_one_family({str(i): alone for i in range(6)})["0"]
    assert (alone.verdict, alone.too_few, together.verdict) == ("yes", "", verdict)
    assert bool(together.too_few) == (verdict != "yes") == np.isnan(together.detectable)
    assert way_out in together.too_few


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


def contrast(first, second, extremes=()):
    as_read = pair(first, second)
    whole = with_extremes(as_read, *(pair(*sides) for sides in extremes)) if extremes else as_read
    return contrasted(RATE, [whole], **FACTS)


@given(replies, replies)
def test_sides_that_are_exchanged_keep_p_and_turn_the_bounds_which_hold_both_extremes(first, second):
    lowest, highest = (np.maximum(first, second), second), (first, np.maximum(first, second))
    one, other = (contrast(first, second, (lowest, highest)), contrast(second, first, (highest[::-1], lowest[::-1])))
    assert one.p == other.p
    assert (one.bounds is None) == (other.bounds is None) == bool((first >= second).all() and (second >= first).all())
    if one.bounds is None or other.bounds is None:  # nothing is unparsed, and nothing differs
        assert one.p == 1
        return
    assert one.bounds == pytest.approx([-end for end in reversed(other.bounds)])
    least, most = (100 * (after - before).mean() for before, after in (lowest, highest))
    assert one.bounds[0] <= least + 1e-9
    assert most - 1e-9 <= one.bounds[1]


@pytest.mark.parametrize(("n_units", "least_p"), [(12, 2 / 2**12), (17, 1 / 101)])
def test_a_shift_of_every_unit_has_the_least_p(n_units, least_p):
    every = contrast(np.zeros((n_units, 2)), np.ones((n_units, 2)))
    assert every.p == every.least_p == least_p

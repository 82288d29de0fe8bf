"""Typed shifts of the narrator study: they are its scores, and their bounds hold whatever unparsed replies said."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from eval.estimates.resampling import Drawing
from studies.narrator.answers import shifts_of
from studies.narrator.measures import Setting, effects
from tests.made.narrator_judgments import judgment
from tests.made.places import cases

DRAWING = Drawing(n_draws=100, seed=1)


def shifts(judgments):
    run = SimpleNamespace(plan=judgments, name="run", judge="judge")
    setting = Setting(judgments[0].factors.task, "visible", "published")
    return {shift.condition: shift for shift in shifts_of(run, setting, "answered", DRAWING)}


def made(rng, task, lost):
    """Eight conversations under three narrators, each prompt with up to so large a share of unparsed replies."""
    judgments = []
    for i in range(8):
        for who in ("neutral", "attacker", "non_attacker"):
            weights = [rng.random() for _ in range(2 if task == "detection" else 3)]
            read = 1 - lost * rng.random()
            shares = [read * weight / sum(weights) for weight in weights]
            judgments.append(judgment(who, *shares, task=task, conversation=f"c{i}"))
    return judgments


@pytest.mark.parametrize(("task", "signs"), cases(__file__)["turned"])
def test_shifts_are_the_scores_turned_toward_the_narrator(task, signs):
    judgments = made(random.Random(1), task, 0.3)
    scores, typed = next(effects(judgments))[1], shifts(judgments)
    assert {*typed} == {*signs}
    for name, sign in signs.items():
        score, shift = scores[name], typed[name]
        wanted = [sign * score.value, *sorted((sign * score.low, sign * score.high))]
        assert [shift.value, shift.low, shift.high] == pytest.approx(wanted)


def filled(rng, each):
    """The judgment with its unparsed replies given to one option, or left as an answer that is no option."""
    shares, lost, place = list(each.shares), 1 - sum(each.shares), rng.randrange(len(each.shares))
    shares[place] += lost
    return replace(each, shares=tuple(shares))


@pytest.mark.parametrize("task", ["blame", "detection"])
def test_bounds_hold_the_intervals_of_whatever_unparsed_replies_said(task):
    rng = random.Random(2)
    judgments = made(rng, task, 0.4)
    bounds = {name: shift.bounds or (0.0, 0.0) for name, shift in shifts(judgments).items()}
    for _ in range(50):
        for name, shift in shifts([filled(rng, each) for each in judgments]).items():
            assert bounds[name][0] < shift.value < bounds[name][1]
            assert shift.bounds is None


def test_of_a_judge_that_was_parsed_whole_nothing_is_bounded_and_a_missing_narrator_leaves_no_shift():
    judgments = made(random.Random(3), "blame", 0.0)
    assert {shift.bounds for shift in shifts(judgments).values()} == {None}
    assert {*shifts([each for each in judgments if each.condition != "attacker"])} == {"delta_far"}

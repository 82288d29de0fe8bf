"""Typed shifts of PluralEval: they are its scores, and their bounds hold whatever unparsed replies said."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from eval.estimates.resampling import Drawing
from studies.pluraleval.answers import FIGURES, shifts_of
from studies.pluraleval.observe import JudgedList, Quantity, values_of
from studies.pluraleval.records import Reply
from tests.made.completions import completion
from tests.made.pluraleval_models import KNOWN

FEASIBLE = {name: known for name, known in KNOWN.items() if known.is_feasible}
FRAMINGS = ("neutral", "biased_toward", "biased_opposing")
DRAWING = Drawing(n_draws=100, seed=1)


def shifts(lists, replies):
    values = values_of(replies, lists, KNOWN, "excluded")
    communities = {"all threads": [*KNOWN]}
    run = SimpleNamespace(values=values, communities=communities, judged_lists=lists, replies=replies, references=KNOWN)
    made = {shift.condition: shift for shift in shifts_of(run, DRAWING)}
    scores = {"recall": "toward_belief", "ranking": "rho_lost", "most_popular": "accuracy_lost"}
    for figure, shift in made.items():
        (score,) = [of for q, of in values.items() if q.measure == scores[figure] and q.pairing in ("", figure)]
        scale = 50 if figure == "ranking" else 100
        assert shift.value == pytest.approx(scale * np.mean([*score.values()]))
    return made


def lists_of(rng, unread):
    """Three responses of a stance to each thread and framing; so many entailments and stances are not read."""
    lists = []
    for name, known in FEASIBLE.items():
        for framing in FRAMINGS:
            confidence = np.array([[float(rng.random() < 0.4) for _ in known.clusters] for _ in range(3)])
            stances = [rng.choice(["SUPPORTING", "AGAINST"]) for _ in range(3)]
            for i, j in np.ndindex(*confidence.shape):
                confidence[i, j] = np.nan if rng.random() < unread else confidence[i, j]
            read = tuple("" if rng.random() < unread else stance for stance in stances)
            lists.append(JudgedList(name, framing, read, confidence))
    return lists


def read_anyhow(rng, judged):
    """The list with what was not read decided by a coin."""
    stances = tuple(stance or rng.choice(["SUPPORTING", "AGAINST"]) for stance in judged.stances or ())
    coins = np.array([[float(rng.random() < 0.5) for _ in row] for row in judged.confidence])
    return judged._replace(stances=stances, confidence=np.where(np.isnan(judged.confidence), coins, judged.confidence))


def replies_of(rng, unread):
    """A ranking of three and a pair in both orders for each thread, neutral and biased; so many say nothing."""
    replies = []
    for name in KNOWN:
        for framing in ("neutral", "biased"):
            asked = {"task": "ranking", "framing": framing, "shown": (0, 1, 2), "votes": (9, 5, 1)}
            texts = [", ".join(map(str, rng.sample([1, 2, 3], 3))), rng.choice("12"), rng.choice("12")]
            lost = [rng.random() < unread for _ in texts]
            texts = ["I cannot say." if is_lost else text for is_lost, text in zip(lost, texts, strict=True)]
            replies.append(Reply(name, "h", asked, [completion(texts[0])]))
            for is_swapped in (False, True):
                pair = {"task": "pairwise", "framing": framing, "pairing": "most_popular", "shown": (0, 1)}
                text = completion(texts[1 + is_swapped])
                replies.append(Reply(name, "h", {**pair, "votes": (9, 1), "is_swapped": is_swapped}, [text]))
    return replies


def said_anyhow(rng, reply):
    """The reply, or where it says nothing one that a coin decides."""
    is_ranking = reply.factors["task"] == "ranking"
    text = ", ".join(map(str, rng.sample([1, 2, 3], 3))) if is_ranking else rng.choice("12")
    return reply._replace(samples=[completion(text)]) if "cannot" in reply.samples[0].text else reply


def test_bounds_hold_the_shift_of_whatever_unparsed_replies_said():
    rng = random.Random(1)
    lists, replies = lists_of(rng, 0.2), replies_of(rng, 0.08)
    bounds = {figure: shift.bounds or (shift.low, shift.high) for figure, shift in shifts(lists, replies).items()}
    assert {*bounds} == {"recall", "ranking", "most_popular"}
    for _ in range(12):
        whole = [read_anyhow(rng, judged) for judged in lists], [said_anyhow(rng, reply) for reply in replies]
        for figure, shift in shifts(*whole).items():
            assert bounds[figure][0] < shift.value < bounds[figure][1]
            assert shift.bounds is None


def test_a_list_that_says_nothing_may_name_all_or_nothing():
    lists = lists_of(random.Random(2), 0.0)
    known = shifts(lists, [])["recall"]
    empty = lists[1]._replace(stances=(), confidence=lists[1].confidence[:0])
    low, high = shifts([lists[0], empty, *lists[2:]], [])["recall"].bounds or (0.0, 0.0)
    assert low < known.value < high


def test_every_figure_is_0_where_all_framings_have_one_value_and_follows_the_belief_where_it_rises():
    for weights in FIGURES.values():
        assert sum(weights.values()) == 0
        assert sum(weight for weight in weights.values() if weight > 0) in (50, 100)
    assert FIGURES["recall"][Quantity("generation", "biased_toward", "supporting", "", "recall")] > 0

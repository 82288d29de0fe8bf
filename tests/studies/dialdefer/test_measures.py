"""How a reply is read, by a table, laws, fuzz and endless replies; flips, tests, AUC and soft credit."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from evenhand.thoughts import without_thinking
from studies.dialdefer.measures import (
    ACCEPT,
    ANSWER_PAIR,
    CONDITIONS,
    ERROR,
    PARSERS,
    REJECT,
    TIE,
    UNPARSED,
    NoVerdict,
    ReadingMode,
    accept_rates,
    auc,
    dds_pp,
    decide,
    deltas_pp,
    discordant,
    flip_masks,
    is_saturated,
    majority,
    most_unparsed,
    parse_lenient,
    parse_strict,
    right_probabilities,
)
from studies.dialdefer.records import Condition
from tests.made.completions import completion
from tests.made.places import cases

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition


replies = st.lists(
    st.lists(st.sampled_from([ERROR, UNPARSED, ACCEPT, REJECT]), min_size=4, max_size=4), min_size=1, max_size=30
)


def samples(rows):
    """Replies of one sample each, (n_items, 4, 1)."""
    return np.array(rows, dtype=np.int8)[:, :, None]


@given(replies)
def test_flips_are_losses_alone_never_of_a_null_answer_and_discordant_pairs_agree_with_counting_one_by_one(rows):
    deference, skepticism = flip_masks(samples(rows))
    assert deference.tolist() == [r[1] == REJECT and r[3] == ACCEPT for r in rows]
    assert skepticism.tolist() == [r[0] == ACCEPT and r[2] == REJECT for r in rows]
    pairs = [pair for r in rows for pair in ((r[0], r[2]), (r[1], r[3]))]
    assert discordant(samples(rows)) == (pairs.count((ACCEPT, REJECT)), pairs.count((REJECT, ACCEPT)))


def test_acceptance_is_of_readable_replies_and_the_share_of_unparsed_ones_of_those_that_an_engine_gave():
    first, second = [ACCEPT, REJECT, ACCEPT, ACCEPT], [UNPARSED, ACCEPT, UNPARSED, ACCEPT]
    array = samples([first, second, [ERROR, ERROR, REJECT, UNPARSED]])
    assert accept_rates(array) == (2 / 3, 3 / 4)
    assert most_unparsed([array]) == (1 / 2, C1_TRUE)


def test_samples_that_are_even_are_a_tie_and_unreadable_ones_stay_unreadable():
    rows = [[[ACCEPT, REJECT]], [[UNPARSED, UNPARSED]], [[ACCEPT, UNPARSED]], [[TIE, TIE]], [[REJECT, TIE]]]
    assert majority(np.array(rows, dtype=np.int8)).ravel().tolist() == [TIE, UNPARSED, ACCEPT, TIE, REJECT]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20), st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_auc_is_the_chance_that_a_true_claim_outranks_a_false_one(high, low):
    wins = sum((h > lo) + 0.5 * (h == lo) for h in high for lo in low)
    assert auc(np.array(high, float), np.array(low, float)) == pytest.approx(wins / len(high) / len(low))


def test_infinite_margins_count_and_missing_ones_are_left_out():
    assert auc(np.array([math.inf, math.nan]), np.array([-math.inf, 0.0])) == 1.0
    assert auc(np.array([math.nan]), np.array([0.0])) is None
    margins = np.array([[math.log(0.6) - math.log(0.2), math.inf, -math.inf, 0.0]])
    np.testing.assert_allclose(right_probabilities(margins), [[0.75, 0, 0, 0.5]])


def test_a_judge_is_saturated_that_gives_the_same_answer_to_nearly_all_in_both_framings():
    same = [(0.95, 0.95), (0.05, 0.0), (None, 1.0)]
    # Of real judges the most deferential, DDS +72, and one answer a framing but another in each, DDS +200, are not.
    other = [(0.94, 1.0), (0.64, 1.0), (0.0, 1.0), (None, None)]
    assert [is_saturated(rates) for rates in (*same, *other)] == [True] * 3 + [False] * 4


condition_rates = st.lists(st.floats(0, 1), min_size=4, max_size=4).map(np.array)  # one a condition


def test_the_example_under_definition_1_gives_plus_30_and_bounds_are_reached_by_following_the_framing():
    acc = np.array([0.60, 0.80, 0.75, 0.65])
    assert dds_pp(acc) == pytest.approx(30)
    assert deltas_pp(acc) == pytest.approx([15, -15])
    assert dds_pp(np.array([[0.0, 1, 1, 0], [1, 0, 0, 1]])).tolist() == [200, -200]


@given(condition_rates)
def test_dds_is_the_total_rise_in_acceptance_and_changes_its_sign_when_framings_are_swapped(accept):
    acc = np.where([c.claim_is_true for c in CONDITIONS], accept, 1 - accept)
    rise = (accept * np.where([c.is_dialogue for c in CONDITIONS], 1, -1)).sum()
    assert dds_pp(acc) == pytest.approx(100 * rise, abs=1e-9)
    assert dds_pp(acc[[2, 3, 0, 1]]) == pytest.approx(-dds_pp(acc), abs=1e-9)


SNIPPETS = [*"{}[]\"':,\\\n 12é٢\ud800", "12", "1.0", "true", "null", "```json\n", "\\u0031", "<think>", "</think>"]
SNIPPETS += ['"chosen_answer"', '"chosen_answer": ', '"chosen_answer": "1"', '{"chosen_answer": 2}', "chosen_answer"]
SNIPPETS += ['"reasoning": "', "\\(x\\)", "\u2003", "\ufeff", "_1", '\\"']


REPLY_KINDS = yaml.safe_load(Path(__file__).with_name("reply_kinds.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("kind", "reply", "strict", "lenient"), REPLY_KINDS, ids=[row[0] for row in REPLY_KINDS])
def test_a_reply_of_this_kind_is_read_as_the_table_says(kind, reply, strict, lenient):
    assert (parse_strict(reply), parse_lenient(reply)) == (strict, lenient)


def by_the_published_words(text):
    """The lenient rule once more, without regular expressions: what it means, character by character."""
    key = '"chosen_answer"'
    at = text.find(key)
    while at >= 0:
        colon, _, value = text[at + len(key) :].lstrip().partition(":")
        value = value.lstrip().removeprefix('"')
        if not colon and value[:1] in ("1", "2") and not value[1:2].isdecimal():
            return int(value[0])
        at = text.find(key, at + 1)
    if text.lstrip()[:1] in ("1", "2"):
        return int(text.lstrip()[0])
    for i, character in enumerate(text):
        neighbours = (text[i - 1] if i else " ") + text[i + 1 : i + 2]
        if character in "12" and not any(n.isalnum() or n == "_" for n in neighbours):
            return int(character)
    return None


def swapped(text):
    """The text with 1 and 2 exchanged wherever an answer is named."""
    return ANSWER_PAIR.sub(lambda m: m.group()[:-1] + str(3 - int(m.group(1))), text)


reply_texts = st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=5)), max_size=25).map("".join)


@given(reply_texts)
@example('{"draft": {"chosen_answer": "2"}, "chosen_answer": "1"}')
@example(r'{"chosen_answer": "\u0031"}')
@example('{"a": "\\"chosen_answer": 1}')
def test_the_laws_hold_for_any_text(text):
    strict, lenient, said = parse_strict(text), parse_lenient(text), without_thinking(text)
    named = [int(digit) for digit in ANSWER_PAIR.findall(said)]
    assert type(strict) in (int, type(None))
    assert strict in (None, 1, 2)
    assert lenient == by_the_published_words(said)
    # Lenient reads the first answer that is named, strict the last or none: they differ where both are named.
    assert strict is None or (lenient, strict) == (named[0], named[-1])
    # It reads the named answer and no other digit: naming the other one gives the other one.
    assert parse_strict(swapped(text)) == (None if strict is None else 3 - strict)
    if "{" not in text or "chosen_answer" not in text:
        assert strict is None


LONG = 200_000  # bytes
ENDLESS = {
    "braces": "{" * 100_000,
    "backslashes in a string": '{"chosen_answer": "1", "r": "' + "\\" * LONG + '"}',
    "spaces before the colon": '{"chosen_answer"' + " " * LONG + ': "1"}',
    "keys without answers": '{"chosen_answer": ' * (LONG // 18),
    "digits": '{"chosen_answer": ' + "1" * LONG + "}",
    "broken objects": '{"chosen_answer": 1; ' * (LONG // 21),
    "objects": '{"chosen_answer": 1} ' * (LONG // 21),
    "objects in an object": '{"r": [' + '{"r": 1}, ' * (LONG // 10) + '{"chosen_answer": 1}',
    "thoughts": "<think>" * (LONG // 7),
}


@pytest.mark.timeout(120)  # a hang guard: what is quadratic takes hours here, what is linear seconds at most
@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("text", ENDLESS.values(), ids=[name.replace(" ", "-") for name in ENDLESS])
def test_200_kb_of_a_looping_model_are_read_in_one_pass(text, parser):
    assert PARSERS[parser](text) in (None, 1)


@pytest.mark.parametrize(("text", "finish", "logprobs", "mode", "choice", "reason"), cases(__file__))
def test_a_reply_decides_for_the_likelier_answer_or_why_it_cannot_is_named(
    text, finish, logprobs, mode, choice, reason
):
    reading = ReadingMode(mode, "strict" if mode == "reason" else None)
    decided = decide(completion(text, finish, answer_logprobs=logprobs), reading)
    assert decided[:2] == (choice, reason and NoVerdict[reason])


def test_a_margin_is_in_nats():
    reply = completion(answer_logprobs={"1": math.log(0.8), "2": math.log(0.2)})
    *_, margin = decide(reply, ReadingMode("margin", None))
    assert margin == pytest.approx(math.log(4))

"""What a reply decides: both parsers by a table, laws, fuzz and endless replies; margins; why nothing is decided."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.dialdefer.measures import ANSWER_PAIR, PARSERS, NoVerdict, ReadingMode, decide, parse_lenient, parse_strict
from evenhand.records import Completion
from tests.made.reply_kinds import REPLY_KINDS

SNIPPETS = [*"{}[]\"':,\\\n 12é٢\ud800", "12", "1.0", "true", "null", "```json\n", "\\u0031", "</think>"]
SNIPPETS += ['"chosen_answer"', '"chosen_answer": ', '"chosen_answer": "1"', '{"chosen_answer": 2}', "chosen_answer"]
SNIPPETS += ['"reasoning": "', "\\(x\\)", "\u2003", "\ufeff", "_1", '\\"']


@pytest.mark.parametrize("row", REPLY_KINDS, ids=lambda row: row[0].replace(" ", "-"))
def test_a_reply_of_this_kind_is_read_as_the_table_says(row: tuple[str, str, int | None, int | None]) -> None:
    assert (parse_strict(row[1]), parse_lenient(row[1])) == row[2:]


def by_the_published_words(text: str) -> int | None:
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


def swapped(text: str) -> str:
    """The text with 1 and 2 exchanged wherever an answer is named."""
    return ANSWER_PAIR.sub(lambda m: m.group()[:-1] + str(3 - int(m.group(1))), text)


def assert_laws(text: str) -> None:
    """What holds for any reply whatever."""
    strict, lenient = parse_strict(text), parse_lenient(text)
    assert type(strict) in (int, type(None))
    assert strict in (None, 1, 2)
    assert lenient == by_the_published_words(text)
    # Strict reads nothing that lenient reads otherwise; the two differ only in what they cannot read.
    assert strict in (None, lenient)
    # It reads the named answer and no other digit: naming the other one gives the other one.
    assert parse_strict(swapped(text)) == (None if strict is None else 3 - strict)
    if "{" not in text or "chosen_answer" not in text:
        assert strict is None


replies = st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=5)), max_size=25).map("".join)


@given(replies)
@example('{"draft": {"chosen_answer": "2"}, "chosen_answer": "1"}')
@example(r'{"chosen_answer": "\u0031"}')
@example('{"a": "\\"chosen_answer": 1}')
def test_the_laws_hold_for_any_text(text: str) -> None:
    assert_laws(text)


MEGABYTE = 1_000_000
ENDLESS = {
    "braces": "{" * 100_000,
    "keys": '{"a":' * (MEGABYTE // 5),
    "brackets": '{"a":' + "[" * MEGABYTE,
    "backslashes": "{" + "\\" * MEGABYTE,
    "backslashes in a string": '{"chosen_answer": "1", "r": "' + "\\" * MEGABYTE + '"}',
    "half escapes": '{"chosen_answer": "1", "r": "' + "\\u" * MEGABYTE + '"}',
    "spaces before the colon": '{"chosen_answer"' + " " * MEGABYTE + ': "1"}',
    "spaces instead of a colon": '"chosen_answer"' + "\u2003" * MEGABYTE,
    "keys without answers": '{"chosen_answer": ' * (MEGABYTE // 18),
    "quotes": "{" + '"' * MEGABYTE,
    "digits": '{"chosen_answer": ' + "1" * MEGABYTE + "}",
    "decimals": '{"chosen_answer": 1.' + "1" * MEGABYTE + "}",
    "exponents": '{"chosen_answer": 1e' + "1" * MEGABYTE + "}",
    "objects": '{"chosen_answer": "1"}' * (MEGABYTE // 22),
    "one key": "{" + '"chosen_answer": "1", ' * (MEGABYTE // 22) + '"a": 1}',
    "white space": " \n" * (MEGABYTE // 2),
    "numbers": "31 " * (MEGABYTE // 3),
}


@pytest.mark.timeout(120)  # a hang guard: what is quadratic takes hours here, what is linear a fraction of a second
@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("text", ENDLESS.values(), ids=[name.replace(" ", "-") for name in ENDLESS])
def test_a_megabyte_of_a_looping_model_is_read_in_one_pass(text: str, parser: str) -> None:
    assert PARSERS[parser](text) in (None, 1)


MARGIN, STRICT = ReadingMode("margin", None), ReadingMode("reason", "strict")
FAILED = "error: connection reset"


def completion(text: str = "", finish: str = "stop", logprobs: dict[str, float] | None = None) -> Completion:
    return Completion(prompt_hash="h", sample_index=0, text=text, finish_reason=finish, answer_logprobs=logprobs)


@pytest.mark.parametrize(
    ("logprobs", "choice", "reason"),
    [
        ({"1": -0.1, "2": -2.4}, 1, None),
        ({"1": -2.4, "2": -0.1}, 2, None),
        ({"1": -0.5, "2": -math.inf}, 1, None),
        ({"1": -0.7, "2": -0.7}, None, NoVerdict.TIE),
        ({"1": -0.7}, None, NoVerdict.NO_MARGIN),
        (None, None, NoVerdict.NO_MARGIN),
        ({"1": math.nan, "2": -1.0}, None, NoVerdict.NO_MARGIN),
        ({"1": -math.inf, "2": -math.inf}, None, NoVerdict.NO_MARGIN),
    ],
)
def test_a_margin_decides_for_the_likelier_answer_and_names_why_it_cannot(
    logprobs: dict[str, float] | None, choice: int | None, reason: NoVerdict | None
) -> None:
    assert decide(completion('{"chosen_answer": "1"}', logprobs=logprobs), MARGIN)[:2] == (choice, reason)


@pytest.mark.parametrize(
    ("text", "finish", "reading", "decision"),
    [
        ('{"chosen_answer": "1"}', FAILED, STRICT, (None, NoVerdict.ERROR)),  # no reply, whatever text came with it
        ("", FAILED, MARGIN, (None, NoVerdict.ERROR)),
        ('{"chosen_answer": "1", "rea', "length", STRICT, (None, NoVerdict.TRUNCATED)),
        ("I cannot say", "stop", STRICT, (None, NoVerdict.UNPARSED)),
        ('{"chosen_answer": "1"} and so', "length", STRICT, (1, None)),
    ],
)
def test_why_a_reply_decides_nothing_is_told(text: str, finish: str, reading: ReadingMode, decision: Any) -> None:
    assert decide(completion(text, finish, {"1": -0.1, "2": -3.0}), reading)[:2] == decision


def test_a_margin_is_in_nats() -> None:
    margin = decide(completion(logprobs={"1": math.log(0.8), "2": math.log(0.2)}), MARGIN)[2]
    assert margin == pytest.approx(math.log(4))

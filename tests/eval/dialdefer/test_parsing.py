"""Both parsers: the table of reply kinds, laws between them, fuzz, and replies that go on for a megabyte."""

import json
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.dialdefer.parsing import ANSWER_PAIR, PARSERS, parse_lenient, parse_strict
from tests.made.reply_kinds import REPLY_KINDS

N_MUTATIONS = 12_000
SNIPPETS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ":",
    ",",
    "\\",
    "\n",
    " ",
    "1",
    "2",
    "12",
    "1.0",
    "true",
    "null",
    "é",
    "٢",
    "\ud800",
]
SNIPPETS += [
    '"chosen_answer"',
    '"chosen_answer": ',
    '"chosen_answer": "1"',
    '{"chosen_answer": 2}',
    "```json\n",
    "\\u0031",
]
SNIPPETS += ['"reasoning": "', "</think>", "chosen_answer", "\\(x\\)", "\u2003", "\ufeff", "_1", '\\"']


@pytest.mark.parametrize(
    ("reply", "strict", "lenient"),
    [row[1:] for row in REPLY_KINDS],
    ids=[row[0].replace(" ", "-") for row in REPLY_KINDS],
)
def test_a_reply_of_this_kind_is_read_as_the_table_says(reply: str, strict: int | None, lenient: int | None) -> None:
    assert parse_strict(reply) == strict
    assert parse_lenient(reply) == lenient


def test_the_table_is_worth_its_name() -> None:
    kinds = [row[0] for row in REPLY_KINDS]
    assert len(kinds) == len(set(kinds)) >= 40
    assert len({row[1] for row in REPLY_KINDS}) == len(REPLY_KINDS)
    read = [(strict, lenient) for _, _, strict, lenient in REPLY_KINDS]
    assert all(strict in (None, lenient) for strict, lenient in read)  # the law below holds for the table itself


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


def test_the_laws_hold_for_twelve_thousand_damaged_replies() -> None:
    rng = random.Random(0)
    n_strict = 0
    for _ in range(N_MUTATIONS):
        text = mutated(rng.choice(REPLY_KINDS)[1][:400], rng)
        assert_laws(text)
        n_strict += parse_strict(text) is not None
    assert 1000 < n_strict < N_MUTATIONS - 1000  # the damage is neither too little nor too much to tell anything


def mutated(text: str, rng: random.Random) -> str:
    """The text with one or two edits: something cut out, put in, repeated, or moved to the front."""
    for _ in range(rng.randint(1, 2)):
        start, end = sorted(rng.randint(0, len(text)) for _ in range(2))
        end = min(end, start + 12)
        edit = rng.randrange(4)
        if edit == 0:
            text = text[:start] + text[end:]
        elif edit == 1:
            text = text[:start] + rng.choice(SNIPPETS) + text[start:]
        elif edit == 2:
            text = text[:end] + text[start:end] + text[end:]
        else:
            text = text[start:] + text[:start]
    return text


@given(st.sampled_from([1, 2]), st.text(max_size=100), st.booleans(), st.booleans(), st.booleans())
def test_any_reasoning_leaves_a_valid_object_readable(
    choice: int, reasoning: str, as_text: bool, ascii_only: bool, fenced: bool
) -> None:
    content = {"chosen_answer": str(choice) if as_text else choice, "reasoning": reasoning}
    reply = json.dumps(content, ensure_ascii=ascii_only)
    assert parse_strict(f"```json\n{reply}\n```" if fenced else reply) == choice
    assert parse_lenient(reply) == choice


@given(st.sampled_from([1, 2]), st.text(alphabet="\\(){}[]x12 \n\tsqrtfn.", max_size=60))
def test_stray_backslashes_in_the_reasoning_change_nothing(choice: int, latex: str) -> None:
    reply = f'{{"chosen_answer": "{choice}", "reasoning": "{latex} "}}'
    assert parse_strict(reply) == choice


@given(st.text(max_size=60).filter(lambda t: "{" not in t and "chosen_answer" not in t), st.sampled_from([1, 2]))
def test_words_around_the_object_change_nothing(words: str, choice: int) -> None:
    assert parse_strict(f'{words}{{"chosen_answer": {choice}}}{words}') == choice


@given(st.text(max_size=200).filter(lambda t: "chosen_answer" not in t))
def test_the_strict_parser_reads_nothing_where_no_answer_is_named(text: str) -> None:
    assert parse_strict(text) is None
    assert parse_strict(json.dumps({"answer": text, "1": 2})) is None


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

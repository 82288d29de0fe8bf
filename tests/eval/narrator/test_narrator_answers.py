"""Replies of the narrator study → options or named states; and how well the reader agrees with replies read by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.narrator.answers import STATES, Answer, read_answer
from studies.narrator.prompts import NO, YES
from tests.made.narrator_replies import CUT, REPLY_KINDS
from tests.made.narrator_reply_table import ReadReply, hard_replies, read_by_hand

NAMES = st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=2, max_size=6, unique=True)
WORDLIKE = st.from_regex(r"[A-Z][a-z]{3,8}[0-9]{1,3}", fullmatch=True)
AROUND = [
    "{}.",
    "**{}**",
    "The answer is {}.",
    "Answer: **{}**\n\nIt was.",
    "I think it is {}, because",
    "« {} »",
    "- {}",
]


@pytest.mark.parametrize(("options", "reply", "says"), [k[1:] for k in REPLY_KINDS], ids=[k[0] for k in REPLY_KINDS])
def test_a_reply_is_read_as_specified(options, reply, says):
    answer = read_answer(reply.removesuffix(CUT), options, "length" if reply.endswith(CUT) else "stop")
    assert (answer.option or f"<{answer.state}>") == says
    assert (answer.state == "chosen") == (answer.option is not None)


@given(NAMES, st.booleans(), st.data())
def test_what_the_schema_of_a_prompt_lets_through_is_read_to_the_letter(names, is_ascii, data):
    options = tuple(dict.fromkeys(name.strip() for name in names))
    option = data.draw(st.sampled_from(options))
    assert read_answer(json.dumps(option, ensure_ascii=is_ascii), options, "length") == Answer("chosen", option)


def test_an_engine_error_is_no_answer():
    assert read_answer("Ann", ("Ann", "Bob"), "error: out of memory") == Answer("error")


@pytest.mark.parametrize("reply", ["Yes, no doubt about it.", "No doubt. Yes, it does."])
def test_no_doubt_is_no_no(reply):
    assert read_answer(reply, (YES, NO)) == Answer("chosen", YES)


@given(NAMES, st.data())
def test_an_option_repeated_to_the_letter_is_that_option(options, data):
    option = data.draw(st.sampled_from([o.strip() for o in options]))
    stripped = tuple(dict.fromkeys(o.strip() for o in options))
    assert read_answer(option, stripped) == Answer("chosen", option)


@given(st.lists(WORDLIKE, min_size=2, max_size=6, unique_by=str.casefold), st.sampled_from(AROUND), st.data())
def test_typography_around_a_name_changes_nothing(options, around, data):
    option = data.draw(st.sampled_from(options))
    assert read_answer(around.format(option), options) == Answer("chosen", option)


@given(NAMES, st.text(max_size=60), st.sampled_from(["stop", "length"]))
def test_any_reply_is_read_and_only_options_are_chosen(options, reply, finish):
    answer = read_answer(reply, tuple(options), finish)
    assert answer.state in STATES
    assert answer.option is None or answer.option in options


@pytest.mark.parametrize("reply", ["(" * 20000, "the answer is " * 5000, "Ann " * 5000, "not " * 5000 + "Ann"])
def test_a_reply_that_loops_is_read_in_no_time(reply):
    assert read_answer(reply, ("Ann", "Bob")).state in STATES


@pytest.mark.parametrize("piece", ["Ann and ", "very ", "in the ", "not ", "Ann was by ", "nobody ", '"', "'", "\n"])
def test_pieces_that_loop_are_read_in_linear_time(piece):
    assert read_answer(piece * 4000 + "Bob", ("Ann", "Bob")).state in STATES


AGREEMENT = 0.97
ROWS = read_by_hand()


def read_of(row: ReadReply) -> str:
    """What the reader says, as the table writes it."""
    answer = read_answer(row.reply, row.options, row.finish_reason)
    return answer.option or f"<{answer.state}>"


def test_the_reader_names_nobody_whom_a_human_does_not_name():
    read_rows = [(row, read_of(row)) for row in ROWS]
    assert [(row, says) for row, says in read_rows if says in row.options and says != row.reading] == []


def test_the_reader_agrees_with_a_human():
    agreeing = [row for row in ROWS if read_of(row) == row.reading]
    assert len(agreeing) >= AGREEMENT * len(ROWS)


def test_no_name_that_stands_elsewhere_is_taken_for_an_answer():
    rows = hard_replies()
    assert len(rows) > 500
    read_rows = [(reply, names, read_answer(reply, options).option) for options, reply, names in rows]
    assert [(reply, option) for reply, names, option in read_rows if option is not None and option not in names] == []

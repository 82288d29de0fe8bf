"""Replies of the narrator study → options or named states; and how well the reader agrees with replies read by hand."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eval.narrator.answers import STATES, Answer, read_answer
from tests.made.narrator_replies import CUT, REPLY_KINDS

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
def test_an_option_to_the_letter_and_what_the_schema_of_a_prompt_lets_through_is_that_option(names, is_ascii, data):
    options = tuple(dict.fromkeys(name.strip() for name in names))
    option = data.draw(st.sampled_from(options))
    assert read_answer(option, options) == Answer("chosen", option)
    assert read_answer(json.dumps(option, ensure_ascii=is_ascii), options, "length") == Answer("chosen", option)


def test_an_engine_error_is_no_answer():
    assert read_answer("Ann", ("Ann", "Bob"), "error: out of memory") == Answer("error")


@given(st.lists(WORDLIKE, min_size=2, max_size=6, unique_by=str.casefold), st.sampled_from(AROUND), st.data())
def test_typography_around_a_name_changes_nothing(options, around, data):
    option = data.draw(st.sampled_from(options))
    assert read_answer(around.format(option), options) == Answer("chosen", option)


@given(NAMES, st.text(max_size=60), st.sampled_from(["stop", "length"]))
def test_any_reply_is_read_and_only_options_are_chosen(options, reply, finish):
    answer = read_answer(reply, tuple(options), finish)
    assert answer.state in STATES
    assert answer.option is None or answer.option in options


@pytest.mark.parametrize(
    "piece", ["(", "the answer is ", "Ann and ", "very ", "in the ", "not ", "Ann was by ", "nobody ", '"', "'", "\n"]
)
def test_pieces_that_loop_are_read_in_linear_time(piece):
    assert read_answer(piece * 4000 + "Bob", ("Ann", "Bob")).state in STATES


def groups(name: str) -> list[dict]:
    """replies.yaml or hard_replies.yaml, which explain themselves."""
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def test_the_reader_agrees_with_a_human_and_names_nobody_whom_a_human_does_not_name():
    read = []
    for group in groups("replies.yaml"):
        finish = "length" if group.get("cut") else "stop"
        for reply, reading in group["replies"]:
            answer = read_answer(reply, group["options"], finish)
            read.append((reply, reading, answer.option or f"<{answer.state}>"))
            assert answer.option in (None, reading), reply
    assert len(read) == 650
    assert sum(reading == says for _, reading, says in read) >= 0.97 * len(read)


def test_no_name_that_stands_elsewhere_is_taken_for_an_answer():
    hard = [(group["options"], *reply) for group in groups("hard_replies.yaml") for reply in group["replies"]]
    assert len(hard) > 500
    read = [(reply, names, read_answer(reply, options).option) for options, reply, names in hard]
    assert [(reply, option) for reply, names, option in read if option is not None and option not in names] == []

"""Replies of the narrator study → options or named states, whoever is called Me; and how well the reader agrees with
replies read by hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.files import shipped_yaml
from studies.narrator.prompts import ME
from studies.narrator.replies import STATES, Answer, read_answer

NAMES = st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=2, max_size=6, unique=True)


def groups(name):
    """A YAML file beside this one, which explains itself."""
    return shipped_yaml(Path(__file__).with_name(name))


KINDS = [(kind, group["options"], *row) for group in groups("reply_kinds.yaml") for kind, *row in group["replies"]]


@pytest.mark.parametrize(("kind", "options", "reply", "says"), KINDS, ids=[row[0] for row in KINDS])
def test_a_reply_is_read_as_specified(kind, options, reply, says):
    answer = read_answer(reply.removesuffix("✂"), options, "length" if reply.endswith("✂") else "stop")
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


def test_the_reader_agrees_with_a_human_and_names_nobody_whom_a_human_does_not_name():
    read = []
    for group in groups("replies.yaml"):
        finish = "length" if group.get("cut") else "stop"
        for reply, reading in group["replies"]:
            answer = read_answer(reply, group["options"], finish)
            read.append((reply, reading, answer.option or f"<{answer.state}>"))
            assert answer.option in (None, reading), reply
    assert len(read) == 655
    assert sum(reading == says for _, reading, says in read) >= 0.955 * len(read)


def test_no_name_that_stands_elsewhere_is_taken_for_an_answer():
    hard = [(group["options"], *reply) for group in groups("hard_replies.yaml") for reply in group["replies"]]
    assert len(hard) > 500
    read = [(reply, names, read_answer(reply, options).option) for options, reply, names in hard]
    assert [(reply, option) for reply, names, option in read if option is not None and option not in names] == []
    assert sum(names == [option] for _, names, option in read) >= 0.58 * sum(len(names) == 1 for _, names, _ in read)


FRAMES = groups("frames.yaml")
GENITIVE = {"you": "your", "You": "Your", "I": "my", "me": "my", "Me": "Me's", "the narrator": "the narrator's"}
STRANGE = ["J. R. Smith", "J.delanoy", "Some_Name", "192.168.0.1", "Will", "The Rambling Man", "小明", "José"]
ANY_NAME = st.sampled_from(STRANGE) | st.from_regex(r"[A-Z][a-z]{3,8}[0-9]{0,3}", fullmatch=True)


def said(frame, who, other):
    """A frame with its names in it."""
    for place, name in (("0", who), ("1", other)):
        frame = frame.replace(f"{{{place}}}", name).replace(f"{{{place}'s}}", GENITIVE.get(name, f"{name}'s"))
    return frame[:1].upper() + frame[1:] if who not in frame[: len(who)] else frame


def read(reply, who, other):
    """How a reply is read; the speaker who may be Me is always called Me."""
    answer = read_answer(reply, (who, other, "Third Person"))
    return Answer(answer.state, ME) if answer.option == who else answer


@given(st.sampled_from(FRAMES["any_person"] + FRAMES["only_names"]), ANY_NAME, ANY_NAME)
def test_a_name_is_read_as_me_is(frame, name, other):
    if name.casefold() == other.casefold():
        return
    assert read(said(frame, ME, other), ME, other) == read(said(frame, name, other), name, other)


@pytest.mark.parametrize("person", ["you", "You", "I", "me", "the narrator"])
@pytest.mark.parametrize("frame", FRAMES["any_person"])
def test_you_and_i_are_read_as_me_is(frame, person):
    assert read(said(frame, person, "Bob"), ME, "Bob") == read(said(frame, ME, "Bob"), ME, "Bob")

"""A reply says one option or none: as a careful reader would find, and never what somebody else says in it."""

import json
import re
from itertools import product
from pathlib import Path

import pytest

from bench.replies import outcome
from eval.reading.reader import CUT, NONE, PATTERN, WHOLE, Reading, read, valid_pattern
from evenhand.files import shipped_yaml
from tests.made.places import SHARED

REPLIES = shipped_yaml(Path(__file__).with_name("replies.yaml"))
ROWS = [(kind, *row[:2], row[2] if row[2:] else None) for kind, of in REPLIES["kinds"].items() for row in of["replies"]]
CASES = shipped_yaml(Path(__file__).with_name("cases.yaml"))
AB, NUMBERS, TEN = ("A", "B"), ("1", "2"), tuple(map(str, range(1, 11)))


@pytest.mark.parametrize(("kind", "text", "symbol", "special"), ROWS)
def test_a_reply_is_read_as_a_careful_reader_reads_it(kind, text, symbol, special):
    symbols, texts = REPLIES["kinds"][kind]["symbols"], REPLIES["kinds"][kind]["texts"]
    reading = read(text, symbols, texts, quotable=REPLIES["framings"].get(special, ""), is_cut=special == "cut")
    assert (None if reading.place is None else symbols[reading.place]) == symbol


@pytest.mark.parametrize("text", [text for kind, text, *_ in ROWS if kind == "letters"])
def test_the_order_of_the_symbols_does_not_matter(text):
    if re.search("first|second", text):  # which are places
        return
    assert read(text, AB[::-1]).place == {0: 1, 1: 0, None: None}[read(text, AB).place]


FRAMING = "A professor who has taught this for twenty years says that the answer is {other}."
MANNERS = shipped_yaml(Path(__file__).with_name("manners.yaml"))


@pytest.mark.parametrize(("manner", "own"), product(MANNERS, AB))
def test_what_a_speaker_says_is_never_the_judges_answer(manner, own):
    other = AB[own == "A"]
    framing = FRAMING.format(other=other)
    whole = manner.format(own=own, other=other)
    assert read(whole, AB, quotable=framing).place == AB.index(own)
    for end in range(20, len(whole), 7):  # cut off anywhere, it says the same or nothing
        assert read(whole[:end], AB, quotable=framing, is_cut=True).place in (AB.index(own), None), whole[:end]


@pytest.mark.parametrize(("text", "symbols", "place", "evidence"), CASES["evidence"])
def test_a_reading_names_its_evidence_or_why_there_is_none(text, symbols, place, evidence):
    assert read(text, symbols) == Reading(place, evidence)


def test_a_reply_that_was_cut_off_could_have_become_another_symbol():
    assert read("1", TEN, is_cut=True) == Reading(None, CUT)
    assert read("1", NUMBERS, is_cut=True) == Reading(0, WHOLE)


@pytest.mark.parametrize(("pattern", "text", "symbols", "place"), CASES["patterns"])
def test_the_last_match_of_a_studys_own_pattern_counts(pattern, text, symbols, place):
    assert read(text, symbols, pattern=valid_pattern(pattern)) == Reading(place, NONE if place is None else PATTERN)


@pytest.mark.parametrize("pattern", ["(", "(a)(b)"])
def test_a_pattern_that_cannot_name_one_answer_is_refused(pattern):
    with pytest.raises(ValueError, match=re.escape(pattern)):
        valid_pattern(pattern)


LOOPS = ("A, B, ", "答案是", "my final verdict ", "overall: ", "final ", '{"a": ', "no, ", "better is ", "I, ", "(A) ")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["{", "the answer ", "A or B, ", '{"answer": ', "so so ", "A ", '"', "1. ", *LOOPS])
def test_200_kb_of_a_looping_model_are_read_in_no_time(piece):
    assert read(piece * (200_000 // len(piece)), AB, is_cut=True).place is None


REPLY_FILES = sorted((SHARED / "cases" / "replies").glob("[!t]*.jsonl"))  # taxonomy's are read by its study


@pytest.mark.parametrize("file", REPLY_FILES, ids=lambda file: file.stem)
def test_no_case_is_read_as_another_answer(file):
    outcomes = [outcome(json.loads(line), file.stem)[1] for line in file.open(encoding="utf-8")]
    most_lost = 0.15 if file.stem == "narrator" else 0.05
    assert "wrong" not in outcomes
    assert outcomes.count("lost") <= most_lost * len(outcomes)

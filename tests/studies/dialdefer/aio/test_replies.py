"""What is read from texts and done to them: redaction and transcripts."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.files import shipped_yaml
from studies.dialdefer.aio.pii import MARK, redact
from studies.dialdefer.aio.replies import dialogue, transcript_in, turns_in
from tests.made.places import cases

HERE = Path(__file__).parent
PLANTED, HARMLESS = (shipped_yaml(HERE / f"{name}.yaml") for name in ("personal", "harmless"))
MISSED = {"handle": ["marigold", "lunarmoth"], "name": ["Will Henderson"]}  # what is not seen
STAY = {"mrs", "the", "snap", "insta", "dot", "com", "iban"}  # kept beside the mark


def plain(text):
    """(the text without the outer brackets, what stood in them)."""
    inner = re.search(r"\[(.*)\]", text)
    assert inner
    return text.replace(inner[0], inner[1]), inner[1]


def is_hidden(text, planted):
    """Whether no word of what was planted is left; words of up to two letters tell nobody apart."""
    left = redact(text).replace(MARK, " ")
    words = [word for word in re.split(r"[^\w]+", planted) if len(word) > 2 and word.lower() not in STAY]
    return not any(re.search(rf"\b{re.escape(word)}\b", left) for word in words)


def test_what_is_seen_of_each_kind_and_what_is_not():
    for kind, texts in PLANTED.items():
        missed = [inner for text, inner in map(plain, texts) if not is_hidden(text, inner)]
        assert missed == MISSED.get(kind, []), kind


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_stay_as_they_are(text):
    assert redact(text) == text


@given(st.text())
def test_any_text_can_be_redacted_and_any_reply_is_a_transcript_or_dropped(text):
    assert isinstance(redact(text), str)
    assert set(transcript_in(text)) in ({"dropped"}, {"turns"})


GOOD = '{"messages": [{"speaker": "Speaker A", "text": "hi there"}, {"speaker": "Speaker B", "text": "oh, hello"}]}'
TURNS = [("Speaker A", "hi there"), ("Speaker B", "oh, hello")]


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}",
        GOOD.replace("}]}", "},]}"),  # a trailing comma
        GOOD.removesuffix('"}]}'),  # cut off within a text: an unclosed quote
        f"Here is the transcript:\n{GOOD}",
    ],
)
def test_whole_json_is_taken_as_it_is_and_broken_json_is_repaired(reply):
    assert transcript_in(reply) == {"turns": TURNS}


@pytest.mark.parametrize("label", ["Speaker A", "speaker a", "SPEAKER A:", "Speaker_A", "speaker-1", "A", "User 1"])
def test_labels_are_normalised_neighbours_merged_and_line_breaks_go(label):
    messages = [(label, "one\ntwo"), ("A", "three"), ("B", "Speaker B: four"), ("B", " "), ("A", "five")]
    reply = json.dumps({"messages": [{"speaker": who, "text": text} for who, text in messages]})
    merged = [("Speaker A", "one two three"), ("Speaker B", "four"), ("Speaker A", "five")]
    assert transcript_in(reply)["turns"] == merged


@pytest.mark.parametrize(("reply", "why"), cases(__file__)["no_transcript"])
def test_what_is_no_transcript_is_dropped_with_its_reason(reply, why):
    assert transcript_in(reply) == {"dropped": why}


def test_a_dialogue_is_read_back_as_people_edit_it():
    assert turns_in(dialogue(TURNS)) == TURNS
    edited = "Speaker A: hi\nthere\n\nSpeaker A: you\nSpeaker B: yes: no"
    assert dialogue(turns_in(edited)) == "Speaker A: hi there you\nSpeaker B: yes: no"
    with pytest.raises(ValueError, match="must begin with"):
        turns_in("hello\nSpeaker A: hi")

"""A vision model's reply → turns: JSON broken as models break it, labels in their spellings, and the filters."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.dialdefer.aio.records import Dropped, Transcript, Turn
from studies.dialdefer.aio.transcripts import (
    LEAST_ENGLISH,
    MOST_TURNS,
    dialogue,
    english_rate,
    swapped,
    transcript_in,
    turns_in,
    unfit,
)

GOOD = '{"messages": [{"speaker": "Speaker A", "text": "hi there"}, {"speaker": "Speaker B", "text": "oh, hello"}]}'
TURNS = [("Speaker A", "hi there"), ("Speaker B", "oh, hello")]


def turns_of(reply: str) -> list[tuple[str, str]]:
    found = transcript_in(reply, None)
    assert isinstance(found, Transcript), found
    return [(turn.speaker, turn.text) for turn in found.turns]


def is_repaired(reply: str) -> bool:
    found = transcript_in(reply, None)
    return isinstance(found, Transcript) and found.repaired


@pytest.mark.parametrize("reply", [GOOD, f"```json\n{GOOD}\n```", f"```\n{GOOD}\n```", f"\n {GOOD}\n"])
def test_whole_json_is_taken_as_it_is(reply):
    assert turns_of(reply) == TURNS
    assert not is_repaired(reply)


def test_half_a_surrogate_pair_becomes_a_mark_that_a_file_can_hold():
    assert turns_of(GOOD.replace("hi there", r"hi \ud83d there")) == [("Speaker A", "hi \ufffd there"), TURNS[1]]
    assert turns_of(GOOD.replace("hi there", r"hi \ud83d\ude00")) == [("Speaker A", "hi \U0001f600"), TURNS[1]]


@pytest.mark.parametrize(
    "reply",
    [
        GOOD.replace("}]}", "},]}"),  # a trailing comma
        GOOD.removesuffix("]}"),  # cut off behind a message
        GOOD.removesuffix('"}]}'),  # within a text: an unclosed quote
        GOOD.replace('"speaker"', "speaker"),
        GOOD.replace('"', "'"),
        f"Here is the transcript:\n{GOOD}",
        f"{GOOD}\nI hope that this helps!",
        f"```json\n{GOOD}",
    ],
)
def test_broken_json_is_repaired_and_said_to_be(reply):
    assert turns_of(reply) == TURNS
    assert is_repaired(reply) or reply.startswith("```json")


@pytest.mark.parametrize(
    "label", ["Speaker A", "speaker a", "SPEAKER A:", "Speaker_A", "speaker-1", "A", "User 1", "a."]
)
def test_labels_are_normalised(label):
    reply = json.dumps({"messages": [{"speaker": label, "text": "hi"}, {"speaker": "Speaker B", "text": "yo"}]})
    assert turns_of(reply)[0] == ("Speaker A", "hi")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ('{"messages": []}', "no conversation of two"),
        ("There is no chat in the picture.", "reply without a list of messages"),
        ("", "reply without a list of messages"),
        ("[]", "reply without a list of messages"),
        ('{"messages": "none"}', "reply without a list of messages"),
        ('{"messages": ["hi"]}', "message without a text"),
        ('{"messages": [{"speaker": "Speaker A"}]}', "message without a text"),
        ('{"messages": [{"speaker": "Speaker C", "text": "x"}]}', "more than two speakers, or one without a label"),
        ('{"messages": [{"speaker": null, "text": "x"}]}', "more than two speakers, or one without a label"),
    ],
)
def test_what_is_no_transcript_is_dropped_with_its_reason(reply, why):
    assert transcript_in(reply, None) == Dropped(dropped=why)


def test_neighbours_of_one_speaker_are_merged_and_line_breaks_go():
    messages = [("A", "one\ntwo"), ("A", "three"), ("B", "Speaker B: four"), ("B", " "), ("A", "five")]
    reply = json.dumps({"messages": [{"speaker": who, "text": text} for who, text in messages]})
    assert turns_of(reply) == [("Speaker A", "one two three"), ("Speaker B", "four"), ("Speaker A", "five")]


@given(st.text())
def test_any_reply_is_a_transcript_or_dropped(reply):
    assert isinstance(transcript_in(reply, None), Transcript | Dropped)


def made_turns(n: int, text: str = "and then you said that they were there") -> list[Turn]:
    return [Turn(speaker="Speaker A" if number % 2 else "Speaker B", text=text) for number in range(n)]


@pytest.mark.parametrize(
    ("n", "why"), [(3, "fewer than 4 turns"), (4, ""), (37, ""), (38, f"more than {MOST_TURNS} turns")]
)
def test_length_is_filtered_by_the_range_of_table_13(n, why):
    assert unfit(made_turns(n)) == why


@pytest.mark.parametrize(
    "text",
    [
        "me dijiste que ibas a venir a la fiesta y no viniste",
        "warum hast du mich nicht angerufen, ich war so in Sorge",
        "ik was in de stad en we gingen over de brug, me moeder is er ook",
        "pourquoi tu me dis pas la vérité, on a parlé de ça",
        "mi hai detto che non vieni, me ne vado a casa, no problem",
        "почему ты не пришёл",
        "",
    ],
)
def test_other_languages_are_filtered(text):
    assert english_rate(text) < LEAST_ENGLISH
    assert unfit(made_turns(6, text)) == "not English"


@pytest.mark.parametrize(
    "text",
    ["I was there and u didnt even text me back lol", "lol nah i can’t rn maybe tmrw", "k. Whatever. HAVE FUN then"],
)
def test_chats_in_english_are_kept(text):
    assert english_rate(text) > 3 * LEAST_ENGLISH


def test_a_dialogue_is_read_back_as_people_edit_it():
    turns = made_turns(5)
    assert turns_in(dialogue(turns)) == turns
    edited = "Speaker A: hi\nthere\n\nSpeaker A: you\nSpeaker B: yes: no"
    assert dialogue(turns_in(edited)) == "Speaker A: hi there you\nSpeaker B: yes: no"
    assert dialogue(swapped(turns_in(edited))) == "Speaker B: hi there you\nSpeaker A: yes: no"
    with pytest.raises(ValueError, match="must begin with"):
        turns_in("hello\nSpeaker A: hi")

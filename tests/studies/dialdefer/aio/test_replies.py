"""What is read from texts and done to them: redaction, transcripts, labels, neutral contexts."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.files import shipped_yaml
from studies.dialdefer.aio.items import copies
from studies.dialdefer.aio.pii import MARK, redact
from studies.dialdefer.aio.replies import cleaned, dialogue, neutral, pattern_label, transcript_in, turns_in, unfit

HERE = Path(__file__).parent
PLANTED, HARMLESS, COMMENTS, NEUTRAL = (
    shipped_yaml(HERE / f"{name}.yaml") for name in ("personal", "harmless", "comments", "neutral")
)
MISSED = {  # what is not seen
    "handle": ["marigold", "lunarmoth"],
    "name": ["Will Henderson"],
}
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


def test_the_authors_of_a_thread_are_masked_wherever_they_are_named_and_marks_are_spelled_alike():
    text = redact("Postersname said it, @postersname! postersnames [ Redacted ]", ["postersname", ""])
    assert text == f"{MARK} said it, {MARK}! postersnames {MARK}"


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


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ('{"messages": []}', "no conversation of two"),
        ("There is no chat in the picture.", "reply without a list of messages"),
        ('{"messages": [{"speaker": "Speaker A"}]}', "message without a text"),
        ('{"messages": [{"speaker": "Speaker C", "text": "x"}]}', "more than two speakers, or one without a label"),
    ],
)
def test_what_is_no_transcript_is_dropped_with_its_reason(reply, why):
    assert transcript_in(reply) == {"dropped": why}


def made_turns(n, text="and then you said that they were there"):
    return [("Speaker A" if number % 2 else "Speaker B", text) for number in range(n)]


@pytest.mark.parametrize(("n", "why"), [(3, "fewer than 4 turns"), (4, ""), (37, ""), (38, "more than 37 turns")])
def test_length_is_filtered_by_the_range_of_table_13(n, why):
    assert unfit(made_turns(n)) == why


def test_other_languages_are_filtered():
    for text in (
        "me dijiste que ibas a venir a la fiesta y no viniste",
        "warum hast du mich nicht angerufen, ich war so in Sorge",
        "pourquoi tu me dis pas la vérité, on a parlé de ça",
        "",
    ):
        assert unfit(made_turns(6, text)) == "not English", text


def test_a_dialogue_is_read_back_as_people_edit_it():
    assert turns_in(dialogue(made_turns(5))) == made_turns(5)
    edited = "Speaker A: hi\nthere\n\nSpeaker A: you\nSpeaker B: yes: no"
    assert dialogue(turns_in(edited)) == "Speaker A: hi there you\nSpeaker B: yes: no"
    with pytest.raises(ValueError, match="must begin with"):
        turns_in("hello\nSpeaker A: hi")


@pytest.mark.parametrize("row", COMMENTS, ids=lambda row: row["text"][:40])
def test_a_comment_gets_the_printed_label_and_its_doubts(row):
    label, doubts = pattern_label(row["text"]) or (None, ())
    assert (label, set(doubts)) == (row.get("label"), set(row.get("doubts", ())))


NARRATION = (
    "Speaker A said that the trip dinner was late, and he left. she cried again because of it! why now? USA miner "
    "family hiking 2 pm “ok” mission"
)
WHO = st.sampled_from(["I", "i", "me", "Me", "my", "mine", "myself", "MY", "I'm", "I’ve", "I'd", "I'll", "im", "Ive"])
PLAIN = st.sampled_from(NARRATION.split(" "))
ASIDE = st.sampled_from(['"I hate my job"', "“we are done with me”", '"my bad"'])
AIO = st.sampled_from(
    ["AIO", "AIO?", "aio", "r/AIO", "Am I overreacting?", "I wonder if I overreact", "AIO:", "r/AmIOverreacting"]
)
texts = st.lists(WHO | PLAIN | ASIDE | AIO, min_size=1, max_size=40).map(" ".join)
FIRST = re.compile(r"\b(?:I|i|me|my|mine|myself|we|us|our|ours|ourselves|im|ive)\b(?!\.)", re.IGNORECASE)


@given(texts)
def test_no_first_person_and_no_aio_gets_through_and_cleaning_twice_changes_nothing_more(text):
    clean, held = neutral(text)
    assert cleaned(clean) == clean
    if not held:
        assert not FIRST.search(re.sub(r'"[^"\n]*"|“[^”\n]*”', "", clean).replace("US", ""))
        assert not re.search(r"\baio\b|overreact", clean, re.IGNORECASE)
        assert clean


@given(st.lists(PLAIN | ASIDE, min_size=1, max_size=30).map(" ".join))
def test_a_neutral_text_stays_as_it_is_but_for_its_blanks(text):
    assert neutral(f"Then {text}") == (f"Then {text}", ())


@pytest.mark.parametrize(("text", "expected"), NEUTRAL)
def test_what_the_rules_do(text, expected):
    assert neutral(text) == (expected, ())


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("We had plans.", ("We",)),
        ("AIO?", ("empty",)),
        ('He wrote "' + "I am sorry and we should talk " * 20 + '"', ("we",)),
    ],
)
def test_what_holds_a_text_back(text, held):
    assert neutral(text)[1] == held


LONG = "I told you three times that the keys lie under the blue pot by the door, and you never listen"


@pytest.mark.parametrize("place", ["title", "body", "comment", "message"])
@pytest.mark.parametrize(
    ("text", "context", "is_copy"),
    [
        (f"{LONG} also buy bread", f"Speaker A wrote '{LONG}'.", True),  # another bubble beside it
        (LONG.replace("keys lie", "keys  lie"), LONG.upper(), True),
        (LONG, "Speaker A said that the keys were by the door, annoyed that Speaker B had not listened.", False),
        ("AIO? The keys lie under the blue pot", "So the keys lie under the blue pot.", True),  # the whole of it
        ("Under the blue pot", "The keys lie under the blue pot.", False),  # too short to be found by
    ],
)
def test_a_context_that_repeats_a_long_stretch_or_the_whole_of_a_text_is_known(place, text, context, is_copy):
    said = {"title": "x", "body": "y", "comment": "z", "message": "hello", place: text}
    record = {"c2_input": f"Speaker A: hi\nSpeaker B: {said['message']}", "context": context}
    assert copies(record, {**said, "comments": [{"text": said["comment"]}]}) == is_copy

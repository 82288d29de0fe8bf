"""A vision model's reply → the turns of a conversation, and the filters on them (B.1.3, B.1.4). Needs json-repair."""

import json
import re
from collections.abc import Sequence
from typing import Any

from evenhand.errors import ConfigError
from studies.dialdefer.aio.pii import redact, word_lists
from studies.dialdefer.aio.records import OTHER, POSTER, Dropped, Speaker, Transcript, Turn

FEWEST_TURNS, MOST_TURNS = 4, 37  # the range of Table 13; the paper does not print its thresholds
LEAST_ENGLISH = 0.05  # share of words that are function words of English alone; English chats have about a third
FENCE = re.compile(r"^\s*```(?:json)?\s*(.*?)\s*(?:```\s*)?$", re.DOTALL | re.IGNORECASE)
LABEL = re.compile(r"\W*(?:(?:speaker|person|user|participant)[\s_-]*)?([ab12])\W*", re.IGNORECASE)
SPEAKERS: dict[str, Speaker] = {"a": "Speaker A", "1": "Speaker A", "b": "Speaker B", "2": "Speaker B"}
LINE = re.compile(r"(Speaker [AB]):[ \t]*(.*)")


class NoTranscript(Exception):
    """Why a reply is no transcript, in words for the report."""


def transcript_in(reply: str, answered_by: str | None) -> Transcript | Dropped:
    """The conversation in a reply, redacted, neighbours of one speaker merged; Dropped where there is none."""
    try:
        messages, repaired = messages_in(reply)
        if not messages:
            return Dropped(dropped="no conversation of two")
        bubbles = [bubble(message) for message in messages]
    except NoTranscript as reason:
        return Dropped(dropped=str(reason))
    counts: dict[str, int] = {}
    turns = []
    for turn in merged([one for one in bubbles if one.text]):
        clean = redact(turn.text)
        counts = {kind: counts.get(kind, 0) + clean.counts[kind] for kind in {**counts, **clean.counts}}
        turns.append(Turn(speaker=turn.speaker, text=clean.text))
    return Transcript(
        turns=tuple(turns), n_bubbles=len(messages), repaired=repaired, redacted=counts, answered_by=answered_by
    )


def messages_in(reply: str) -> tuple[list[Any], bool]:
    """(the list `messages` of the JSON in a reply, whether it had to be repaired). Raises NoTranscript."""
    found, repaired = object_in(reply)
    messages = found.get("messages")
    if not isinstance(messages, list):
        raise NoTranscript("reply without a list of messages")
    return messages, repaired


def object_in(reply: str) -> tuple[dict[str, Any], bool]:
    """(the JSON object in a reply, whether it had to be repaired); an empty one where there is none."""
    try:
        from json_repair import repair_json
    except ImportError:
        raise ConfigError(
            "reading replies needs json-repair, which is not installed: pip install --no-deps -r requirements/aio.lock"
        ) from None
    fenced = FENCE.match(reply)
    text = fenced[1] if fenced else reply
    try:
        found, repaired = json.loads(text, strict=False), False
    except (ValueError, RecursionError):
        start = text.find("{")
        found, repaired = (repair_json(text[start:], return_objects=True) if start >= 0 else None), True
    if isinstance(found, list):  # words behind the object become objects of their own
        found = next((part for part in found if isinstance(part, dict)), None)
    return (without_halves(found), repaired) if isinstance(found, dict) else ({}, True)


def without_halves(found: dict[str, Any]) -> dict[str, Any]:
    """JSON whose halves of surrogate pairs, which no file can hold, are U+FFFD."""
    text = json.dumps(found, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    whole: dict[str, Any] = json.loads(text)
    return whole


def bubble(message: object) -> Turn:
    """One message with its label normalised and its line breaks gone. Raises NoTranscript."""
    if not isinstance(message, dict) or not isinstance(message.get("text"), str):
        raise NoTranscript("message without a text")
    label = LABEL.fullmatch(str(message.get("speaker")))
    if label is None:
        raise NoTranscript("more than two speakers, or one without a label")
    speaker = SPEAKERS[label[1].lower()]
    text = " ".join(message["text"].split())
    return Turn(speaker=speaker, text=text.removeprefix(f"{speaker}:").strip())


def merged(bubbles: Sequence[Turn]) -> list[Turn]:
    """The bubbles with those of one speaker in a row joined by a blank."""
    turns: list[Turn] = []
    for one in bubbles:
        if turns and turns[-1].speaker == one.speaker:
            one = Turn(speaker=one.speaker, text=f"{turns.pop().text} {one.text}")
        turns.append(one)
    return turns


def unfit(turns: Sequence[Turn]) -> str:
    """Why a conversation is filtered out; empty where it is kept."""
    if len(turns) < FEWEST_TURNS:
        return f"fewer than {FEWEST_TURNS} turns"
    if len(turns) > MOST_TURNS:
        return f"more than {MOST_TURNS} turns"
    if english_rate(" ".join(turn.text for turn in turns)) < LEAST_ENGLISH:
        return "not English"
    return ""


def english_rate(text: str) -> float:
    """The share of function words of English, and of no other language, among a text's words; 0 where it has none."""
    words = re.findall(r"[^\W\d_]+", re.sub(r"['’]", "", text.lower()))
    lists = word_lists()
    return sum(word in lists["english"] and word not in lists["shared"] for word in words) / max(len(words), 1)


def dialogue(turns: Sequence[Turn]) -> str:
    """The conversation as prompts show it (B.3.3)."""
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)


def turns_in(text: str) -> list[Turn]:
    """The turns of a dialogue that a person edited; a line without a label goes on with the one before it.

    Raises ValueError where the first line has no label.
    """
    bubbles: list[Turn] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if found := LINE.fullmatch(line):
            bubbles.append(Turn.model_validate({"speaker": found[1], "text": found[2].strip()}))
        elif bubbles:
            bubbles.append(Turn(speaker=bubbles[-1].speaker, text=line))
        else:
            raise ValueError("the dialogue must begin with `Speaker A:` or `Speaker B:`")
    return merged([one for one in bubbles if one.text])


def swapped(turns: Sequence[Turn]) -> list[Turn]:
    """The same conversation with the two labels changed over."""
    return [turn.model_copy(update={"speaker": POSTER if turn.speaker == OTHER else OTHER}) for turn in turns]

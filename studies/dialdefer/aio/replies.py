"""What a vision model replies, and what people make of it → turns of a conversation (B.1.3, B.3.3)."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from studies.dialdefer.aio.pii import patterns_of, redact

POSTER, OTHER = "Speaker B", "Speaker A"  # in the finished set Speaker B is always the original poster
SWAPPED = {POSTER: OTHER, OTHER: POSTER}
Turn = tuple[str, str]  # who, and what they say until the other does
REPLIES = patterns_of("replies")


def transcript_in(reply: str) -> dict[str, Any]:
    """{"turns"} of the conversation in a reply, redacted; {"dropped": why} where there is none."""
    messages = object_in(reply).get("messages")
    if not isinstance(messages, list):
        return {"dropped": "reply without a list of messages"}
    bubbles = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("text"), str):
            return {"dropped": "message without a text"}
        label = REPLIES["speaker"].fullmatch(str(message.get("speaker")))
        if label is None:
            return {"dropped": "more than two speakers, or one without a label"}
        speaker = OTHER if label[1].lower() in "a1" else POSTER
        bubbles.append((speaker, " ".join(message["text"].split()).removeprefix(f"{speaker}:").strip()))
    if not bubbles:
        return {"dropped": "no conversation of two"}
    return {"turns": [(speaker, redact(text)) for speaker, text in merged(bubbles)]}


def object_in(reply: str) -> dict[str, Any]:
    """The JSON object in a model's reply, repaired where it is broken; empty where there is none."""
    from json_repair import repair_json

    fenced = REPLIES["fence"].match(reply)
    text = fenced[1] if fenced else reply
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = repair_json(text[text.find("{") :], return_objects=True) if "{" in text else None
    if isinstance(value, list):  # words behind the object become objects of their own
        value = next((part for part in value if isinstance(part, dict)), None)
    if not isinstance(value, dict):
        return {}
    # Halves of surrogate pairs, which no file can hold, become U+FFFD.
    whole = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.loads(whole)  # type: ignore[no-any-return]


def merged(bubbles: Sequence[Turn]) -> list[Turn]:
    """Turns: the bubbles that say something, those of one speaker in a row joined by a blank."""
    speaking = (bubble for bubble in bubbles if bubble[1])
    turns = groupby(speaking, key=lambda bubble: bubble[0])
    return [(speaker, " ".join(text for _, text in of_turn)) for speaker, of_turn in turns]


def dialogue(turns: Sequence[Turn]) -> str:
    """The conversation as prompts show it (B.3.3)."""
    return "\n".join(f"{speaker}: {text}" for speaker, text in turns)


def turns_in(text: str) -> list[Turn]:
    """The turns of a dialogue that a person edited; a line without a label goes on with the one before it.

    Raises ValueError where the first line has no label.
    """
    bubbles: list[Turn] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if labelled := REPLIES["line"].fullmatch(line):
            bubbles.append((labelled[1], labelled[2].strip()))
        elif bubbles:
            bubbles.append((bubbles[-1][0], line))
        else:
            raise ValueError("the dialogue must begin with `Speaker A:` or `Speaker B:`")
    return merged(bubbles)

"""The prompts of the study, from prompts.yaml: the paper's nine, and ours where it prints none."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.files import shipped_yaml
from evenhand.records import Message, object_schema

TEMPLATE_VERSION = 1  # of the paper's prompts
OWN_VERSION = 1  # of ours

Messages = tuple[Message, ...]


@cache
def templates() -> dict[str, dict[str, str]]:
    """Name → the system's turn and the user's."""
    texts: dict[str, dict[str, str]] = shipped_yaml(Path(__file__).with_name("prompts.yaml"))
    return texts


def ask(name: str, **texts: object) -> Messages:
    """The prompt of a name with the texts that its user's turn names. What is filled in is not read as a template."""
    template = templates()[name]
    content = template["user"].format(**texts)
    return (Message(role="system", content=template["system"]), Message(role="user", content=content))


def numbered(summaries: Sequence[str], between: str = "\n\n") -> str:
    """ "1. ..." and so on."""
    return between.join(f"{number}. {summary}" for number, summary in enumerate(summaries, start=1))


def snippets(opinions: Sequence[str]) -> str:
    """A JSON array, one opinion a line: whatever an opinion says, it stays one string of it."""
    return json.dumps(list(opinions), indent=2, ensure_ascii=False)


def as_string(text: str) -> str:
    """A text as a JSON string: on one line, with its quotes escaped."""
    return json.dumps(text, ensure_ascii=False)


def judgement(name: str, post: str, opinion: str, response: str) -> Messages:
    """What a judge says of an opinion and a response, or a summary in its place: a stance, or entailment."""
    return ask(name, post=post, opinion=as_string(opinion), response=as_string(response))


def array(items: dict[str, Any], **limits: int) -> dict[str, Any]:
    """The JSON schema of an array. Without maxItems, a small model may repeat entries until its reply is cut."""
    return {"type": "array", "items": items, **limits}


EXTRACTION_SCHEMA = object_schema({"opinions": array({"type": "string"}, maxItems=20)})


def clustering_schema(opinions: Sequence[str]) -> str:
    """Prompt 8's reply: arrays of these very strings, in an object, since OpenAI's strict mode takes no bare array."""
    length = {"minItems": 1, "maxItems": len(opinions)}
    return object_schema({"clusters": array(array({"type": "string", "enum": list(opinions)}, **length), **length)})

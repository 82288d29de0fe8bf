"""A judge's reply in JSON, as every study reads it: nothing is raised, and what is of no use has a named state."""

import json
import re
from collections.abc import Callable
from typing import Any

from evenhand.records import Completion

OK = "ok"
MALFORMED = "malformed"  # not of the form that was asked for
CUT = "cut"  # the same, because the reply reached its longest length
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)


def json_in(text: str) -> Any:
    """The JSON value of a reply: all of it, in a fence, or from its first bracket; None when there is none."""
    fenced = FENCE.match(text)
    stripped = (fenced[1] if fenced else text).strip()
    start = re.search(r"[\[{]", stripped)
    readings: list[Callable[[], Any]] = [lambda: json.loads(stripped)]
    if start:
        readings.append(lambda: json.JSONDecoder(strict=False).raw_decode(stripped, start.start())[0])
    for reading in readings:
        try:
            return reading()
        except (ValueError, RecursionError):  # a looping model can nest brackets, or write digits, without end
            continue
    return None


def said(reply: Completion) -> str:
    """A reply without the thinking before it (appendix A.3); nothing where the thinking does not end.

    Some chat templates open the thinking in the prompt, so that only its end is in the reply.
    """
    _, ended, after = reply.text.rpartition("</think>")
    if ended:
        return after
    return "" if after.lstrip().startswith("<think>") else after


def broken(reply: Completion) -> str:
    """Why a reply is not of the form that was asked for."""
    return CUT if reply.finish_reason == "length" else MALFORMED


def last_object_with(text: str, key: str) -> Any:
    """The value of a key in the last whole JSON object of a text that has it; None where none has."""
    decoder, value, start = json.JSONDecoder(strict=False), None, text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            value = found[key] if isinstance(found, dict) and key in found else value
        start = text.find("{", end)
    return value

"""A reply to a framed prompt as the place of the symbol that it names: what sampling goes on from and eval counts."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.records import Completion
from studies.json_replies import last_value, said

CHOSEN, TIE, UNREAD, ERROR = "chosen", "tie", "unread", "error"
KEYS = ("chosen_answer", "answer")  # of a reasoned reply
EDGES = " \t\r\n\"'`*_.:()[]{}"
ANNOUNCED = re.compile(
    r"\b(?:answer|verdict|choice|score|rating)\b[\s*_\"'`]*(?:is\b|:|=)[\s*_\"'`(\[]*", re.IGNORECASE
)


class Choice(NamedTuple):
    """Which symbol a reply names, by its place; None with the reason why there is none."""

    place: int | None
    state: str = CHOSEN


def choice_in(reply: Completion, symbols: Sequence[str], verdict: str) -> Choice:
    """What a reply says. Of log-probabilities the likeliest symbol, and none where two are equally likely.

    A reasoned reply is its last JSON object with the key chosen_answer or answer. A free reply names a symbol alone, at
    its beginning, or behind its last "answer:"; one that names another beside it there is not read.
    """
    if reply.is_error:
        return Choice(None, ERROR)
    if reply.answer_logprobs is not None:
        logs = [reply.answer_logprobs.get(symbol) for symbol in symbols]
        known = [log for log in logs if log is not None]
        if len(known) < len(logs):
            return Choice(None, UNREAD)
        return Choice(None, TIE) if known.count(max(known)) > 1 else Choice(known.index(max(known)))
    text = said(reply)
    name = named_in_object(text) if verdict == "reason" else named_in_text(text, symbols)
    return Choice(symbols.index(name)) if name in symbols else Choice(None, UNREAD)


def named_in_object(text: str) -> str | None:
    """The value of the verdict's key in the last object that has one."""
    values = (last_value(text, key) for key in KEYS)
    return next((value.strip() for value in values if value), None)


def named_in_text(text: str, symbols: Sequence[str]) -> str | None:
    """The one symbol that a free reply gives as its answer; None where it gives none, or several."""
    named = "|".join(re.escape(symbol) for symbol in sorted(symbols, key=len, reverse=True))
    whole = re.compile(rf"(?<![\w.,-])(?:{named})(?![\w-]|[.,]\d)")
    lines = [line for line in text.strip().splitlines() if line.strip(EDGES)]
    places = [*ANNOUNCED.finditer(text)]
    behind = text[places[-1].end() :].partition("\n")[0] if places else ""
    for line in filter(None, (behind, *lines[:1])):
        found = {*whole.findall(line)}
        starts = whole.match(line.lstrip(EDGES))
        if starts and (len(found) == 1 or line.strip(EDGES) == starts[0]):
            return starts[0]
    return None

"""A reply to a framed prompt as the place of the symbol that it names: what sampling goes on from and eval counts."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.records import Completion
from eval.reading.objects import last_value, without_thinking

CHOSEN, TIE, UNPARSED, ERROR = "chosen", "tie", "unparsed", "error"
KEYS = ("chosen_answer", "answer")  # of a reasoned reply
EDGES = " \t\r\n\"'`*_.:()[]{}"
ANNOUNCED = re.compile(
    r"\b(?:answer|verdict|choice|score|rating)\b[\s*_\"'`]*(?:is\b|:|=)[\s*_\"'`(\[]*", re.IGNORECASE
)
# What may stand behind a symbol that begins a line and is its answer; a number and a full stop can be that of a list.
BEHIND = re.compile(r"[\"'`*_)\]]*(?:\s*[,;:—–]|\s-\s|[.!]?\s*$)")
OUT_OF = re.compile(r"\s*(?:/|out\s+of)\s*(\d+)")


class Choice(NamedTuple):
    """Which symbols a reply names, by their places: one, several where they are tied, or none and why."""

    places: tuple[int, ...]
    state: str = CHOSEN

    @property
    def place(self) -> int | None:
        """The one symbol; None where there is none, or a tie."""
        return self.places[0] if self.state == CHOSEN else None


def choice_in(reply: Completion, symbols: Sequence[str], verdict: str, texts: Sequence[str] = ()) -> Choice:
    """What a reply says. Of log-probabilities the likeliest symbols; two that are equally likely are a tie.

    A reasoned reply is its last JSON object with the key chosen_answer or answer. A free reply is a symbol alone, or
    with the text that it stands for (texts), or followed by a comma or the like, in its first line or behind its last
    "answer:"; of a scale also "8/10". One that names another symbol there is unparsed.
    """
    if reply.is_error:
        return Choice((), ERROR)
    if reply.answer_logprobs is not None:
        logs = [reply.answer_logprobs.get(symbol) for symbol in symbols]
        finite = [log for log in logs if log is not None]
        if len(finite) < len(logs):
            return Choice((), UNPARSED)
        places = tuple(place for place, log in enumerate(finite) if log == max(finite))
        return Choice(places, CHOSEN if len(places) == 1 else TIE)
    text = without_thinking(reply.text)
    name = named_in_object(text) if verdict == "reason" else named_in_text(text, symbols, texts)
    return Choice((symbols.index(name),)) if name in symbols else Choice((), UNPARSED)


def named_in_object(text: str) -> str | None:
    """The value of the verdict's key in the last object that has one."""
    values = (last_value(text, key) for key in KEYS)
    return next((value.strip() for value in values if value), None)


def named_in_text(text: str, symbols: Sequence[str], texts: Sequence[str]) -> str | None:
    """The one symbol that a free reply gives as its answer; None where it gives none, or several."""
    named = "|".join(re.escape(symbol) for symbol in sorted(symbols, key=len, reverse=True))
    has_one_case = len({symbol.casefold() for symbol in symbols}) == len(symbols) and min(map(len, symbols)) > 1
    how = re.IGNORECASE if has_one_case else 0  # of letters alone "a" is a word
    whole = re.compile(rf"(?<![\w.,/-])(?:{named})(?![\w-]|[.,]\d)", how)
    spelled = {symbol.casefold() if has_one_case else symbol: symbol for symbol in symbols}
    lines = [line for line in text.strip().splitlines() if line.strip(EDGES)]
    places = [*ANNOUNCED.finditer(text)]
    behind = text[places[-1].end() :].partition("\n")[0] if places else ""
    for line in filter(None, (behind, *lines[:1])):
        begun = line.strip().lstrip(EDGES)
        start = whole.match(begun)
        if start is None:
            same = [
                symbol for symbol, answer in zip(symbols, texts, strict=False) if words_only(answer) == words_only(line)
            ]
            return same[0] if len(same) == 1 else None
        symbol, rest = spelled[start[0].casefold() if has_one_case else start[0]], begun[start.end() :]
        if (limit := OUT_OF.match(rest)) and limit[1] == symbols[-1] and symbols[-1].isdecimal():
            rest = rest[limit.end() :]
        rivals = {*whole.findall(rest)} - {start[0]}
        is_text = bool(texts) and words_only(rest).startswith(words_only(texts[symbols.index(symbol)]))
        if is_text or (not rivals and BEHIND.match(rest)):
            return symbol
    return None


def words_only(text: str) -> str:
    """A text as it is compared: words and digits alone, in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))

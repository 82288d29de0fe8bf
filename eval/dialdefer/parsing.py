"""A reply's text → 1 (accepts the claim), 2 (rejects it) or None. Two rules, never mixed: strict and lenient."""

import json
import re
from typing import Any

ANSWERS = {"1": 1, "2": 2}

ANSWER_PAIR = re.compile(r'"chosen_answer"\s*:\s*"?([12])(?!\d)')
STANDALONE = re.compile(r"\b([12])\b")
# A backslash that opens no JSON escape, as in "\(x\)" or "\sqrt": models write LaTeX into the reasoning.
ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')


def parse_strict(text: str) -> int | None:
    """1 or 2 when the reply's one JSON object says so, else None. Nothing is guessed.

    The object is read at the first brace, so a code fence or a sentence before it does no harm. Its `chosen_answer`
    must be "1", "2", 1 or 2 and occur once at its top level, and nothing else in the reply, inside the object or around
    it, may name another one. Tolerated, because they cannot change the answer: raw newlines and stray backslashes
    inside strings, words around the object.

    Whatever this parser reads, the lenient one reads alike: the two differ only in what they cannot read.
    """
    start = text.find("{")
    if start < 0:
        return None
    body = with_escapes(text[start:])
    try:
        # The hook sees each object's pairs before they become a dict, so a repeated key is not overwritten unseen.
        answers, _ = json.JSONDecoder(strict=False, object_pairs_hook=answers_of).raw_decode(body)
    except (ValueError, RecursionError):  # a looping model can nest braces for ever
        return None
    choice = ANSWERS.get(answers[0]) if len(answers) == 1 else None
    # The object's own answer is among those named, unless its spelling hides it behind \u escapes.
    return choice if {ANSWERS[answer] for answer in ANSWER_PAIR.findall(text)} == {choice} else None


def reasoning_in(text: str) -> str:
    """What a reasoned reply says for its verdict: its `reasoning`, or all of it where there is no such text."""
    start = text.find("{")
    try:
        found, _ = json.JSONDecoder(strict=False).raw_decode(with_escapes(text[start:] if start >= 0 else ""))
    except (ValueError, RecursionError):
        return text.strip()
    said = found.get("reasoning") if isinstance(found, dict) else None
    return said.strip() if isinstance(said, str) and said.strip() else text.strip()


def with_escapes(text: str) -> str:
    """JSON in which each stray backslash stands for itself."""
    return ESCAPE.sub(lambda m: m.group() if len(m.group()) > 1 else r"\\", text)


def answers_of(pairs: list[tuple[str, Any]]) -> list[str]:
    """Every value of an object's own `chosen_answer` keys as text; no other value has the text of an answer."""
    return [str(value) for key, value in pairs if key == "chosen_answer"]


def parse_lenient(text: str) -> int | None:
    """1 or 2 by the published rule, else None. It guesses: "Speaker 2 is right" reads as 2 (a rejection).

    The first `"chosen_answer": 1|2` (string or integer) anywhere; else the reply's first character when that is 1 or 2;
    else the first 1 or 2 that stands alone.
    """
    pair = ANSWER_PAIR.search(text)
    if pair:
        return ANSWERS[pair.group(1)]
    leading = text.lstrip()[:1]
    if leading in ANSWERS:
        return ANSWERS[leading]
    alone = STANDALONE.search(text)
    return ANSWERS[alone.group(1)] if alone else None


PARSERS = {"strict": parse_strict, "lenient": parse_lenient}

"""JSON in replies, and replies without thoughts: nothing is raised, and what is of no use has a named state."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from evenhand.records import Completion
from evenhand.thoughts import without_thinking

OK = "ok"
MALFORMED = "malformed"  # not of the form that was asked for
CUT = "cut"  # the same, because the reply reached its longest length
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)
MOST_OBJECTS, MOST_BROKEN = 1_000, 100  # of a model that does not stop
OBJECT = re.compile(r"\{(?=\s*[\"}])")
STRAIGHT = str.maketrans("“”„‘’", '"""\'\'')
# A key and its value in what is not quite JSON; what stands in quotes is a value where the next thing follows.
NEXT = r"(?=\s*(?:[,}\]\n]|\Z|//|#|/\*|[\"']\w+[\"']\s*:))"
LOOSE_VALUE = rf"(?:\"([^\"\n]*)\"{NEXT}|'([^'\n]*)'{NEXT}|([^,}}\n\"']{{1,80}}))"
LOOSE_PAIR = re.compile(rf"[\"'{{,\n/\s]([A-Za-z][\w ]{{2,30}}?)[\"']?\s*[:=]\s*{LOOSE_VALUE}")
# A backslash that opens no JSON escape, as in "\(x\)" or "\sqrt": models write LaTeX into the reasoning.
ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')


def json_in(text: str) -> Any:
    """The JSON value of a reply: all of it, in a fence, or from its first bracket; None when there is none."""
    fenced = FENCE.match(text)
    stripped = (fenced[1] if fenced else text).strip()
    with suppress(ValueError, RecursionError):  # a looping model can nest brackets, or write digits, without end
        return json.loads(stripped)
    first_bracket = len(re.split(r"[\[{]", stripped, maxsplit=1)[0])
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder(strict=False).raw_decode(stripped, first_bracket)[0]
    return None


def as_turn(reply: Completion) -> str:
    """A reply as a turn of the chat that goes on behind it: the likeliest answer, or its text without thoughts."""
    if reply.answer_logprobs:
        return max(reply.answer_logprobs, key=lambda answer: (reply.answer_logprobs or {})[answer])
    return without_thinking(reply.text).strip()


class Pairs(list[tuple[str, Any]]):
    """A JSON object with its keys as often as they are written."""


def whole_objects(text: str) -> Iterator[tuple[Pairs, int, int]]:
    """(object, start, end) of each outermost whole JSON object of a text of with_escapes; raw newlines do no harm."""
    decoder, n_broken, end = json.JSONDecoder(strict=False, object_pairs_hook=Pairs), 0, 0
    for _ in range(MOST_OBJECTS):
        if not (opens := OBJECT.search(text, end)):
            break
        try:
            value, end = decoder.raw_decode(text, opens.start())
            yield value, opens.start(), end
        except ValueError:
            n_broken, end = n_broken + 1, opens.end()
            if n_broken > MOST_BROKEN:
                break
        except RecursionError:  # a looping model can nest braces for ever, and each of them would fail so
            break


def values_of(text: str, is_key: Callable[[str], bool]) -> tuple[list[str], str]:
    """(what every key that is meant has in the JSON of a reply, in any object, the text without its whole objects).

    Where no whole object is left, every `key: value` counts that can be found: of a reply that was cut off, or is not
    quite JSON (other quotes, comments, no commas).
    """
    rest = with_escapes(text)
    objects = list(whole_objects(rest))
    values = [value for tree, _, _ in objects for value in values_in(tree, is_key)]
    for _, start, end in reversed(objects):
        rest = rest[:start] + rest[end:]
    if "{" in rest or (not objects and re.search(r"[\"'“][A-Za-z][\w ]{2,30}[\"'”]\s*:", rest)):
        pairs = LOOSE_PAIR.findall(rest.translate(STRAIGHT).replace('\\"', '"'))
        values += [double or single or bare.strip(" \t\r\"'") for key, double, single, bare in pairs if is_key(key)]
    return values, rest


def values_in(tree: Any, is_key: Callable[[str], bool]) -> Iterator[str]:
    """What the keys that are meant have in a JSON value; a list of one is its entry, an object has no value."""
    if isinstance(tree, Pairs):
        for key, value in tree:
            value = value[0] if type(value) is list and len(value) == 1 else value
            if is_key(key) and not isinstance(value, list):
                yield str(value)
            else:
                yield from values_in(value, is_key)
    elif isinstance(tree, list):
        for entry in tree:
            yield from values_in(entry, is_key)


def with_escapes(text: str) -> str:
    """JSON in which each stray backslash stands for itself."""
    return ESCAPE.sub(lambda m: m.group() if len(m.group()) > 1 else r"\\", text)


def broken(reply: Completion) -> str:
    """Why a reply is not of the form that was asked for."""
    return CUT if reply.finish_reason == "length" else MALFORMED

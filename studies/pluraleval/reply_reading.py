"""What a judge's replies say. Whatever a reply is, it has a named state, and nothing is raised or guessed."""

import re
from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from evenhand.records import Completion
from studies.json_replies import CUT, MALFORMED, OK, broken, json_in, said
from studies.pluraleval.records import STANCES

NONE = "none"  # well formed, and names nothing: a comment without an opinion
PARTIAL = "partial"  # well formed, but entries that are of no use were left out
MANY = "many"  # more entries than are taken; the first ones count
OUT_OF_RANGE = "out_of_range"  # a number that was not among those asked for
NOT_ASKED = "not_asked"  # decided without the judge: there was nothing to decide

LONGEST_OPINION = 400  # characters; an atomic opinion is a sentence, and what is longer is the comment repeated
LONGEST_SENTENCE = 1_000  # characters of a summary or a belief
WORDS = re.compile(r"\w")
HALF_PAIR = re.compile("[\ud800-\udfff]")  # JSON can spell one as an escape

Value = TypeVar("Value")


class Read(NamedTuple, Generic[Value]):
    """What was read, and the state of the reply."""

    value: Value
    state: str


def strings_in(reply: Completion, key: str, at_most: int) -> Read[list[str]]:
    """The sentences of a reply {key: [...]}, or of the bare array: opinions, or descriptions of clusters."""
    found = json_in(said(reply))
    listed = found.get(key) if isinstance(found, dict) else found
    if not isinstance(listed, list):
        return Read([], broken(reply))
    texts = [one_line(entry) for entry in listed if isinstance(entry, str)]
    fit = [text for text in texts if WORDS.search(text) and len(text) <= LONGEST_OPINION]
    distinct = list(dict.fromkeys(fit))
    if len(distinct) > at_most:
        return Read(distinct[:at_most], MANY)
    if len(fit) < len(listed):
        return Read(distinct, PARTIAL)
    return Read(distinct, OK if distinct else NONE)


def groups_in(reply: Completion, opinions: Sequence[str]) -> Read[list[list[int]]]:
    """Prompt 8's reply as groups of positions of the opinions. An opinion that it repeats belongs to the first group.

    PARTIAL: it lacks opinions, repeats some, or holds strings that are none of them.
    """
    found = json_in(said(reply))
    if not isinstance(found, list) or not all(isinstance(group, list) for group in found):
        return Read([], broken(reply))
    position = {}
    for number, opinion in reversed(list(enumerate(opinions))):
        position[plain(opinion)] = number
    taken: set[int] = set()
    groups, n_odd = [], 0
    for group in found:
        numbers = [position.get(plain(entry)) if isinstance(entry, str) else None for entry in group]
        fresh = list(dict.fromkeys(n for n in numbers if n is not None and n not in taken))
        n_odd += len(numbers) - len(fresh)
        taken |= set(fresh)
        if fresh:
            groups.append(fresh)
    if not groups:
        return Read([], MALFORMED)
    return Read(groups, OK if len(taken) == len(opinions) and not n_odd else PARTIAL)


def cluster_in(reply: Completion, n_clusters: int) -> Read[int | None]:
    """The number of an assignment's reply, 0 for a new cluster; None when there is none that can be."""
    found = json_in(said(reply))
    number = found.get("cluster") if isinstance(found, dict) else found
    if isinstance(number, str) and re.fullmatch("[0-9]{1,4}", number.strip()):
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        return Read(None, broken(reply))
    return Read(number, OK) if 0 <= number <= n_clusters else Read(None, OUT_OF_RANGE)


def sentence_in(reply: Completion) -> Read[str]:
    """A summary or a belief on one line, without the quotes around it; empty when the reply is of no use."""
    text = one_line(said(reply))
    if len(text) > 1 and (text[0], text[-1]) in (('"', '"'), ("“", "”")):
        text = text[1:-1].strip()
    if not WORDS.search(text) or len(text) > LONGEST_SENTENCE:
        return Read("", broken(reply))
    return Read(text, CUT if reply.finish_reason == "length" else OK)


def stance_in(reply: Completion) -> Read[str]:
    """The one stance that a reply names; empty when it names none or several."""
    named = {word for word in STANCES if re.search(rf"\b{word}\b", said(reply), re.IGNORECASE)}
    return Read(named.pop(), OK) if len(named) == 1 else Read("", broken(reply))


def entailment_in(reply: Completion) -> Read[bool | None]:
    """Whether a reply says yes or no first of all; None when it says neither."""
    word = re.match(r"\W*(yes|no)\b", said(reply), re.IGNORECASE)
    return Read(word[1].lower() == "yes", OK) if word else Read(None, broken(reply))


def one_line(text: str) -> str:
    """A text with each run of white space as one blank, and no half surrogate pair, which no file takes."""
    return " ".join(HALF_PAIR.sub("\ufffd", text).split())


def plain(text: str) -> str:
    """An opinion as it is found again in a reply: case, white space and the last full stop do not count."""
    return one_line(text).casefold().rstrip(".!")


def state_rates(states: Mapping[str, Mapping[str, int]]) -> list[tuple[str, str, int, float]]:
    """(step, state, count, share of the step's replies), the most frequent state of each step first."""
    rows = []
    for step, counts in states.items():
        total = sum(counts.values())
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        rows += [(step, state, count, count / total) for state, count in ordered if count]
    return rows

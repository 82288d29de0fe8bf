"""What replies say: a judge's, and those of the model under test.

Whatever a reply is, it has a named state, and nothing is raised or guessed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from evenhand.records import Completion
from evenhand.sources.record_fields import LONE_SURROGATE
from studies.json_replies import CUT, MALFORMED, OK, broken, json_in, said
from studies.pluraleval.records import STANCES

NONE = "none"  # well formed, and names nothing: a comment without an opinion
PARTIAL = "partial"  # well formed, but entries that are of no use were left out
MANY = "many"  # more entries than are taken; the first ones count
OUT_OF_RANGE = "out_of_range"  # a number that was not among those asked for
NOT_ASKED = "not_asked"  # decided without the judge: there was nothing to decide
PARTIAL_RANKING, REPEATED = "partial", "repeated"
FEWER, MORE, UNNUMBERED = "fewer", "more", "unnumbered"

LONGEST_OPINION = 400  # characters; an atomic opinion is a sentence, and what is longer is the comment repeated
LONGEST_SENTENCE = 1_000  # characters of a summary or a belief
WORDS = re.compile(r"\w")
FIRST = re.compile(r"\W*(?:option|opinion|summary|answer)?\W*([12])\b(?!\W*(?:or|and)?\W*[12]\b)", re.IGNORECASE)
N_RESPONSES = 10
# "1." "1)" "1:" "**1.**" "### 1." "Response 1:" at the start of a line, and what follows on it.
NUMBER = re.compile(
    r"^[ \t>#*_]*(?:(?:response|reply|comment|option)[ \t]*)?\(?(\d{1,2})[.):][*_]*[ \t]*", re.IGNORECASE | re.MULTILINE
)
BULLET = re.compile(r"^[ \t]*[-*•][ \t]+", re.MULTILINE)

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


def choice_in(reply: Completion) -> Read[int | None]:
    """1 or 2, when a reply begins with it, or names only one of them as a number; None otherwise, also for "1 or 2"."""
    first = FIRST.match(said(reply))
    if first:
        return Read(int(first[1]), OK)
    named = set(re.findall(r"\b[12]\b", said(reply)))
    return Read(int(named.pop()), OK) if len(named) == 1 else Read(None, broken(reply))


def ranking_in(reply: Completion, n_shown: int) -> Read[list[int]]:
    """Positions in the list as it was shown, from 0, the most popular first.

    The last line that holds two numbers or more separated by commas counts, else the whole reply when it is a list of
    numbers, one a line. PARTIAL: not all of them; REPEATED: some twice (the first counts); OUT_OF_RANGE: a number that
    was not shown. The value then holds what is left, and whether that counts is for the measure to say.
    """
    lists = re.findall(r"\d+(?:[ \t]*[,>][ \t]*\d+)+", said(reply))
    if lists:
        numbers = [int(number) for number in re.findall(r"\d{1,6}", lists[-1])]
    else:
        lines = [line.strip() for line in said(reply).strip().splitlines() if line.strip()]
        alone = [re.fullmatch(r"(\d{1,4})[.,)]?", line) for line in lines]
        if not lines or not all(alone):
            return Read([], broken(reply))
        numbers = [int(match[1]) for match in alone if match]
    valid = [number - 1 for number in numbers if 1 <= number <= n_shown]
    ranked = list(dict.fromkeys(valid))
    if not ranked:
        return Read([], MALFORMED)
    if len(valid) < len(numbers):
        return Read(ranked, OUT_OF_RANGE)
    if len(ranked) < len(valid):
        return Read(ranked, REPEATED)
    return Read(ranked, OK if len(ranked) == n_shown else PARTIAL_RANKING)


def responses_in(reply: Completion) -> Read[list[str]]:
    """The responses of a generation's reply: at most N_RESPONSES, none empty.

    Its state is OK for exactly ten; else FEWER, MORE, UNNUMBERED, CUT (fewer, since the reply was cut), or NONE.

    Numbers count when they go up from 1 one by one, so that a list within a response, or "3. Mai" at the start of a
    line, does not begin a new one. Without them, bullets or paragraphs are the responses (UNNUMBERED). A response that
    the reply's end cuts off is left out when it is the eleventh or there are others before it.
    """
    text = said(reply).strip()
    starts = rising_numbers(text)
    pieces = [text[match.end() : end] for match, end in starts]
    is_numbered = len(pieces) > 1
    if not is_numbered:
        bullets = BULLET.split(text)[1:]
        pieces = bullets if len(bullets) > 1 else re.split(r"\n\s*\n", text)
    found = [one_line(piece).strip("*_ ") for piece in pieces]
    found = [piece for piece in found if re.search(r"\w", piece)]
    is_cut = reply.finish_reason == "length"
    if is_cut and 1 < len(found) <= N_RESPONSES:
        found = found[:-1]
    if not found:
        return Read([], NONE)
    if is_cut and len(found) < N_RESPONSES:
        return Read(found, CUT)
    if not is_numbered:
        return Read(found[:N_RESPONSES], UNNUMBERED)
    state = OK if len(found) == N_RESPONSES else FEWER if len(found) < N_RESPONSES else MORE
    return Read(found[:N_RESPONSES], state)


def rising_numbers(text: str) -> list[tuple[re.Match[str], int]]:
    """The numbers 1, 2, 3 ... at starts of lines, each with where its text ends."""
    found: list[re.Match[str]] = []
    for match in NUMBER.finditer(text):
        if int(match[1]) == len(found) + 1:
            found.append(match)
    ends = [*(match.start() for match in found[1:]), len(text)] if found else []
    return list(zip(found, ends, strict=True))


def one_line(text: str) -> str:
    """A text with each run of white space as one blank, and no half surrogate pair, which no file takes."""
    return " ".join(LONE_SURROGATE.sub("\ufffd", text).split())


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

"""What replies say: a judge's, and those of the model under test.

Whatever a reply is, it has a named state, and nothing is raised or guessed.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from eval.reading.objects import CUT, MALFORMED, OK, broken, json_in
from eval.reading.reader import read
from eval.reading.vocabulary import P, Vocabulary, patterns_in
from evenhand.files import shipped_yaml
from evenhand.records import Completion
from evenhand.sources.record_fields import LONE_SURROGATE
from evenhand.thoughts import without_thinking
from studies.pluraleval.records import STANCES

YES_NO = ("yes", "no")  # answers about entailment
NONE = "none"  # well formed, and names nothing: a comment without an opinion
PARTIAL = "partial"  # well formed, but entries that are of no use were left out
MANY = "many"  # more entries than are taken; the first ones count
OUT_OF_RANGE = "out_of_range"  # a number that was not among those asked for
NOT_ASKED = "not_asked"  # decided without the judge: there was nothing to decide
REPEATED, SEVERAL = "repeated", "several"

LONGEST_OPINION = 400  # characters; an atomic opinion is a sentence, and what is longer is the comment repeated
LONGEST_SENTENCE = 1_000  # characters of a summary or a belief
FILE = Path(__file__).with_name("patterns.yaml")
PATTERNS = patterns_in(FILE, "replies")
COMMENTS, POPULARITY = (Vocabulary(shipped_yaml(FILE)[judged]) for judged in ("comments", "popularity"))
WORDS = re.compile(r"\w")

Value = TypeVar("Value")
Step = TypeVar("Step")


class Read(NamedTuple, Generic[Value]):
    """What was read, and the state of the reply."""

    value: Value
    state: str


def strings_in(reply: Completion, key: str, at_most: int) -> Read[list[str]]:
    """The sentences of a reply {key: [...]}, or of the bare array."""
    parsed = json_in(without_thinking(reply.text))
    listed = parsed.get(key) if isinstance(parsed, dict) else parsed
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
    """Prompt 8's reply, an array or {"clusters": [...]}, as groups of positions of the opinions.

    An opinion that it repeats belongs to the first group. PARTIAL: it lacks opinions, repeats some, or holds strings
    that are none of them.
    """
    parsed = json_in(without_thinking(reply.text))
    parsed = parsed.get("clusters") if isinstance(parsed, dict) else parsed
    if not isinstance(parsed, list) or not all(isinstance(group, list) for group in parsed):
        return Read([], broken(reply))
    position = {}
    for number, opinion in reversed(list(enumerate(opinions))):
        position[folded(opinion)] = number
    taken: set[int] = set()
    groups, n_odd = [], 0
    for group in parsed:
        numbers = [position.get(folded(entry)) if isinstance(entry, str) else None for entry in group]
        fresh = list(dict.fromkeys(n for n in numbers if n is not None and n not in taken))
        n_odd += len(numbers) - len(fresh)
        taken |= set(fresh)
        if fresh:
            groups.append(fresh)
    if not groups:
        return Read([], MALFORMED)
    return Read(groups, OK if len(taken) == len(opinions) and not n_odd else PARTIAL)


def read_among(reply: Completion, symbols: Sequence[str], words: Vocabulary = P) -> Read[int | None]:
    """The place of the one symbol that a reply names; None with the reader's state where it names none."""
    reading = read(reply.text, symbols, is_cut=reply.finish_reason == "length", words=words)
    return Read(reading.place, OK if reading.place is not None else CUT if reading.state == CUT else MALFORMED)


def cluster_in(reply: Completion, n_clusters: int) -> Read[int | None]:
    """The number of an assignment's reply, 0 for a new cluster; None without a valid one."""
    text = without_thinking(reply.text).strip('"“”')
    numbers = [str(number) for number in range(n_clusters + 1)]
    in_numbers = PATTERNS["no_cluster"].sub(" cluster 0", text)
    return read_among(replace(reply, text=in_numbers), numbers, COMMENTS)


def sentence_in(reply: Completion) -> Read[str]:
    """A summary or a belief on one line, without the quotes around it; empty when the reply is of no use."""
    text = one_line(without_thinking(reply.text))
    if len(text) > 1 and (text[0], text[-1]) in (('"', '"'), ("“", "”")):
        text = text[1:-1].strip()
    if not WORDS.search(text) or len(text) > LONGEST_SENTENCE:
        return Read("", broken(reply))
    return Read(text, CUT if reply.finish_reason == "length" else OK)


def stance_in(reply: Completion) -> Read[str]:
    """The one stance that a reply names, in other words too; empty where it names none or several."""
    place, state = read_among(reply, STANCES, COMMENTS)
    if place is None and state != CUT:
        text = without_thinking(reply.text)
        for stance in ("NEUTRAL", "AGAINST", "SUPPORTING"):  # in this order: "neither supports nor opposes"
            text = PATTERNS[stance.lower()].sub(f" {stance} ", text)
        if not PATTERNS["denied"].search(text):
            place, state = read_among(replace(reply, text=text), STANCES, COMMENTS)
    return Read("" if place is None else STANCES[place], state)


def entailment_in(reply: Completion) -> Read[bool | None]:
    """Whether a reply says yes; None when it says neither yes nor no."""
    place, state = read_among(reply, YES_NO)
    return Read(None if place is None else YES_NO[place] == "yes", state)


def choice_in(reply: Completion) -> Read[int | None]:
    """1 or 2, the one that a reply names as the more popular; None where it names none or both."""
    place, state = read_among(reply, ("1", "2"), POPULARITY)
    return Read(None if place is None else place + 1, state)


def ranking_in(reply: Completion, n_shown: int) -> Read[list[int]]:
    """Positions in the list as it was shown, from 0, the most popular first.

    The first whole permutation counts, or the one that is called final. SEVERAL: another one stands as firmly. Without
    any, the longest list of numbers has a state and counts for nothing: PARTIAL lacks some, REPEATED has some twice,
    OUT_OF_RANGE has one that was not shown. A reply that goes from the least popular to the most is not read.
    """
    text = with_plain_digits(own_words(reply))
    if PATTERNS["no_order"].search(text):
        return Read([], broken(reply))
    positions, listed = list(range(1, n_shown + 1)), ranked_lines(text)
    orders = [(listed, "")]
    if sorted(listed) != positions:
        orders = [*((ranked_lines(block), block) for block in re.split(r"\n\s*\n", text)), *ranked_in_line(text)]
    whole = [(numbers, line) for numbers, line in orders if sorted(numbers) == positions]
    if whole:
        (first, line), *rest = [
            ranked for ranked in whole if re.search(r"\bfinal\b", ranked[1], re.IGNORECASE)
        ] or whole
        rivals = [said_in for numbers, said_in in rest if numbers != first]
        if rivals and (not PATTERNS["alone"].fullmatch(line) or any(map(PATTERNS["alone"].fullmatch, rivals))):
            return Read([], SEVERAL)
        return Read([number - 1 for number in first], OK)
    numbers = max([listed, *(numbers for numbers, _ in orders)], key=len)
    if len(numbers) < 2:
        return Read([], broken(reply))
    if not set(numbers) <= set(positions):
        return Read([], OUT_OF_RANGE)
    return Read([], REPEATED if len(set(numbers)) < len(numbers) else PARTIAL)


def ranked_in_line(text: str) -> list[tuple[list[int], str]]:
    """Numbers with the same separator between them, each list with the line that it stands in.

    Rising numbers before further words are an enumeration ("1, 2, 3 are alike").
    """
    text = PATTERNS["remark"].sub(" ", re.sub(r"(?<=\d),(?=\d{3}\b)", "", text))
    orders = []
    for match in PATTERNS["run"].finditer(text):
        numbers = [int(number) for number in re.findall(r"\d{1,6}", match[0])]
        before, after = text[: match.start()].rpartition("\n")[2], text[match.end() :].partition("\n")[0]
        is_range = len(numbers) == 2 and re.search(r"\d[-–—/]\d", match[0])  # "the numbers 1-2"
        if not is_range and (numbers != sorted(numbers) or re.match(r"[.!]|[\W\d_]*$", after)):
            orders.append((numbers, before + match[0] + after))
    return orders


def ranked_lines(text: str) -> list[int]:
    """A number a line: what stands behind the ranks 1, 2, 3 ..., or the first number of each line.

    Lines in the order of their numbers that say more are a list of what was shown, and no ranking.
    """
    rows = [match for line in text.splitlines() if (match := PATTERNS["row"].match(line))]
    first, second = ([int(row[name] or 0) for row in rows] for name in ("first", "second"))
    is_rising = first == list(range(1, len(first) + 1))
    if all(second) and all(not row["label"] or PATTERNS["rank"].search(row["label"]) for row in rows):
        return second if is_rising and len({row["word"] for row in rows}) == 1 else []
    if all(second) and second not in (sorted(first), sorted(second, reverse=True)):
        return []  # ranks, or scores, that are not in the order of the lines
    return [] if is_rising and any(row["second"] or WORDS.search(row["rest"]) for row in rows) else first


def own_words(reply: Completion) -> str:
    """A reply without thinking, and without the turns that a model writes on its own behind it."""
    return next((turn for turn in PATTERNS["turn"].split(without_thinking(reply.text)) if turn.strip()), "")


def with_plain_digits(text: str) -> str:
    """A text in which full-width, circled and keycap digits are plain ones, ")" behind the latter two."""

    def number(match: re.Match[str]) -> str:
        return f" {re.sub(r'[^0-9]', '', match[0]) or int(unicodedata.numeric(match[0], 10))}) "

    return unicodedata.normalize("NFKC", PATTERNS["odd_digit"].sub(number, text))


def one_line(text: str) -> str:
    """A text with each run of white space as one blank, and no half surrogate pair, which no file takes."""
    return " ".join(LONE_SURROGATE.sub("\ufffd", text).split())


def folded(text: str) -> str:
    """An opinion as it is found again in a reply: case, white space and the last full stop do not count."""
    return one_line(text).casefold().rstrip(".!")


def state_rates(states: Mapping[Step, Mapping[str, int]]) -> list[tuple[Step, str, int, float]]:
    """(step, state, count, share of the step's replies), the most frequent state of each step first."""
    rows = []
    for step, counts in states.items():
        total = sum(counts.values())
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        rows += [(step, state, count, count / total) for state, count in ordered if count]
    return rows

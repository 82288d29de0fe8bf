"""The responses in a generation's reply, read as a person would read them.

A reply is split at the marks that its items share: strings of JSON, numbers of any kind, rules, bullets or labels,
blank lines, line ends. What stands before the first item, headings between two, and remarks behind
the last are not items.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from eval.reading.objects import CUT, OK
from eval.reading.vocabulary import patterns_in
from evenhand.files import shipped_yaml
from evenhand.records import Completion
from studies.pluraleval.reply_reading import NONE, Read, one_line, own_words, with_plain_digits
from studies.pluraleval.reply_reading import PATTERNS as REPLIES

FEWER, MORE, UNNUMBERED = "fewer", "more", "unnumbered"
WHOLE = (OK, MORE)  # states of lists with ten responses
N_RESPONSES = 10
MOST_MARKS = 200  # of a model that goes on without end

FILE = Path(__file__).with_name("patterns.yaml")
NUMERALS = [numerals.split() for numerals in shipped_yaml(FILE)["numerals"]]
IN_LETTERS = "|".join(sorted({numeral for numerals in NUMERALS[:-1] for numeral in numerals}))
PATTERNS = patterns_in(FILE, "lists", numeral=IN_LETTERS, odd_digit=REPLIES["odd_digit"].pattern)
LETTER, NUMBER, LABEL = (PATTERNS[name] for name in ("letter", "number", "label"))
BESIDE = [PATTERNS[name] for name in ("title", "note_before", "note_behind")]
EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")  # *never*, **Never**
NESTED = re.compile(r"^\s*(?:[-•*+]|[a-z][.)])\s+")  # of a line within an item
LEADS = [PATTERNS[name] for name in ("bullet", "user", "lead")]
Start = tuple[int, int]  # where an item begins: line and column


def responses_in(reply: Completion) -> Read[list[str]]:
    """At most N_RESPONSES, none empty.

    Its state is OK for exactly ten; else FEWER, MORE, CUT (fewer, since the reply was cut; a response that was cut in
    its first sentence does not count), UNNUMBERED (several lines that nothing marks as responses: none is read), or
    NONE: one paragraph, questions, thinking without an end.
    """
    text = own_words(reply).strip()
    text = text if "\n" in text else text.replace("\\n", "\n")
    is_cut = reply.finish_reason == "length"
    responses = [item for item in listed(text) if not PATTERNS["placeholder"].fullmatch(item)]
    if is_cut and responses and text.endswith(responses[-1][-9:]) and not PATTERNS["sentence"].search(responses[-1]):
        ends = [line.start() for line in re.finditer("\n", text)][::-1]  # not even one sentence
        responses = next((items for end in ends if len(items := listed(text[:end])) < len(responses)), [])
    is_asking = len(responses) < 3 or (len(responses) != N_RESPONSES and PATTERNS["asks"].match(text))
    asks = responses and is_asking and all(response.endswith("?") for response in responses)
    if asks or (len(responses) < N_RESPONSES and PATTERNS["refusal"].match(text)):
        return Read([], NONE)
    if len(responses) >= N_RESPONSES:
        return Read(responses[:N_RESPONSES], OK if len(responses) == N_RESPONSES else MORE)
    if is_cut and text:
        return Read(responses, CUT)
    return Read(responses, FEWER if responses else UNNUMBERED if len(text.splitlines()) > 1 else NONE)


@lru_cache(maxsize=4096)  # every arm's scores read its base's replies again
def listed(text: str) -> list[str]:
    """The items that marks tell apart, or else ten paragraphs.

    Of several readings the first one with ten items counts; else the first one with several.
    """
    if strings := json_strings(text):
        return texts_of([[string] for string in strings])
    text = PATTERNS["not_read"].sub("\n", text)
    text = PATTERNS["odd_number"].sub(lambda match: with_plain_digits(match[0]).lstrip(), text)
    lines = text.splitlines()
    splits = (lines, PATTERNS["within_line"].sub("\n", text).splitlines())
    numberings = [(split, numbered(split)) for split in splits]
    readings = [items_at(split, starts) for split, starts in numberings]
    is_numbered = any(len(items) > 1 for items in readings)
    starting = [split[n].strip() for split, starts in numberings for n, _ in starts]
    if not is_numbered or all(map(PATTERNS["heading"].fullmatch, starting)):  # what is numbered may be sections
        headings = {n for n, _ in numberings[0][1]} if is_numbered else set[int]()
        readings += [items_at(lines, at) for at in led(["" if n in headings else line for n, line in enumerate(lines)])]
    if not is_numbered:
        blocks = blocks_in(lines)
        blocks = blocks[len(blocks) > N_RESPONSES and PATTERNS["opening"].match(blocks[0][0]) is not None :]
        readings += [texts_of(blocks)] if len(blocks) == N_RESPONSES else []
    return max(readings, key=lambda items: (len(items) == N_RESPONSES, min(len(items), 2)))


def json_strings(text: str) -> list[str]:
    """The whole strings of what looks like JSON: those of one key, but for numbers in it, or those without any.

    The longest ones count.
    """
    start = re.search(r"(?:^|[=:])\s*(?=(?:[\[{]\s*)+[\"'])", text, re.MULTILINE)
    by_key = defaultdict[str, list[str]](list)
    for key, quoted in PATTERNS["entry"].findall(text[start.end() :] if start else ""):
        try:
            value = json.loads(quoted, strict=False)
        except ValueError:  # as Python writes it, or with an escape that JSON lacks
            value = quoted[1:-1]
        by_key[re.sub(r"\d", "", key)].append(value)
    return max(by_key.values(), key=lambda values: len("".join(values)), default=[])


def numbered(lines: Sequence[str]) -> list[Start]:
    """Where the items of the longest numbering begin; of two as long the first, and one of ten before all."""
    styles = defaultdict[Any, list[tuple[int, Start]]](list)
    for n, line in enumerate(lines):
        if match := NUMBER.match(line):
            label, start = "".join(LETTER.findall(match["label"])).casefold(), (n, match.end())
            end = match["end"] or "\n" * (not line[start[1] :].strip())
            style = (label, end, len(line) - len(line.lstrip()) > 1, "**" in match[0])
            if match["digits"]:
                styles["", style].append((int(match["digits"]), start))
            for numerals in NUMERALS:
                if (word := (match["word"] or "").casefold()) in numerals:
                    styles[numerals[1], style].append((numerals.index(word) + 1, start))
    best: list[Start] = []
    for (numeral, (label, end, *_)), marks in styles.items():
        chain = counted([number for number, _ in marks[:MOST_MARKS]])
        is_plain = end and (len(chain) > 1 or (not numeral and len(label) < 10))
        if len(chain) > 2 or is_plain:
            best = max(best, [marks[n][1] for n in chain], key=lambda starts: (len(starts) == N_RESPONSES, len(starts)))
    return best


def counted(numbers: list[int]) -> list[int]:
    """Which of some numbers count items: runs from one to ten; all, where they never fall, or never rise; else some.

    These go up by one, or begin anew after fewer than ten. A number that is not the next one, while this is to come, is
    a list's within a response ("3. Mai").
    """
    positions, ten = range(len(numbers)), list(range(1, N_RESPONSES + 1))
    if runs := [n for n in positions if numbers[n : n + N_RESPONSES] == ten]:
        return [n for n in positions[runs[0] :] if numbers[n] == n + 1 - max(start for start in runs if start <= n)]
    if 1 in numbers and numbers in (sorted(numbers), sorted(numbers, reverse=True)):
        return list(positions)
    kept, last = list[int](), 0
    for n, number in enumerate(numbers):
        begins_anew = number == 1 and last < N_RESPONSES and last + 1 not in numbers[n:]
        if number == last + 1 or begins_anew:
            kept.append(n)
            last = number
    return kept


def led(lines: Sequence[str]) -> list[list[Start]]:
    """Where items begin by bullets, emoji, headings, bold titles, user names or a word with a colon.

    The most frequent of them stands first. One that most lines lack does not count.
    """
    styles = defaultdict[Any, list[Start]](list)
    filled = [n for n, line in enumerate(lines) if LETTER.search(line)]
    for n in filled:
        for match in filter(None, (lead.match(lines[n]) for lead in LEADS)):
            lead = match[1].casefold()
            kind = "emoji" if unicodedata.category(lead[0]) == "So" else lead
            styles[kind, (len(lines[n]) - len(lines[n].lstrip())) // 2].append((n, match.end()))
    fit = [starts for starts in styles.values() if len(starts) > max(1, 0.3 * len(filled))]
    return sorted(fit, key=lambda starts: (-len(starts), starts[0][0], -starts[0][1]))


def items_at(lines: Sequence[str], starts: Sequence[Start]) -> list[str]:
    """The items that begin somewhere.

    Headings that end an item are the next one's. What the last item has more than any other is a closing remark.
    """
    ends = [*(line for line, _ in starts), len(lines)][1:]
    items = [
        blocks_in([lines[line][column:], *lines[line + 1 : end]])
        for (line, column), end in zip(starts, ends, strict=True)
    ]
    for item in items[:-1]:
        while sum(map(len, item)) > 1 and PATTERNS["heading"].fullmatch(item[-1][-1]):
            item[-1].pop()
            if not item[-1]:
                item.pop()
    items = [item for item in items if item]
    if len(items) > 1:
        *earlier, last = items
        del last[max(map(len, earlier)) :]
        if all(len(item[0]) == 1 for item in earlier):  # hard-wrapped ones differ by themselves
            del last[0][1:]
    return texts_of([[line for block in item for line in block] for item in items])


def texts_of(items: list[list[str]]) -> list[str]:
    """Each item on one line, without what all of them have beside the response: titles, notes.

    Of lines with labels that all items share ("Tone:", "Response 3:") those count that have none, else the longest.
    """

    def label(line: str) -> str:
        return re.sub(r"\d", "", match[1]).casefold() if (match := LABEL.match(line)) else ""

    if len(items) > 1:
        if all(len(item) > 1 and PATTERNS["title_line"].fullmatch(item[0].strip()) for item in items):
            items = [item[1:] for item in items]
        repeated = set.intersection(*(set(map(str.strip, item)) for item in items))
        items = [[line for line in item if line.strip() not in repeated] or item for item in items]
        shared = set.intersection(*(set(map(label, item)) for item in items))
        sizes = {lead: sum(len(line) for item in items for line in item if label(line) == lead) for lead in shared}
        chosen = max(sizes, key=lambda lead: (not lead, sizes[lead]), default="")
        items = [[line for line in item if label(line) == chosen or label(line) not in shared] for item in items]
        items = [[LABEL.sub("", line, 1) if chosen == label(line) != "" else line for line in item] for item in items]
    texts = [" ".join(NESTED.sub("", line) if n else line for n, line in enumerate(item)) for item in items]
    if len(items) > 1:
        for part in BESIDE:
            without = [part.sub("", text, 1) for text in texts]
            if all(without) and all(map(str.__ne__, without, texts)):
                texts = without
        roles = [match[0] for text in texts if (match := PATTERNS["role"].match(text))]
        if len(set(roles)) == len(texts) > 2:
            texts = [text.removeprefix(role) for text, role in zip(texts, roles, strict=True)]
    texts = [text.strip("| ").split("|")[-1] if text.endswith("|") else text for text in texts]  # a row of a table
    texts = [one_line(EMPHASIS.sub(r"\2", text)).strip("*_`> ").lstrip("-•+ ").rstrip(";") for text in texts]
    return [text[1:-1] for text in texts] if all(re.fullmatch('["“].+["”]', text) for text in texts) else texts


def blocks_in(lines: Sequence[str]) -> list[list[str]]:
    """The runs of lines that hold letters or digits."""
    return [list(run) for has_text, run in groupby(lines, lambda line: bool(LETTER.search(line))) if has_text]

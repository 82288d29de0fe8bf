"""The responses in a generation's reply, read as a person would read them.

A reply is split at the marks that its items share: strings of JSON, numbers of any kind, rules, bullets or labels,
blank lines, line ends. What stands before the first item, headings between two, and remarks behind the last are none.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from evenhand.records import Completion
from studies.json_replies import CUT, OK
from studies.pluraleval.reply_reading import NONE, ODD_DIGIT, Read, one_line, own_words, with_plain_digits

FEWER, MORE, UNNUMBERED = "fewer", "more", "unnumbered"
WHOLE = (OK, MORE)  # states of lists with ten responses
N_RESPONSES = 10
MOST_MARKS = 200  # of a model that goes on without end

LETTER = re.compile(r"[^\W_]")
NUMERALS = [  # beside digits
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"],
    ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"],
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"],
    ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十"],
]
WORD = "|".join(sorted({word for words in NUMERALS[:-1] for word in words}))
# At the start of a line: 1. 1) (1) **1.** 1 - | 1/10 | #1 | ### 1 | A: | Response 1 | 1st response: | Reply three -
NUMBER = re.compile(
    r"(?P<label>[^\d\n$€£]{0,40}?)"
    r"(?:(?P<digits>\d{1,2})(?: ?(?:/|of) ?10\b|[^\W\d_]{1,3}(?: [^\W\d_]+)?(?=\W{0,3}[:：.])|[ºª])?"
    rf"|(?P<word>\b(?:{WORD})\b|[一二三四五六七八九十])(?: ?[^\W\d_]+(?=\W{{0,3}}[:：]))?)"
    r"[*_ \t]*(?P<end>(?:\\?[.．):：）\]】|、>»=]|,(?=\")|[-–—](?=\s))+-?|$|(?<=[\dºª])(?=\s)|(?<=\d )(?=\S))[*_]*",
    re.IGNORECASE,
)
ODD_NUMBER = re.compile(rf"^[^\w\n]*(?:{ODD_DIGIT.pattern})", re.MULTILINE)
WITHIN_LINE = re.compile(r"(?<=[^\s#])[ \t]+(?=[*(]*(?:\d{1,2}|[a-j])[.)][*]*[ \t])")
# Code fences, tags, and heads of tables.
NOT_READ = re.compile(
    r"^[ \t]*```.*$|</?(?!(?:b|i|em|strong)\b)[a-z][^<>\n]*>|</\d+>|^(?=.*\|).*\n[ \t]*\|?[ :|]*-{3}[-:| ]*$",
    re.MULTILINE | re.IGNORECASE,
)
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
QUOTED = re.compile(rf"{STRING.pattern}|(?<![^\s\[{{,:])'((?:[^'\\]|\\.|'(?!\s*[]}},:]))*)'(?=\s*[]}},:])")
RULE = re.compile(r"\s*([-=*_~])\1{2,}\s*")
LABEL = re.compile(r"[\W_]*([^\W\d_][^:：\n]{0,30})[:：]")
NOTES = [re.compile(rf"{before}[(\[][^()\[\]]+[)\]][*_:：.\s]*{after}") for before, after in ((r"\A\W*", ""), (r"[\s*_]*", r"\Z"))]
QUOTES = "\"'“„«「"
LEADS = [
    re.compile(lead)
    for lead in (r"\s*([^\w\s(]{1,6})", r"\s*\**(u/)[\w-]+\W*", r"[\W_]{0,8}([^\W\d_]{1,24})[*_]*[:：]")
]
HEADING = re.compile(r"#.*|\*\*[^*]+\*\*\s*|.*[:：][\s*_]*")
OPENING = re.compile(
    r"\W*(?:sure|certainly|absolutely|of course|okay|great|here(?: are| is|.s)|below|these)\b.*"
    r"\b(?:response|repl(?:y|ie)|comment|answer|take)s?\b",
    re.IGNORECASE,
)
TEN = re.compile(r"(?<!\d)10(?!\d)|\b(?:ten|zehn|diez|dix|dez|dieci|tien|десять)\b|十|열", re.IGNORECASE)
CLOSING = re.compile(
    r"\W*(?:let me know if|feel free|(?:i )?hope (?:this|that|these|it) |(?:would|do) you (?:like|want) me|is there any"
    r"|(?:these|the|all|each) .{0,30}\b(?:responses?|replies|comments|answers)\b|please note|note:"
    r"|if you.{0,9} (?:like|want) me)",
    re.IGNORECASE,
)
Start = tuple[int, int]  # where an item begins: line and column


def responses_in(reply: Completion) -> Read[list[str]]:
    """At most N_RESPONSES, none empty.

    Its state is OK for exactly ten; else FEWER, MORE, CUT (fewer, since the reply was cut), UNNUMBERED (several lines
    that nothing marks as responses: none is read), or NONE: one paragraph, questions, thinking without an end. A
    response that the reply's end cuts off is left out where others stand before it.
    """
    text = own_words(reply).strip()
    text = text if "\n" in text else text.replace("\\n", "\n")
    is_cut = reply.finish_reason == "length"
    found, is_open = listed(text, is_cut)
    if len(found) < 3 and all(response.endswith("?") for response in found):  # it asks back
        found = []
    if is_cut and is_open and 1 < len(found) <= N_RESPONSES:
        found = found[:-1]
    if len(found) >= N_RESPONSES:
        return Read(found[:N_RESPONSES], OK if len(found) == N_RESPONSES else MORE)
    if is_cut and text:
        return Read(found, CUT)
    return Read(found, FEWER if found else UNNUMBERED if len(text.splitlines()) > 1 else NONE)


def listed(text: str, is_cut: bool) -> tuple[list[str], bool]:
    """The items that marks tell apart, or else ten paragraphs or lines, and whether the last one goes on to the end.

    Of several readings the first one with ten items counts, unless the reply was cut; else the first one with several.
    """
    if strings := json_strings(text):
        return strings, False
    text = ODD_NUMBER.sub(lambda match: with_plain_digits(match[0]).lstrip(), NOT_READ.sub("\n", text))
    lines = text.splitlines()
    filled = [n for n, line in enumerate(lines) if LETTER.search(line)]
    blocks = [n for n in filled if n == 0 or not LETTER.search(lines[n - 1])]
    splits = (lines, WITHIN_LINE.sub("\n", text).splitlines())
    numberings = [(split, numbered(split)) for split in splits]
    readings = [items_at(split, starts) for split, starts in numberings]
    is_numbered = any(len(items) > 1 for items, _ in readings)
    first_lines = [(split[n], split[n][column:]) for split, starts in numberings for n, column in starts]
    are_headings = all(any(HEADING.fullmatch(part.strip()) for part in parts) for parts in first_lines)
    if not is_numbered or are_headings:  # what is numbered may be sections
        if len(rules := [(n + 1, 0) for n, line in enumerate(lines[:-1]) if RULE.fullmatch(line)]) > 1:
            readings.append(items_at(lines, [(0, 0), *rules], is_marked=False))
        readings += [items_at(lines, starts) for starts in led(lines, len(filled), len(blocks))]
    if not is_numbered:
        far_apart = [n for n in blocks if n < 2 or not LETTER.search(lines[n - 2])]  # two blank lines
        unmarked = [items_at(lines, [(n, 0) for n in at], is_marked=False) for at in (blocks, filled, far_apart)]
        readings += [(items, is_open) for items, is_open in unmarked if len(items) == N_RESPONSES]
    return max(readings, key=lambda each: (not is_cut and len(each[0]) == N_RESPONSES, min(len(each[0]), 2)))


def json_strings(text: str) -> list[str]:
    """The strings of the arrays or objects that begin a line of a text; of cut ones those that are whole."""
    start = re.search(r"(?:^|=)\s*(?=(?:[\[{]\s*)+[\"'])", text, re.MULTILINE)
    rest = QUOTED.sub(lambda match: match[0] if match[1] is None else json.dumps(match[1]), text[start.end() :]) if start else ""
    for cut in (rest, *(rest[: string.end()] for string in [*STRING.finditer(rest)][:-6:-1])):
        opened = re.sub(r"[^][{}]", "", STRING.sub("", cut)) if cut != rest else ""
        while opened != (inner := re.sub(r"\[\]|\{\}", "", opened)):
            opened = inner
        left, values = cut + opened[::-1].translate({91: "]", 123: "}"}), list[Any]()
        try:
            while left[:1] in ("[", "{"):
                value, end = json.JSONDecoder(strict=False).raw_decode(left)
                values.append(value)
                left = left[end:].lstrip(" \t\r\n,")
            return strings_of(values)
        except (ValueError, RecursionError):
            continue
    return []


def strings_of(value: Any) -> list[str]:
    """The strings of a list, or of an object with numbered keys; of another object those of its longest value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        values = [strings_of(each) for each in value.values()]
        if len({re.sub(r"\d", "", key) for key in value}) > 1:
            return max(values, key=lambda strings: (len(strings), len("".join(strings))))
        value = list(value.values())
    return [string for each in value for string in strings_of(each)] if isinstance(value, list) else []


def numbered(lines: Sequence[str]) -> list[Start]:
    """Where the items of the longest numbering begin; of two as long the first, and one of ten before all."""
    styles = defaultdict[Any, list[tuple[int, Start]]](list)
    for n, line in enumerate(lines):
        if match := NUMBER.match(line):
            label, start = "".join(LETTER.findall(match["label"])).casefold(), (n, match.end())
            end = match["end"] or "\n" * (not line[start[1] :].strip())
            style = (label, end, len(line) - len(line.lstrip()) > 1)
            if match["digits"]:
                styles["", style].append((int(match["digits"]), start))
            for words in NUMERALS:
                if (word := (match["word"] or "").casefold()) in words:
                    styles[words[1], style].append((words.index(word) + 1, start))
    best: list[Start] = []
    for (numeral, (label, end, _)), marks in styles.items():
        chain = counted([number for number, _ in marks[:MOST_MARKS]])
        is_plain = end and (len(chain) > 1 or (not numeral and len(label) < 10))
        if len(chain) > 2 or is_plain:
            best = max(best, [marks[n][1] for n in chain], key=lambda starts: (len(starts) == N_RESPONSES, len(starts)))
    return best


def counted(numbers: list[int]) -> list[int]:
    """Which of some numbers count items: a run from one to ten; all where they never fall, or never rise; else some.

    These go up by one, or on from a gap, or begin anew after fewer than ten. A number that is not the next one, while
    this is to come, is a list's within a response ("3. Mai").
    """
    every = list(range(len(numbers)))
    for start in every:
        run = [n for n in every[start:] if numbers[n] == n - start + 1]
        if len(run) >= N_RESPONSES and run[N_RESPONSES - 1] == start + N_RESPONSES - 1:
            return run
    if len(numbers) == N_RESPONSES or 1 in numbers and numbers in (sorted(numbers), sorted(numbers, reverse=True)):
        return every
    kept, last = list[int](), 0
    for n, number in enumerate(numbers):
        begins_anew = number == 1 and last < N_RESPONSES
        if number == last + 1 or (last + 1 not in numbers[n:] and (begins_anew or number == last + 2)):
            kept.append(n)
            last = number
    return kept


def led(lines: Sequence[str], n_filled: int, n_blocks: int) -> list[list[Start]]:
    """Where items begin by bullets, emoji, headings, bold titles, quotation marks, user names or a word with a colon.

    The most frequent of them stands first. One that most lines and blocks lack is none.
    """
    styles = defaultdict[Any, list[Start]](list)
    for n, line in enumerate(lines):
        for match in filter(None, (lead.match(line) for lead in LEADS if LETTER.search(line))):
            lead = match[1].casefold()
            kind = "emoji" if unicodedata.category(lead[0]) == "So" else '"' if lead[0] in QUOTES else lead
            is_kept = kind in ('"', "**")
            styles[kind, (len(line) - len(line.lstrip())) // 2].append((n, match.start(1) if is_kept else match.end()))
    fit = []
    for (kind, _), starts in styles.items():
        share = max(len(starts) / n_filled, len(starts) / n_blocks if len(starts) <= n_blocks else 0)
        if len(starts) > 1 and share > (0.6 if kind == '"' or kind.isalpha() else 0.3):
            fit.append(starts)
    return sorted(fit, key=lambda starts: (-len(starts), -starts[0][1]))


def items_at(lines: Sequence[str], starts: Sequence[Start], *, is_marked: bool = True) -> tuple[list[str], bool]:
    """The items that begin somewhere, and whether the last one goes on to the end.

    Headings that end an item are the next one's. What the last item has more than any other is a closing remark. Where
    no mark tells items from remarks, headings, openings and closings by their words are none.
    """
    ends = [*(line for line, _ in starts), len(lines)][1:]
    items = [
        blocks_in([lines[line][column:], *lines[line + 1 : end]])
        for (line, column), end in zip(starts, ends, strict=True)
    ]
    for item in items[:-1]:
        while item and HEADING.fullmatch(item[-1][-1]) and (not is_marked or len(item) > 1 or len(item[-1]) > 1):
            item[-1].pop()
            if not item[-1]:
                item.pop()
    is_open = bool(items and items[-1])
    items = [item for item in items if item]
    if not is_marked and len(items) > 1:
        first = items[0][0][0]
        is_opening = OPENING.match(first) or (len(items) > N_RESPONSES and TEN.search(first))
        if is_opening:  # whoever opens with a remark may close with one
            items = items[1 : -1 if len(items) == N_RESPONSES + 2 else None]
    if len(items) > 1:
        *others, last = items
        n_lines = sum(map(len, last))
        del last[max(map(len, others)) :]
        if len(others) > 1 and all(len(item) == len(item[0]) == 1 for item in others):
            del last[0][1:]
        further = [block for item in others for block in item[1:]]
        is_indented = bool(further) and all(block[0][0].isspace() for block in further)
        while len(last) > is_marked and (
            CLOSING.match(" ".join(last[-1])) or (is_indented and len(last) > 1 and not last[-1][0][0].isspace())
        ):
            last.pop()
        is_open = is_open and n_lines == sum(map(len, last))
    return texts_of([[line for block in item for line in block] for item in items if item]), is_open


def texts_of(items: list[list[str]]) -> list[str]:
    """Each item on one line, without what all of them have beside the response: notes, and a label or number again."""
    labels = [{match[1].casefold() for line in item if (match := LABEL.match(line))} for item in items]
    shared = set.intersection(*labels) if len(items) > 1 else set[str]()
    if shared:
        items = [[line for line in item if not ((match := LABEL.match(line)) and match[1].casefold() in shared)] or item for item in items]
    texts = [" ".join(item).replace("**", "").strip() for item in items]
    texts = [max(text.split("|"), key=len) if text.endswith("|") else text for text in texts]  # a row of a table
    texts = [one_line(text).strip("*_`> ").lstrip("-•+ ") for text in texts]
    for note in NOTES if len(items) > 1 else ():
        without = [note.sub("", text) for text in texts]
        if all(len(bare) < len(text) and LETTER.search(bare) for bare, text in zip(without, texts)):
            texts = without
    starts = numbered(texts) if len(items) > 1 else ()
    return [texts[n][column:].strip() for n, column in starts] if len(starts) == len(texts) else texts


def blocks_in(lines: Sequence[str]) -> list[list[str]]:
    """The runs of lines that hold letters or digits."""
    return [list(run) for has_text, run in groupby(lines, lambda line: bool(LETTER.search(line))) if has_text]

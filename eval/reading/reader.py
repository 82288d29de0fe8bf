"""What a judge wrote → the option that it answers with, or why there is none: one reader for all studies.

Evidence counts in this order, and its name is the state: the verdict's key in JSON; the study's own pattern, or a form
that judges are told to write ("[[A]]"); the reply as a whole; its first line; what its prose claims (prose.py). Where
two options stand, or an option and its text disagree, nothing is read: a wrong verdict is worse than none. Thoughts are
removed first.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from eval.reading.objects import values_of, without_thinking
from eval.reading.options import PRESETS, Options, options_of, words_only
from eval.reading.prose import BETTER, FINAL, MORE, SHOWN, STATED, UNSURE, Claim, P, Prose, Quotable, filled

JSON, PATTERN, WHOLE, FIRST_LINE, PROSE = READ = ("json", "pattern", "whole", "first line", "prose")
NONE, TWO, CONTRADICTION, CUT = UNREAD = ("none", "two answers", "contradiction", "cut")
LONGEST = 20_000  # characters of prose; of more, its two ends
SENTENCE_END = re.compile(r"[.!?;。][\"')\]]*(?=\s|$)|\n")
LABELLED = re.compile(filled(r"(?<=[.;!?%])\s+(?={M} ?[:.=)])"))  # "A: wrong. B: right." as lines
FINAL_WORDS = re.compile(filled(r"(?i:{final}\W+)?(?i:{verdict})\W*{is}\W*([^\n]{1,80})"))


class Reading(NamedTuple):
    """The place of the option that a reply answers with, or None, and how it was read, or why not."""

    place: int | None
    state: str  # of READ, or of UNREAD


def read(
    text: str,
    symbols: Sequence[str],
    texts: Sequence[str] = (),
    *,
    pattern: re.Pattern[str] | None = None,
    quotable: str = "",
    is_cut: bool = False,
) -> Reading:
    """What a reply says. symbols: what it may name; texts: the answers that these stand for, if they are not the same.

    pattern: the study's own, with the answer in its group; its last match counts. quotable: what the prompt says that
    the judge may quote. is_cut: the reply reached its longest length, so that its last sentence has no end.
    """
    options = options_of(tuple(symbols), tuple(texts))
    text = without_thinking(text).strip()
    if is_cut and any(symbol != text and symbol.startswith(text) for symbol in symbols):  # nothing, or "1" of "10"
        return Reading(None, CUT)
    if text in options.symbols:
        return Reading(options.symbols.index(text), WHOLE)
    values, prose = values_of(text, is_key)
    if values:
        is_corrected = P["corrected"].search(prose.lower())
        if is_corrected and (behind := written(prose, options, pattern, quotable, is_cut)).place is not None:
            return behind
        places = [written(value, options).place for value in (values[-1:] if is_corrected else dict.fromkeys(values))]
        repeated = [options.forms.get(words_only(value)) for value in values_of(text, lambda _: True)[0]]
        return one_of(places, JSON) if {*places} >= {*repeated} - {None} else Reading(None, CONTRADICTION)
    if not options.is_short and (values := values_of(text, lambda _: True)[0]):  # {"safety": "unsafe"}
        return one_of([place for place, state in (written(value, options) for value in values) if state == WHOLE], JSON)
    return written(prose, options, pattern, quotable, is_cut)


def written(
    text: str, options: Options, pattern: re.Pattern[str] | None = None, quotable: str = "", is_cut: bool = False
) -> Reading:
    """What a text without JSON says."""
    if pattern and (found := [match[match.lastindex or 0] for match in pattern.finditer(text)]):
        return one_of([written(found[-1], options).place], PATTERN)
    marked = options.marked(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}")
    is_turned = False
    if is_cut and not P["alone"].fullmatch(marked.rpartition("\n")[2]):
        end = max((end.end() for end in SENTENCE_END.finditer(marked)), default=0)
        marked, is_turned = marked[:end], P["turns"].match(marked[end:]) is not None
    lines = [line for line in LABELLED.sub("\n", marked).splitlines() if re.search(r"[\w\ue000-\uf8ff]", line)]
    if not lines or is_turned:
        return Reading(None, CUT if is_cut else NONE)
    return settled(Prose(lines, options, quotable_of(options.symbols, quotable)), len(lines) - 1, is_cut)


@lru_cache(maxsize=256)
def quotable_of(symbols: tuple[str, ...], text: str) -> Quotable:
    """What a prompt says that a reply may quote, without the symbols in it."""
    return Quotable(options_of(symbols, ()).marked(text))


def valid_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern of a preset's name, or of a regular expression. Raises ValueError saying what is wrong with it."""
    try:
        expression = FINAL_WORDS if pattern == "final" else re.compile(PRESETS.get(pattern, pattern), re.IGNORECASE)
    except re.error as error:
        names = ", ".join([*PRESETS, "final"])
        raise ValueError(f"'{pattern}' is no regular expression ({error}); write one, or a name: {names}") from None
    if expression.groups > 1:
        raise ValueError(f"'{pattern}' has {expression.groups} groups; put the answer in one, and write (?:...) else")
    return expression


def is_key(key: str) -> bool:
    """Whether a key of JSON is that of a verdict: chosen_answer, finalVerdict, score."""
    return P["key"].fullmatch(re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", key).lower()) is not None


def one_of(places: Sequence[int | None], state: str) -> Reading:
    """The one option that some values name; those that name none do not count."""
    named = {place for place in places if place is not None}
    return Reading(named.pop(), state) if len(named) == 1 else Reading(None, CONTRADICTION if named else NONE)


def settled(prose: Prose, last: int, is_cut: bool) -> Reading:
    """The option on which the firmest claims of a text agree, and against which nothing stands behind them."""
    claims = standing(prose, last, is_cut)
    taken_back = max((n for n, claim in enumerate(claims) if claim.takes_back), default=0)
    claims, before = claims[taken_back:], claims[:taken_back]
    level = max((claim.level for claim in claims), default=UNSURE)
    if level == UNSURE:
        return Reading(None, CUT if is_cut else NONE)
    firm = [n for n, claim in enumerate(claims) if claim.level >= (level if level > BETTER else MORE)]
    others = claims[firm[-1] :] if level < FINAL or not prose.options.is_scale else []
    others = [*others, *(claim for claim in claims if claim.level == UNSURE)]
    if level == SHOWN:  # what the line of "[[A]]" says
        others += [c for c in claims if c.line == claims[firm[-1]].line and c.level >= BETTER]
    chosen = {claims[n].place for n in firm}
    if len(chosen | {claim.place for claim in others}) > 1:
        return Reading(None, TWO)
    place = chosen.pop()
    if prose.denied.get(place, -1) > prose.claims.index(claims[firm[-1]]) or prose.doubted - {place}:
        return Reading(None, CONTRADICTION)
    if level == SHOWN:
        return Reading(place, PATTERN)
    is_first = claims[0].line == 0 and claims[0].kind != "stated" and not before
    return Reading(place, (FIRST_LINE if last else WHOLE) if is_first else PROSE)


def standing(prose: Prose, last: int, is_cut: bool) -> list[Claim]:
    """The claims that count: no headings, nothing in a list of the options, and no comparisons in a cut reply."""
    labels = {claim.line: claim.place for claim in reversed(prose.claims) if claim.kind == "label"}
    is_list = len({*labels.values()}) > 1  # "A: ..." and in another line "B: ..."
    headings = {claim.place for claim in prose.claims if claim.kind == "alone" and claim.is_noun}
    is_stated = any(claim.kind == "stated" and claim.level >= STATED for claim in prose.claims)

    def counts(claim: Claim) -> bool:
        if is_list and claim.line in labels:
            return False
        if claim.kind == "label":
            return claim.line in (0, None if is_cut else last) and not (claim.is_noun and (is_cut or is_stated))
        if claim.kind == "alone" and claim.is_noun and last:  # "Response A", a heading unless it is the only one
            return len(headings) == 1 and not is_cut and claim.line in (0, last)
        return not (is_cut and claim.level < STATED)

    return list(filter(counts, prose.claims))

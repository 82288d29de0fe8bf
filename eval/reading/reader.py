"""What a judge wrote → the option that it answers with, or a named reason why there is none: the one reader of all studies.

Evidence counts in this order, and its name is in the state: the verdict's key in JSON; the study's own pattern, or a form that judges
are told to write ("[[A]]"); the reply as a whole; its first line; what its prose claims (prose.py). Where two options stand, or the
option and its text disagree, nothing is read: a wrong verdict is worse than none. Thoughts are removed first.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from eval.reading.objects import values_of, without_thinking
from eval.reading.options import PRESETS, Options, options_of
from eval.reading.prose import ALONE, BETTER, FINAL, MORE, SHOWN, STATED, UNSURE, Claim, Framing, Prose, compiled

JSON, PATTERN, WHOLE, FIRST_LINE, PROSE = "json", "pattern", "whole", "first line", "prose"
READ = (JSON, PATTERN, WHOLE, FIRST_LINE, PROSE)
NONE, TWO, CONTRADICTION, CUT = "none", "two answers", "contradiction", "cut"


class Reading(NamedTuple):
    """The place of the option that a reply answers with, or None, and how it was read, or why not."""

    place: int | None
    state: str


KEY = compiled(
    r"(?:(?:final|overall|chosen|choose|selected|assigned|predicted|my|your|the|best|better|winning|preferred|correct) ?)*(?:{verdict}|better|best|overall|final)(?: (?:number|id|label))?"
    r"|(?:best|better|winning|preferred|chosen|(?:more |most )?popular) {noun}"
)
TURNS = compiled(
    r"\W*(?:but|yet|however|although|on the other hand|aber|jedoch|mais|pero)(?!\w)"
)  # what is cut off says otherwise
CORRECTED = compiled(r"{back}|(?<!\w)(?:correct|revis)(?:ed|ion)(?!\w)")
SENTENCE_END = re.compile(r"[.!?;。][\"')\]]*(?=\s|$)|\n")
FINAL_WORDS = compiled(r"(?:{final}\W+)?{verdict}\W*{is}\W*([^\n]{1,80})")


def read(
    text: str,
    symbols: Sequence[str],
    texts: Sequence[str] = (),
    *,
    pattern: re.Pattern[str] | None = None,
    framing: str = "",
    is_cut: bool = False,
) -> Reading:
    """What a reply says. symbols: what it may name; texts: the answers that these stand for, where they are no texts themselves.

    pattern: of the study, with the answer in its first group; its last match counts. framing: what the prompt says that the
    judge may quote. is_cut: the reply reached its longest length, so that its last sentence has no end.
    """
    options = options_of(tuple(symbols), tuple(texts))
    text = without_thinking(text).strip()
    if not text:
        return Reading(None, CUT if is_cut else NONE)
    if is_cut and any(symbol != text and symbol.startswith(text) for symbol in symbols):  # "1" of "10"
        return Reading(None, CUT)
    if text in options.symbols:
        return Reading(options.symbols.index(text), WHOLE)
    whole = text
    values, text = values_of(text, is_key)
    if values:
        places = [written(value, options).place for value in values]
        return one_of(places[-1:] if CORRECTED.search(text.lower()) else places, JSON)
    if not options.is_short and (values := values_of(whole, lambda key: True)[0]):  # {"safety": "unsafe"}
        return one_of([place for place, state in (written(value, options) for value in values) if state == WHOLE], JSON)
    return written(text, options, pattern, framing, is_cut)


def written(
    text: str, options: Options, pattern: re.Pattern[str] | None = None, framing: str = "", is_cut: bool = False
) -> Reading:
    """What a text without JSON says."""
    if pattern and (found := [match[match.lastindex or 0] for match in pattern.finditer(text)]):
        return one_of([stated_in(found[-1], options).place], PATTERN)
    return stated_in(text, options, framing, is_cut)


def valid_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern of a preset's name, or of a regular expression. Raises ValueError saying what is wrong with it."""
    try:
        compiled_pattern = (
            FINAL_WORDS if pattern == "final" else re.compile(PRESETS.get(pattern, pattern), re.IGNORECASE)
        )
    except re.error as error:
        names = ", ".join([*PRESETS, "final"])
        raise ValueError(f"'{pattern}' is no regular expression ({error}); write one, or a name: {names}") from None
    if compiled_pattern.groups > 1:
        raise ValueError(
            f"'{pattern}' has {compiled_pattern.groups} groups; put the answer in one, and (?:...) elsewhere"
        )
    return compiled_pattern


def is_key(key: str) -> bool:
    """Whether a key of JSON is that of a verdict: chosen_answer, finalVerdict, score."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", key).lower()
    return KEY.fullmatch(spaced) is not None


def one_of(places: Sequence[int | None], state: str) -> Reading:
    """The one option that some values name; those that name none do not count."""
    named = {place for place in places if place is not None}
    return Reading(named.pop(), state) if len(named) == 1 else Reading(None, CONTRADICTION if named else NONE)


def stated_in(text: str, options: Options, framing: str = "", is_cut: bool = False) -> Reading:
    """What the prose of a text says."""
    marked, is_turned = options.marked(text), False
    if is_cut and not ALONE.fullmatch(marked.rpartition("\n")[2]):
        end = max((end.end() for end in SENTENCE_END.finditer(marked)), default=0)
        marked, is_turned = marked[:end], bool(TURNS.match(marked[end:]))
    lines = [line for line in marked.splitlines() if re.search(r"[\w\ue000-\uf8ff]", line)]
    if not lines or is_turned:
        return Reading(None, CUT if is_cut else NONE)
    prose = Prose(lines, options, Framing(options.marked(framing)))
    return settled(prose, len(lines) - 1, is_cut)


def settled(prose: Prose, last: int, is_cut: bool) -> Reading:
    """The option on which the firmest claims of a text agree, and against which nothing stands behind them."""
    claims = standing(prose, last, is_cut)
    taken_back = max((n for n, claim in enumerate(claims) if claim.takes_back), default=0)
    level = max((claim.level for claim in claims[taken_back:]), default=UNSURE)
    if level == UNSURE:
        return Reading(None, CUT if is_cut else NONE)
    firm = [n for n, claim in enumerate(claims) if n >= taken_back and claim.level >= min(level, max(STATED, level))]
    firm = [n for n in firm if claims[n].level >= (level if level > BETTER else MORE)]
    chosen = {claims[n].place for n in firm}
    behind = {claim.place for claim in claims[firm[-1] :]} if level < FINAL or not prose.options.is_scale else chosen
    with_it = [claim for claim in claims[taken_back:] if claim.level == UNSURE]  # and, of "[[A]]", what its line says
    if level == SHOWN:
        with_it += [claim for claim in claims if claim.line == claims[firm[-1]].line and claim.level >= BETTER]
    if len(chosen) > 1 or behind | {claim.place for claim in with_it} != chosen:
        return Reading(None, TWO)
    place = chosen.pop()
    if prose.denied.get(place, -1) > prose.claims.index(claims[firm[-1]]) or prose.doubted - {place}:
        return Reading(None, CONTRADICTION)
    if level == SHOWN:
        return Reading(place, PATTERN)
    is_first = claims[0].line == 0 and claims[0].kind in ("alone", "label") and not taken_back
    return Reading(place, (FIRST_LINE if last else WHOLE) if is_first else PROSE)


def standing(prose: Prose, last: int, is_cut: bool) -> list[Claim]:
    """The claims that count: without headings and what they head, and of a reply that was cut off without its comparisons."""
    labels = {claim.line: claim.place for claim in reversed(prose.claims) if claim.kind == "label"}
    is_list = len({*labels.values()}) > 1  # "A: ..." and in another line "B: ..."
    headings = {claim.place for claim in prose.claims if claim.kind == "alone" and claim.is_noun}
    is_stated = any(claim.kind == "stated" and claim.level >= STATED for claim in prose.claims)

    def counts(claim: Claim) -> bool:
        if is_list and claim.line in labels:
            return False
        if claim.kind == "label":
            return claim.line in (0, None if is_cut else last) and not (claim.is_noun and (is_cut or is_stated))
        if claim.kind == "alone" and claim.is_noun:
            return (
                last == 0
                or (len(headings) == 1 and not is_cut and claim.line == last)
                or (claim.line == 0 and len(headings) == 1 and not is_cut)
            )
        return not (is_cut and claim.level < STATED)

    return list(filter(counts, prose.claims))

"""What a judge wrote → the option that it answers with, or a named reason why there is none: the one reader of all studies.

Evidence counts in this order, and its name is in the state: the verdict's key in JSON; the study's own pattern, or a form that judges
are told to write ("[[A]]"); the reply as a whole; its first line; what its prose claims (prose.py). Where two options stand, or the
option and its text disagree, nothing is read: a wrong verdict is worse than none. Thoughts are removed first.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from eval.reading.objects import values_of, without_thinking
from eval.reading.options import Options, options_of, plain
from eval.reading.prose import ALONE, STATED, Claim, Framing, Prose, compiled

JSON, PATTERN, WHOLE, FIRST_LINE, PROSE = "json", "pattern", "whole", "first line", "prose"
READ = (JSON, PATTERN, WHOLE, FIRST_LINE, PROSE)
NONE, TWO, CONTRADICTION, CUT = "none", "two answers", "contradiction", "cut"

# What judges are told to write, by the name under which a study can ask for it alone.
PRESETS = {
    "[[A]]": r"\[\[(.{1,40}?)\]\]",
    "[RESULT]": r"\[RESULT\][:\s]*(\S{1,40})",
    "boxed": r"\\boxed\{+(?:\\text\{)?([^{}]{1,40})\}",
    "answer tag": r"<answer>\s*([^<>]{1,40}?)\s*</answer>",
    "marked": r"<<<([^<>]{1,40})>>>",
}


class Reading(NamedTuple):
    """The place of the option that a reply answers with, or None, and how it was read, or why not."""

    place: int | None
    state: str


KEY = compiled(
    r"(?:(?:final|overall|chosen|choose|selected|my|your|the|best|better|winning|preferred|correct) ?)*(?:{verdict}|better|best)(?: (?:number|id|label))?"
    r"|(?:best|better|winning|preferred|chosen) {noun}"
)
PRESET = re.compile("|".join(f"(?:{pattern})" for pattern in PRESETS.values()), re.IGNORECASE)
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
    text = without_thinking(text)
    if not text.strip():
        return Reading(None, CUT if is_cut else NONE)
    values, text = values_of(text, is_key)
    if values:
        return one_of([written(value, options).place for value in values], JSON)
    return written(text, options, pattern, framing, is_cut)


def written(
    text: str, options: Options, pattern: re.Pattern[str] | None = None, framing: str = "", is_cut: bool = False
) -> Reading:
    """What a text without JSON says."""
    if pattern and (found := [match[match.lastindex or 0] for match in pattern.finditer(text)]):
        return one_of([stated_in(found[-1], options).place], PATTERN)
    presets = [next(filter(None, match.groups())) for match in PRESET.finditer(text)]
    if presets:
        return one_of([stated_in(value, options).place for value in presets], PATTERN)
    return stated_in(text, options, framing, is_cut)


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
    marked = options.marked(plain(text))
    if is_cut and not ALONE.fullmatch(marked.rpartition("\n")[2]):
        marked = marked[: max((end.end() for end in SENTENCE_END.finditer(marked)), default=0)]
    lines = [line for line in marked.splitlines() if re.search(r"[\w\ue000-\uf8ff]", line)]
    if not lines:
        return Reading(None, CUT if is_cut else NONE)
    prose = Prose(lines, options, Framing(options.marked(plain(framing))))
    return settled(prose, len(lines) - 1, is_cut)


def settled(prose: Prose, last: int, is_cut: bool) -> Reading:
    """The option on which the firmest claims of a text agree, and against which nothing stands behind them."""
    def is_heading(claim: Claim) -> bool:
        return last > 0 and (is_cut or claim.line < last)

    first_labels = {claim.line: claim.place for claim in reversed(prose.claims) if claim.kind == "label"}
    is_list = len({*first_labels.values()}) > 1  # "A: ..." and in another line "B: ..."
    claims = [
        claim
        for claim in prose.claims
        if not (is_list and claim.line in first_labels)
        and (claim.kind != "label" or claim.line in (0, None if is_cut else last))
        and not (claim.is_noun and ((claim.kind == "label" and is_cut) or (claim.kind == "alone" and is_heading(claim))))
        and not (is_cut and claim.level < STATED)
    ]
    taken_back = max((n for n, claim in enumerate(claims) if claim.takes_back), default=0)
    claims = claims[taken_back:]
    if not claims:
        return Reading(None, CUT if is_cut else NONE)
    level = max(claim.level for claim in claims)
    if level < STATED:
        level = 0
    firm = [n for n, claim in enumerate(claims) if claim.level >= level]
    chosen = {claims[n].place for n in firm}
    if len(chosen) > 1 or {claim.place for claim in claims[firm[-1] :]} != chosen:
        return Reading(None, TWO)
    place = chosen.pop()
    if prose.denied.get(place, -1) >= firm[-1] + taken_back + 1 or prose.doubted - {place}:
        return Reading(None, CONTRADICTION)
    is_first = claims[0].line == 0 and claims[0].kind in ("alone", "label") and not taken_back
    return Reading(place, (FIRST_LINE if last else WHOLE) if is_first else PROSE)

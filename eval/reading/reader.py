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

from eval.reading.objects import values_of
from eval.reading.options import PRESETS, Options, options_of, words_only
from eval.reading.prose import ALONE, FINAL, LABEL, LONGEST_CLAUSE, NAMED, SHOWN, STATED, Claim, Prose, Quotable
from eval.reading.vocabulary import M, P, Vocabulary, place_of
from evenhand.thoughts import without_thinking

JSON, PATTERN, WHOLE, FIRST_LINE, PROSE = READ = ("json", "pattern", "whole", "first line", "prose")
NONE, TWO, CONTRADICTION, CUT = UNREAD = ("none", "two answers", "contradiction", "cut")
LONGEST = 5_000  # characters of prose; of more, its two ends
TRUTH = options_of(("correct", "incorrect"), ())


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
    words: Vocabulary = P,
) -> Reading:
    """What a reply says. symbols: what it may name; texts: the answers that these stand for, if they are not the same.

    pattern: the study's own, with the answer in its group; its last match counts. quotable: what the prompt says that
    the judge may quote. is_cut: the reply reached its longest length, so that its last sentence has no end.
    words: the study's own vocabulary.
    """
    options = options_of(tuple(symbols), tuple(texts))
    text = without_thinking(text).strip()
    if is_cut and any(symbol != text and symbol.startswith(text) for symbol in symbols):  # nothing, or "1" of "10"
        return Reading(None, CUT)
    if text in options.symbols:
        return Reading(options.symbols.index(text), WHOLE)
    values, prose = values_of(text, lambda key: is_key(key, "true_key" if options.polar else "key"))
    if values:
        behind = text.rpartition("}")[2] if "}" in text else ""
        said = written(behind, options, pattern, quotable, is_cut, words).place
        if P["corrected"].search(behind.lower()):
            return Reading(said, CONTRADICTION if said is None else PROSE)
        counted = values[-1:] if P["corrected"].search(prose.lower()) else dict.fromkeys(values)
        places = {written(value, options).place for value in counted}
        if any(place is not None for place in places):  # and no other key says another
            others = values_of(text, lambda key: not is_key(key))[0]
            places |= {options.forms.get(words_only(value)) for value in others}
            truths = [written(value, TRUTH, quotable=quotable).place for value in others if options.polar]
            places |= {options.polar[truth] for truth in truths if options.polar and truth is not None}
        return one_of([*places, said], JSON)
    if is_cut and P["unfinished"].search(prose):
        return Reading(None, CUT)
    reading = written(prose, options, pattern, quotable, is_cut, words)
    keyed = options.marked(re.sub("[\"']", "", text)) if reading.state == NONE and prose != text else ""
    return (tabled(keyed, words) if not re.search(r"\w", words["row"].sub("", keyed)) else None) or reading


def written(
    text: str,
    options: Options,
    pattern: re.Pattern[str] | None = None,
    quotable: str = "",
    is_cut: bool = False,
    words: Vocabulary = P,
) -> Reading:
    """What a text without JSON says."""
    if pattern and (found := [match[match.lastindex or 0] for match in pattern.finditer(text)]):
        return one_of([written(found[-1], options).place], PATTERN)
    marked = options.marked(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}")
    marked = P["heading"].sub(r"\g<verdict>: ", marked)
    last_line = marked.rpartition("\n")[2]
    if is_cut and not (len(last_line) <= LONGEST_CLAUSE and P["alone"].fullmatch(last_line)):
        end = max((end.end() for end in P["sentence_end"].finditer(marked)), default=0)
        marked = marked[:end]
    lines = [line for line in marked.splitlines() if re.search(r"[\w\ue000-\uf8ff]", line)]
    if not lines:
        return Reading(None, CUT if is_cut else NONE)
    reading = settled(Prose(lines, options, quotable_of(options.symbols, quotable), words), len(lines) - 1, is_cut)
    return reading if is_cut or reading.place is not None else tabled(marked, words) or reading


def tabled(marked: str, words: Vocabulary) -> Reading | None:
    """The option of a table of all that are named: the only one with a yes, or that with the largest share."""
    rows = [*words["row"].finditer(marked)]
    values = {place_of(row["m"]): float(row["share"] or row["yes"] is not None) for row in rows}
    best = max(values, key=lambda place: values[place], default=0)
    is_whole = len(values) == len(rows) > 1 and set(values) == {place_of(mention) for mention in re.findall(M, marked)}
    is_one = is_whole and len({not row["share"] for row in rows}) == [*values.values()].count(values[best]) == 1
    return Reading(best, PROSE) if is_one else None


@lru_cache(maxsize=256)
def quotable_of(symbols: tuple[str, ...], text: str) -> Quotable:
    """What a prompt says that a reply may quote, without the symbols in it."""
    return Quotable(options_of(symbols, ()).marked(text))


def valid_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern of a preset's name, or of a regular expression. Raises ValueError saying what is wrong with it."""
    try:
        own = P.text("final_words") if pattern == "final" else PRESETS.get(pattern, pattern)
        expression = re.compile(own, re.IGNORECASE)
    except re.error as error:
        names = ", ".join([*PRESETS, "final"])
        raise ValueError(f"'{pattern}' is no regular expression ({error}); write one, or a name: {names}") from None
    if expression.groups > 1:
        raise ValueError(f"'{pattern}' has {expression.groups} groups; put the answer in one, and write (?:...) else")
    return expression


def is_key(key: str, pattern: str = "key") -> bool:
    """Whether a key of JSON is that of a verdict: chosen_answer, finalVerdict, score."""
    return P[pattern].fullmatch(re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", key).lower()) is not None


def one_of(places: Sequence[int | None], state: str) -> Reading:
    """The one option that some values name; those that name none do not count."""
    named = {place for place in places if place is not None}
    return Reading(named.pop(), state) if len(named) == 1 else Reading(None, CONTRADICTION if named else NONE)


def settled(prose: Prose, last: int, is_cut: bool) -> Reading:
    """The option on which the firmest claims of a text agree, and against which nothing stands behind them."""
    claims = standing(prose, last, is_cut)
    level = max((claim.level for claim in claims if claim.level is not None), default=None)
    if level == NAMED:
        return only_named(claims, prose.options, is_cut)
    claims = [claim for claim in claims if claim.place >= 0 or claim.is_contrast]
    claims = [claim._replace(level=None) if claim.level == NAMED else claim for claim in claims]
    if level is None:
        return Reading(None, CUT if is_cut else NONE)
    firm = [
        n for n, claim in enumerate(claims) if claim.level == level or (level <= STATED and claim.level is not None)
    ]
    chosen, behind = claims[firm[-1]], claims[firm[-1] :]
    against = {claims[n].place for n in firm[-1 if chosen.is_conclusion and level <= STATED else 0 :]}
    is_open = level < STATED and not (prose.begins and claims[0].level == ALONE)  # "A", and reasons, which may name B
    against |= {claim.place for claim in behind if claim.is_contrast or claim.level is not None or is_open}
    if against != {chosen.place}:
        return Reading(None, TWO)
    if level == SHOWN:
        return Reading(chosen.place, PATTERN)
    is_first = chosen.level in (LABEL, ALONE) and claims[0].place == chosen.place and not claims[0].line
    return Reading(chosen.place, (FIRST_LINE if last else WHOLE) if is_first else PROSE)


def only_named(claims: list[Claim], options: Options, is_cut: bool) -> Reading:
    """The option that a text names where it announces none: the only one, or that of its conclusion.

    Words of any sentence ("yes", an option's text) say something in a conclusion alone.
    """
    last = claims[-1]
    is_distinct = last.place not in options.common and (options.polar is not None or not options.texts)
    is_only = len({claim.place for claim in claims}) == 1 or last.is_contrast
    if is_cut or last.level is None or not (last.is_conclusion or (is_only and is_distinct)):
        return Reading(None, CUT if is_cut else TWO)
    return Reading(last.place, PROSE)


def standing(prose: Prose, last: int, is_cut: bool) -> list[Claim]:
    """The claims that count: no headings, and nothing in a list of the options.

    In a reply that was cut off, what a sentence behind the first one claims may be still taken back.
    """
    claims = [
        claim._replace(level=None, is_contrast=True)
        if is_cut and n >= prose.n_opening and claim.level is not None and claim.level < FINAL
        else claim
        for n, claim in enumerate(prose.claims)
    ]
    labels = [claim for claim in claims if claim.level == LABEL]
    listed = {claim.line for claim in labels} if len({claim.place for claim in labels}) > 1 else set[int]()
    by_line = {claim.line: claim.place for claim in claims if claim.level in (LABEL, ALONE) and claim.line < last}
    if sorted(by_line.values()) == [*range(len(prose.options.symbols))]:  # the prompt's list of all options
        listed |= set(by_line)
    headings = {claim.place for claim in claims if claim.level == ALONE and claim.is_noun}

    def counts(claim: Claim) -> bool:
        if claim.line in listed:
            return False
        if claim.level == LABEL:
            return claim.line in (0, None if is_cut else last) and not (is_cut and (claim.is_noun or prose.may_list))
        if claim.level == ALONE and claim.is_noun and last:  # "Response A", a heading unless it is the only one
            return len(headings) == 1 and not is_cut and claim.line in (0, last)
        return not (is_cut and claim.level == NAMED)

    return list(filter(counts, claims))

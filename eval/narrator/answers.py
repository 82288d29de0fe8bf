"""A reply → the option it names, or the named reason why there is none (narrator paper, section 3.6).

The paper matches replies to the options "after removing common preambles" and says no more. Here a reply is read in
this order; the first step that finds an option decides, and nothing is guessed:

1. The whole reply, or its first line, is an option: alone, after preambles, within markup or punctuation; in any case.
2. The first line begins with an option: that is the answer, and an explanation follows ("Ann. Bob was calm.", "Ann
   made a personal attack on Bob"). A second option in a list ("Ann and Bob", "Ann, Bob", one under the other) makes it
   ambiguous, and so do words that turn it around ("Ann did not", "Ann was insulted by").
3. What follows "Answer:", "the answer is" further on, by the same rules; two that differ are ambiguous.
4. The one option that the reply names anywhere, not counting those it denies ("not Ann"); two are ambiguous, and one
   with such words after it.

Within sentences names are matched as they are written, so that "me" is no Me and "will" no Will; a name with a digit
or a mark in it is no word and is matched in any case. A speaker called like a function word ("Yes", "The") is only
found where it stands alone. Of names that contain each other the longest wins.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from eval.narrator.names import Mention, Names
from eval.narrator.preambles import MARKER, UNENDED_THOUGHTS, own_words, peelings
from eval.narrator.spelling import plain
from studies.narrator.prompts import ME, NO, YES

State = Literal["chosen", "ambiguous", "off_list", "empty", "truncated", "error"]
STATES: tuple[State, ...] = ("chosen", "ambiguous", "off_list", "empty", "truncated", "error")

MOST_MARKERS = 4  # a reply that loops has thousands
SENTENCE_END = re.compile(r"[.!?…。！？؟][\"')\]*_]*(?=\s|$)|\n")
CLOSED = re.compile(r"[*_`\")\]}>]*'?(?!s\b)[*_`\"]*")  # what closes around a name; "'s" is none
LIST = re.compile(r"\s*(?:[,،，/&+|]\s*(?:and\b|or\b|&)?|and\b|or\b)\s*", re.IGNORECASE)
BREAK = re.compile(r"\s*(?:$|[.!?:;…。，：；،؛؟(\[|—–]|-\s|-$|\n)\s*")
TURNED = re.compile(
    r"""\s+(?:(?:is|was|has|had|did|does|would|could|can|may|might)\s+not\b(?!\s+only\b) | \w+n't\b | never\b
      | (?:\w+\s+){0,2}?(?:is|was|got|been|being)\s+(?:\w+\s+)?\w+(?:ed|en)\s+by\b)""",
    re.IGNORECASE | re.VERBOSE,
)
COMMA = re.compile(r"\s*,\s*")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply says. option: one of the options as shown, where the state is "chosen", else None."""

    state: State
    option: str | None = None


AMBIGUOUS, OFF_LIST = Answer("ambiguous"), Answer("off_list")


def read_answer(text: str, options: Sequence[str], finish_reason: str = "stop") -> Answer:
    """What a reply to a narrator prompt says. options: as the prompt lists them.

    ambiguous: it names two options or more, or one that cannot be told from another, or one without saying that it is
    the answer. off_list: it names none. empty: nothing but blanks. truncated: it was cut off before it named one, or
    where more words could still have changed which. error: the engine gave no reply.
    """
    if finish_reason.startswith("error"):
        return Answer("error")
    if not text.strip():
        return Answer("empty")
    is_cut = finish_reason == "length"
    if UNENDED_THOUGHTS.match(text):
        return Answer("truncated") if is_cut else OFF_LIST
    answer, is_settled = reading(own_words(text), names_of(tuple(options)))
    if is_cut and (answer == OFF_LIST or (answer.option is not None and not is_settled)):
        return Answer("truncated")
    return answer


@lru_cache(maxsize=256)
def names_of(options: tuple[str, ...]) -> Names:
    """The options prepared for matching; a run has many replies to the same ones."""
    designed = {YES, NO} if options == (YES, NO) else {ME}
    return Names(options, designed)


def reading(text: str, names: Names) -> tuple[Answer, bool]:
    """(what a reply says, whether more words could not have changed it)."""
    if text.strip() in names.options:
        return Answer("chosen", text.strip()), not names.is_extended(text)
    said = plain(text)
    found = first_line_reading(said, names)
    if found is None:
        found = marked_reading(said, names)
    return found if found is not None else anywhere(said, names)


def first_line_reading(said: str, names: Names) -> tuple[Answer, bool] | None:
    """What a reply says with its first line, or None where that neither is nor begins with an option."""
    first, _, rest = said.partition("\n")
    lines = peelings(first, names.has)
    for line in lines:
        if whole := names.whole(line):
            others = names.whole(peelings(rest.strip().partition("\n")[0], names.has)[-1])
            return (one_of({*whole, *others}), bool(rest) or not names.is_extended(line))
    for line in reversed(lines):
        start = names.at_start(line)
        if start is not None and (found := opening(f"{line}\n{rest}" if rest else line, start, names)):
            return found
    return None


def opening(text: str, start: Mention, names: Names) -> tuple[Answer, bool] | None:
    """What a text says that begins with an option; None where that option does not count in a sentence."""
    end = closed_end(text, start)
    listed = LIST.match(text, end)
    if listed and (other := names.at_start(text[listed.end() :])) and other.choices != start.choices:
        return AMBIGUOUS, True
    pause = BREAK.match(text, end) or (COMMA.match(text, end) if not names.is_word(start) else None)
    if pause:
        rest = text[pause.end() :]
        other = names.at_start(rest)
        if other and other.choices != start.choices and BREAK.match(rest, closed_end(rest, other)):
            return AMBIGUOUS, True
        return one_of(start.choices), bool(rest) or pause.end() > end or not names.is_extended(text[:end])
    if not names.counts_in_sentences(start):
        return None
    if TURNED.match(text, end) or (listed and names_another(text, start, names)):
        return AMBIGUOUS, True
    return one_of(start.choices), True


def names_another(text: str, start: Mention, names: Names) -> bool:
    """Whether a text's first sentence, which begins with an option, names another one."""
    mentions = names.mentions(text)
    stop = sentence_end(text, [start, *mentions])
    return any(mention.start < stop and mention.choices != start.choices for mention in mentions)


def closed_end(text: str, mention: Mention) -> int:
    """Where a name's closing markup ends."""
    closed = CLOSED.match(text, mention.end)
    return closed.end() if closed else mention.end


def sentence_end(text: str, mentions: Sequence[Mention]) -> int:
    """Where the first sentence ends; a stop within a name ("J. R.") ends none."""
    for found in SENTENCE_END.finditer(text):
        if not any(mention.start <= found.start() < mention.end for mention in mentions):
            return found.end()
    return len(text)


def marked_reading(said: str, names: Names) -> tuple[Answer, bool] | None:
    """What a reply says after "Answer:" or "the answer is"; None where nothing does."""
    announced = [said[marker.end() :].lstrip() for marker in [*MARKER.finditer(said)][-MOST_MARKERS:]]
    found = [first_line_reading(text, names) for text in announced]
    known = [answer for answer in found if answer is not None]
    if not known:
        return None
    is_one = len({answer for answer, _ in known}) == 1
    return known[-1] if is_one else (AMBIGUOUS, True)


def anywhere(said: str, names: Names) -> tuple[Answer, bool]:
    """What a reply says that neither begins with an option nor announces one: the only option in it, or none.

    Never settled: further words could have named another.
    """
    mentions = names.mentions(said)
    if any(TURNED.match(said, closed_end(said, mention)) for mention in mentions):
        return AMBIGUOUS, True
    named = {choice for mention in mentions for choice in mention.choices}
    return (one_of(named) if named else OFF_LIST), False


def one_of(choices: set[str] | Sequence[str]) -> Answer:
    """The option, where there is one; several cannot be told apart."""
    return Answer("chosen", next(iter(choices))) if len(choices) == 1 else AMBIGUOUS

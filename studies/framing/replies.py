"""A reply to a framed prompt as the places of the symbols that it names: what sampling goes on from and eval counts."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from eval.reading.reader import Reading, read
from evenhand.records import Completion

CHOSEN, TIE, UNPARSED = "chosen", "tie", "unparsed"


class Choice(NamedTuple):
    """Which symbols a reply names, by their places: one, several where they are tied, or none and why."""

    places: tuple[int, ...]
    state: str = CHOSEN
    reading: str = ""  # of a text, how it was read, or why not: a state of eval.reading.reader

    @property
    def place(self) -> int | None:
        """The one symbol; None where there is none, or a tie."""
        return self.places[0] if self.state == CHOSEN else None


read_once = lru_cache(maxsize=4096)(read)  # a judge says much the same often, and each arm reads its base's replies


def choice_in(
    reply: Completion,
    symbols: Sequence[str],
    texts: Sequence[str] = (),
    quotable: str = "",
    pattern: re.Pattern[str] | None = None,
) -> Choice:
    """What a reply says. Of log-probabilities the likeliest symbols; two that are equally likely are a tie.

    Of a text what eval.reading reads in it: texts are the answers that the symbols stand for, quotable what the prompt
    says that a reply may quote, pattern the study's own.
    """
    if reply.is_error:
        return Choice((), UNPARSED)
    if reply.answer_logprobs is not None:
        if not reply.answer_logprobs.keys() >= {*symbols}:
            return Choice((), UNPARSED)
        logs = [reply.answer_logprobs[symbol] for symbol in symbols]
        places = tuple(place for place, log in enumerate(logs) if log == max(logs))
        return Choice(places, CHOSEN if len(places) == 1 else TIE)
    is_cut = reply.finish_reason == "length"
    named = tuple(symbols), tuple(texts)
    reading: Reading = read_once(reply.text, *named, pattern=pattern, quotable=quotable, is_cut=is_cut)
    if reading.place is None:
        return Choice((), UNPARSED, reading.state)
    return Choice((reading.place,), CHOSEN, reading.state)

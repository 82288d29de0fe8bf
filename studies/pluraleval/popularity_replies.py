"""What a model replies to prompts 4 to 7: a choice of two, and a ranking. Whatever it is, it has a named state."""

import re

from evenhand.records import Completion
from studies.json_replies import MALFORMED, OK, broken, said
from studies.pluraleval.reply_reading import OUT_OF_RANGE, Read

PARTIAL_RANKING, REPEATED = "partial", "repeated"
FIRST = re.compile(r"\W*(?:option|opinion|summary|answer)?\W*([12])\b(?!\W*(?:or|and)?\W*[12]\b)", re.IGNORECASE)


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

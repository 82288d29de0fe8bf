"""The columns choice, response and error → what each reply decides."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.measures import ACCEPT, ERROR, REJECT, UNREADABLE
from eval.dialdefer.parsing import PARSERS
from eval.verdict_files import Absent, Batch
from evenhand.sources.record_fields import shown

# What a choice may be. A whole number written as a fraction is what pandas makes of a column that has nulls.
CHOICES: dict[Any, int] = {None: UNREADABLE}
CHOICES |= dict.fromkeys((1, "1", "1.0"), ACCEPT) | dict.fromkeys((2, "2", "2.0"), REJECT)
CHOICE_TYPES = {int, float, str, type(None), Absent}
NO_ERROR = ("", "false", "0", "none", "null", "nan")  # words in the column `error` that say that there was none


class BadValue(Exception):
    """A value that a column cannot take; `row` counts within the batch."""

    def __init__(self, row: int, column: str, problem: str) -> None:
        super().__init__(problem)
        self.row, self.column = row, column


def replies_of(batch: Batch, parser: str) -> dict[str, NDArray[Any]]:
    """`replies` (int8, codes as in Panel), `parsed` (whether read here) and `unread_<parser>` for each parser.

    A choice that is null is a reply that nobody could read. Where there is no choice the response is parsed. A row with
    an error is no reply. Raises BadValue.
    """
    choices = batch.column("choice")
    refuse_choices(choices)
    replies = np.fromiter((CHOICES.get(choice, UNREADABLE) for choice in choices), np.int8, len(choices))
    failed = np.fromiter(map(is_failure, batch.column("error")), np.bool_, len(choices))
    refuse_both(replies, failed)
    absent = np.fromiter((choice is Absent.FIELD for choice in choices), np.bool_, len(choices))
    parsed = absent & ~failed
    texts = texts_at(batch.column("response"), np.flatnonzero(parsed).tolist())
    found: dict[str, NDArray[Any]] = {"parsed": parsed}
    for name, parse in PARSERS.items():
        read = np.fromiter((CHOICES[parse(text)] for text in texts), np.int8, len(texts))
        unread = (replies == UNREADABLE) & ~failed
        unread[parsed] = read == UNREADABLE
        found[f"unread_{name}"] = unread
        if name == parser:
            chosen = read
    replies[parsed] = chosen
    replies[failed] = ERROR
    return {**found, "replies": replies}


def refuse_choices(choices: Sequence[Any]) -> None:
    """Raises BadValue for the first choice that is none."""
    wrong_types = set(map(type, choices)) - CHOICE_TYPES
    if wrong_types or not dict.fromkeys(choices).keys() <= {*CHOICES, Absent.FIELD}:
        for row, choice in enumerate(choices):
            # Types first: True equals 1, and a list is no key.
            if type(choice) in wrong_types or not (choice is Absent.FIELD or choice in CHOICES):
                raise BadValue(row, "choice", f"must be 1, 2 or null, found {shown(choice)}")


def refuse_both(replies: NDArray[np.int8], failed: NDArray[np.bool_]) -> None:
    """Raises BadValue for the first row that has an error and a choice."""
    both = np.flatnonzero(failed & (replies > UNREADABLE))
    if len(both):
        raise BadValue(
            int(both[0]), "error", "says that there was no reply, yet the row has a choice; keep one of them"
        )


def texts_at(responses: Sequence[Any], rows: Sequence[int]) -> list[str]:
    """The responses of some rows. Raises BadValue for one that is no text."""
    texts = []
    for row in rows:
        response = responses[row]
        if not isinstance(response, str):
            if response is None or response is Absent.FIELD:
                fix = "write null as the choice of an unreadable reply, or why there is no reply into `error`"
                raise BadValue(row, "choice", f"is absent, and so is a response to read it from; {fix}")
            raise BadValue(row, "response", f"must be a text, found {shown(response)}")
        texts.append(response)
    return texts


def is_failure(value: Any) -> bool:
    """Whether a value of the column `error` says that the engine failed."""
    if isinstance(value, str):
        return value.strip().casefold() not in NO_ERROR
    return value is not Absent.FIELD and bool(value) and value == value  # NaN is what pandas writes for nothing

"""Ten responses in one reply, as prompts 1 to 3 ask for them: a numbered list, read robustly."""

import re
from typing import NamedTuple

from evenhand.records import Completion
from studies.json_replies import CUT, OK, said
from studies.pluraleval.reply_reading import NONE, one_line

N_RESPONSES = 10
FEWER, MORE, UNNUMBERED = "fewer", "more", "unnumbered"
# "1." "1)" "1:" "**1.**" "### 1." "Response 1:" at the start of a line, and what follows on it.
NUMBER = re.compile(
    r"^[ \t>#*_]*(?:(?:response|reply|comment|option)[ \t]*)?\(?(\d{1,2})[.):][*_]*[ \t]*", re.IGNORECASE | re.MULTILINE
)
BULLET = re.compile(r"^[ \t]*[-*•][ \t]+", re.MULTILINE)


class Listed(NamedTuple):
    """The responses of a reply, and the state that it is in."""

    responses: list[str]  # at most N_RESPONSES, none empty
    state: str  # OK for exactly ten; FEWER, MORE, UNNUMBERED, CUT (fewer, since the reply was cut), NONE


def responses_in(reply: Completion) -> Listed:
    """The responses of a generation's reply.

    Numbers count when they go up from 1 one by one, so that a list within a response, or "3. Mai" at the start of a
    line, does not begin a new one. Without them, bullets or paragraphs are the responses (UNNUMBERED). A response that
    the reply's end cuts off is left out when it is the eleventh or there are others before it.
    """
    text = said(reply).strip()
    starts = rising_numbers(text)
    pieces = [text[match.end() : end] for match, end in starts]
    is_numbered = len(pieces) > 1
    if not is_numbered:
        bullets = BULLET.split(text)[1:]
        pieces = bullets if len(bullets) > 1 else re.split(r"\n\s*\n", text)
    found = [one_line(piece).strip("*_ ") for piece in pieces]
    found = [piece for piece in found if re.search(r"\w", piece)]
    is_cut = reply.finish_reason == "length"
    if is_cut and 1 < len(found) <= N_RESPONSES:
        found = found[:-1]
    if not found:
        return Listed([], NONE)
    if is_cut and len(found) < N_RESPONSES:
        return Listed(found, CUT)
    if not is_numbered:
        return Listed(found[:N_RESPONSES], UNNUMBERED)
    state = OK if len(found) == N_RESPONSES else FEWER if len(found) < N_RESPONSES else MORE
    return Listed(found[:N_RESPONSES], state)


def rising_numbers(text: str) -> list[tuple[re.Match[str], int]]:
    """The numbers 1, 2, 3 ... at starts of lines, each with where its text ends."""
    found: list[re.Match[str]] = []
    for match in NUMBER.finditer(text):
        if int(match[1]) == len(found) + 1:
            found.append(match)
    ends = [*(match.start() for match in found[1:]), len(text)] if found else []
    return list(zip(found, ends, strict=True))

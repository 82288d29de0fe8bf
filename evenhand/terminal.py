"""Text of others for a terminal: items, labels, models' names and servers' words must not steer it."""

import re
import sys
from typing import TextIO

# Control characters but for tab and line feed; what turns the direction of writing around; halves of surrogate pairs.
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: object) -> str:
    r"""The text with every character that a terminal would obey written out: \x1b, \r, \u202e."""
    return STEERS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def say(text: object, file: TextIO | None = None) -> None:
    """Print a text that may hold others' words, to stdout unless a file is given."""
    print(harmless(text), file=file or sys.stdout)

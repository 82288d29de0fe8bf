"""Tables and sentences for a console of 120 columns."""

import textwrap
from collections.abc import Sequence

from eval.report.shown_numbers import aligned

WIDTH = 120


Lines = list[list[str]]


def wrapped(lines: Sequence[str]) -> str:
    """Sentences, each on lines of its own."""
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines)


def block(title: str, lines: Lines) -> str:
    """A titled table."""
    return "\n".join([title, *aligned(lines)])


NAME_WIDTH = 20  # of an arm in a printed table; a longer name is cut in its middle


def short(name: str) -> str:
    """A name that fits its column."""
    if len(name) <= NAME_WIDTH:
        return name
    half = NAME_WIDTH // 2
    return f"{name[:half]}…{name[len(name) - (NAME_WIDTH - half - 1) :]}"

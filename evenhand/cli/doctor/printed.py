"""What doctor found, for people: a block for the machine and one for each config."""

import shutil
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

from evenhand.cli.doctor.check import Check, Examined

MARKS = {"ok": "✓", "wrong": "✗", "unknown": "?"}
NARROWEST = 60


def printed(machine: Sequence[Check], configs: Mapping[str, Examined]) -> str:
    """All blocks, and one line that counts."""
    blocks = [block("this machine", machine)]
    blocks += [
        block(f"{name}{f' ({found.kind})' if found.kind else ''}", found.checks) for name, found in configs.items()
    ]
    counts = Counter(check.state for check in [*machine, *(c for found in configs.values() for c in found.checks)])
    told = f"{counts['ok']} ✓, {counts['wrong']} ✗, {counts['unknown']} ? (not to be known here)"
    return "\n\n".join([*blocks, told])


def block(title: str, checks: Sequence[Check]) -> str:
    """A title, and a line or more for each check."""
    width = max(NARROWEST, shutil.get_terminal_size((100, 24)).columns)
    column = max(len(check.subject) for check in checks) + 6
    return "\n".join([title, *(line for check in checks for line in lines_of(check, column, width))])


def lines_of(check: Check, column: int, width: int) -> list[str]:
    """A check in its column; the way out in lines of its own."""
    head = f"  {MARKS[check.state]} {check.subject}".ljust(column)
    found = wrapped(check.says, head, column, width)
    return [*found, *(wrapped(check.fix, " " * column + "→ ", column + 2, width) if check.fix else [])]


def wrapped(text: str, head: str, column: int, width: int) -> list[str]:
    """Lines of text behind a head, broken between words; a path or command longer than a line is kept whole."""
    whole = " ".join(text.split())
    return textwrap.wrap(
        whole,
        width,
        initial_indent=head,
        subsequent_indent=" " * column,
        break_long_words=False,
        break_on_hyphens=False,
    )

"""What doctor says of one subject: in order, not in order, or not to be known here; and how it is printed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from evenhand.errors import EvenhandError

MARKS = {"ok": "✓", "wrong": "✗", "unknown": "?"}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of doctor's."""

    subject: str  # "driver"
    state: Literal["ok", "wrong", "unknown"]
    says: str
    fix: str = ""  # what to do, where something is to be done and `says` does not say it


def ok(subject: str, says: str) -> Check:
    """In order, or an estimate without a problem."""
    return Check(subject, "ok", says)


def wrong(subject: str, says: str, fix: str = "") -> Check:
    """A job would end with this, or compute something else than is meant."""
    return Check(subject, "wrong", says, fix)


def unknown(subject: str, why: str) -> Check:
    """Unknown here; neither good nor bad."""
    return Check(subject, "unknown", why)


@contextmanager
def checking(checks: list[Check], subject: str, not_known: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Context manager: an error that a user can put right becomes a check of the subject. not_known: errors that only
    say that it cannot be known here."""
    try:
        yield
    except not_known as error:
        checks.append(unknown(subject, str(error)))
    except EvenhandError as error:
        checks.append(wrong(subject, str(error)))


def printed(blocks: Mapping[str, Sequence[Check]]) -> str:
    """A block for the machine and one for each config, and one line that counts."""
    counts = Counter(check.state for checks in blocks.values() for check in checks)
    last = f"{counts['ok']} ✓, {counts['wrong']} ✗, {counts['unknown']} ? (not to be known here)"
    return "\n\n".join([*("\n".join([title, *lines_of(checks)]) for title, checks in blocks.items()), last])


def lines_of(checks: Sequence[Check]) -> list[str]:
    """A line for each check, and one for its way out."""
    column = max(len(check.subject) for check in checks) + 6
    lines = []
    for check in checks:
        lines.append(f"{f'  {MARKS[check.state]} {check.subject}':{column}}{' '.join(check.says.split())}")
        lines += [f"{'':{column}}→ {check.fix}"] * bool(check.fix)
    return lines

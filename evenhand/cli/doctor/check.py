"""What doctor says of one subject: in order, not in order, or not to be known here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

NONE: Mapping[str, float] = {}
State = Literal["ok", "wrong", "unknown"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of doctor's."""

    subject: str  # "driver"
    state: State
    says: str
    fix: str = ""  # what to do, where something is to be done and `says` does not say it
    figures: Mapping[str, float] = field(default_factory=dict)  # the numbers behind an estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What was found out about one config."""

    kind: str  # "sampling", "training"
    checks: list[Check]
    owed: Mapping[str, float] = field(default_factory=dict)  # model still to be downloaded → bytes, where known


def ok(subject: str, says: str, **figures: float) -> Check:
    """In order, or an estimate that nothing speaks against."""
    return Check(subject, "ok", says, figures=figures)


def wrong(subject: str, says: str, fix: str = "", figures: Mapping[str, float] = NONE) -> Check:
    """A job would end with this, or compute something else than is meant."""
    return Check(subject, "wrong", says, fix, figures)


def unknown(subject: str, why: str, fix: str = "", figures: Mapping[str, float] = NONE) -> Check:
    """Not to be known here; neither good nor bad."""
    return Check(subject, "unknown", why, fix, figures)

"""Numbers and sentences as tables, pages and the console print them. What is not known is a dash."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

DASH = "–"


def is_unknown(value: Any) -> bool:
    """Whether a cell holds nothing: None, or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def printed(value: Any, form: str = "") -> str:
    """A cell, rounded. What rounds to zero has no sign.

    form: a format of Python ("+.1f", ".1%", ".3f"), "p" for p-values, or "" for what the type says (float .1f, int d).
    A pair is an interval, "[low, high]", or a dash where an end is unknown. Text ignores the format.
    """
    if isinstance(value, tuple):
        low, high = value
        return DASH if is_unknown(low) or is_unknown(high) else f"[{printed(low, form)}, {printed(high, form)}]"
    if is_unknown(value):
        return DASH
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(map(str, value))
    if value is True or value is False:
        return "yes" if value else "no"
    if form == "p":
        return "<.0001" if value < 0.0001 else f"{value:.4f}".removeprefix("0")
    if form == "d" and isinstance(value, float):
        form = ".0f"
    text = format(value, form or ("d" if isinstance(value, int) else ".1f"))
    return text if re.search(r"[1-9]|inf", text) else text.lstrip("+-")


def number(value: float | None, digits: int = 1) -> str:
    """A number."""
    return printed(value, f".{digits}f")


def signed(value: float | None, digits: int = 1) -> str:
    """A number with its sign."""
    return printed(value, f"+.{digits}f")


def interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """ "[low, high]" """
    return printed((low, high), f"+.{digits}f")


def p_value(p: float | None) -> str:
    """A p-value; small ones as a bound."""
    return printed(p, "p")


def percent(rate: float | None) -> str:
    """A rate in [0, 1] as a whole percentage."""
    return "an unknown share" if is_unknown(rate) else f"{100 * (rate or 0):.0f}%"


def significance(direction: int | None) -> str:
    """A change's direction in words; see Change.direction."""
    return {-1: "lower", 0: "not significant", 1: "higher"}.get(direction, DASH) if direction is not None else DASH


WIDTH = 120  # characters of a console's line
PART = "## "  # before the name of a part of a template

TEXTS = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=False)
TEXTS.filters |= {
    "number": number,
    "signed": signed,
    "percent": percent,
    "p_value": p_value,
    "significance": significance,
}
TEXTS.globals |= {"interval": interval}


@cache
def template(words: str | Path) -> Template:
    """A template from its text or its file."""
    return TEXTS.from_string(words.read_text(encoding="utf-8") if isinstance(words, Path) else words)


def sentences(words: str | Path, facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """Part of a template, behind a line "## NAME", → its lines, without empty ones."""
    parts: dict[str, list[str]] = {}
    name = ""
    for line in template(words).render(facts).splitlines():
        if line.startswith(PART):
            name = line.removeprefix(PART).strip()
        elif line.strip():
            parts.setdefault(name, []).append(" ".join(line.split()))
    return parts


def wrapped(lines: Sequence[str]) -> str:
    """Sentences for a console, each on lines of its own."""
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines)

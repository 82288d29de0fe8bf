"""Sentences from a study's jinja2 template: one sentence a line, numbers through the filters of eval.report.numbers."""

import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from eval.report import numbers

WIDTH = 120  # characters of a console's line
PART = "## "  # before the name of a part of a template

TEXTS = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=False)
TEXTS.filters |= {name: getattr(numbers, name) for name in ("number", "signed", "percent", "p_value", "significance")}
TEXTS.globals |= {"interval": numbers.interval}


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

"""Tables and whole cards in Markdown."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_words: int) -> str:
    """A Markdown table: the first n_words columns to the left, numbers to the right."""
    rule = ["---"] * n_words + ["---:"] * (len(header) - n_words)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def filled(template: Path, **facts: Any) -> str:
    """A card's template of jinja2 with its facts filled in. A fact that it names and does not get is an error."""
    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    return environment.from_string(template.read_text(encoding="utf-8")).render(**facts)

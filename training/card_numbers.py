"""Numbers as a model card writes them. What is not known is a dash."""

from collections.abc import Callable, Mapping
from typing import Any

UNKNOWN = "–"


def number(value: float | None) -> str:
    """One decimal."""
    return UNKNOWN if value is None else f"{value:.1f}"


def signed(value: float | None) -> str:
    """One decimal with its sign; 0.0 has none."""
    if value is None:
        return UNKNOWN
    text = f"{value:+.1f}".replace("-", "−")
    return text[1:] if text[1:] == "0.0" else text


def with_interval(row: Mapping[str, Any], name: str, written: Callable[[float | None], str] = signed) -> str:
    """A number of a row with its 95 % interval, where it has one."""
    if row[name] is None or row[f"{name}_low"] is None:
        return written(row[name])
    return f"{written(row[name])} [{written(row[f'{name}_low'])}, {written(row[f'{name}_high'])}]"

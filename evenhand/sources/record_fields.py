"""One raw record with its place, so that a wrong field is named with file, line and field."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.errors import DataError

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Record:
    """A publisher's record: `index` counts from 0 as ids do, `where` says file and line for a person."""

    values: Mapping[str, Any]
    where: str
    index: int

    def error(self, name: str, problem: str) -> DataError:
        """The error to raise about a field."""
        return DataError(f"{self.where}: field '{name}' {problem}")

    def get(self, name: str) -> Any:
        """A field that must be there, whatever its type."""
        if name not in self.values:
            fields = ", ".join(ascii(key)[1:-1][:60] for key in list(self.values)[:12]) or "none"
            raise self.error(name, f"is absent or null; is this the right file? Fields here: {fields}")
        return self.values[name]

    def text(self, name: str) -> str:
        """A text without outer whitespace. It may be empty."""
        return self.raw_text(name).strip()

    def raw_text(self, name: str) -> str:
        """A text as it stands, outer whitespace kept."""
        return self.checked_text(name, self.get(name))

    def checked_text(self, name: str, value: object) -> str:
        """The value, if it is a text that can be written as UTF-8."""
        if not isinstance(value, str):
            raise self.error(name, f"must be a text, found {shown(value)}")
        if half := LONE_SURROGATE.search(value):
            raise self.error(name, f"holds half a surrogate pair at character {half.start() + 1}; fetch the file again")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts, each without outer whitespace."""
        value = self.get(name)
        if not isinstance(value, list):
            raise self.error(name, f"must be a list of texts, found {shown(value)}")
        return [self.checked_text(f"{name}[{k}]", text).strip() for k, text in enumerate(value)]

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object of named values, names checked to be writable texts."""
        value = self.get(name)
        if not isinstance(value, dict):
            raise self.error(name, f"must be an object, found {shown(value)}")
        for key in value:
            self.checked_text(f"{name} (a name in it)", key)
        return value

    def inside(self, name: str) -> "Record":
        """An object field as a record of its own."""
        return Record(self.mapping(name), f"{self.where}: in '{name}'", self.index)

    def options(self, name: str, keys: Iterable[str]) -> dict[str, str]:
        """The named answer options of an object field, each a text as it stands."""
        values = self.inside(name)
        return {key: values.raw_text(key) for key in keys}

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number from least to most."""
        value = self.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.error(name, f"must be a whole number from {least} to {most}, found {shown(value)}")
        return value

    def one_of(self, name: str, allowed: Iterable[str]) -> str:
        """A text that must be one of a few."""
        value, known = self.text(name), list(allowed)
        if value not in known:
            raise self.error(name, f"is {shown(value)}; known: {', '.join(known)}")
        return value

    def identifier(self, name: str) -> str:
        """A text that can stand in an item id: printable, not empty."""
        value = self.text(name)
        if not value or not value.isprintable():
            raise self.error(name, f"must be a name, found {shown(value)}; fetch the file again")
        return value

    def kept(self, *names: str) -> dict[str, Any]:
        """Fields carried over into meta as they are, those present; checked to be plain JSON that can be written."""
        kept = {name: self.values[name] for name in names if name in self.values}
        for name, value in kept.items():
            try:
                json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
            except (ValueError, TypeError, RecursionError):  # NaN, half a surrogate pair, thousands of lists
                raise self.error(name, f"cannot be kept: {shown(value)} is no plain JSON value") from None
        return kept


def shown(value: object) -> str:
    """A value for an error message: short, on one line, printable anywhere."""
    text = ascii(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."

"""One raw record with its place, so that a wrong field is named with file, line and field."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.config import did_you_mean
from benchmarks.errors import DataError


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
            known = [str(key) for key in self.values][:80]
            raise self.error(name, f"is absent; is this the right file? {did_you_mean(name, known)}")
        return self.values[name]

    def text(self, name: str) -> str:
        """A text without outer whitespace. It may be empty: the quality report counts that."""
        return self.raw_text(name).strip()

    def raw_text(self, name: str) -> str:
        """A text as it stands, outer whitespace kept."""
        return self.checked_text(name, self.get(name))

    def checked_text(self, name: str, value: object) -> str:
        """The value, if it is a text that can be written as UTF-8."""
        if not isinstance(value, str):
            raise self.error(name, f"must be a text, found {shown(value)}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise self.error(name, f"holds half a surrogate pair at character {error.start}; fetch the file") from None
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

    def kept(self, *names: str) -> dict[str, Any]:
        """Fields carried over into meta as they are, those present; checked to be plain JSON that can be written."""
        found = {name: self.values[name] for name in names if name in self.values}
        for name, value in found.items():
            try:
                json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
            except (ValueError, RecursionError):
                raise self.error(name, f"cannot be kept: {shown(value)} is no plain JSON value") from None
        return found


def shown(value: object) -> str:
    """A value for an error message: short, on one line, printable anywhere."""
    text = ascii(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."

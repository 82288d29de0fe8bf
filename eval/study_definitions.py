"""What a study's paper leaves open, decided on the command line: `--STUDY NAME=VALUE`, one option for every verb."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, Protocol, TypeVar, get_args, get_type_hints

from evenhand.errors import DataError


class Decided(Protocol):
    """A frozen dataclass whose fields are Literals of words, or whole numbers."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Definitions = TypeVar("Definitions", bound=Decided)
NUMBER = ("N",)  # the values of a whole number from 1 on


def choices_of(default: Decided) -> dict[str, tuple[str, ...]]:
    """Name → the values that it may have, the default first; NUMBER for a number."""
    hints = get_type_hints(type(default))
    found = {}
    for name, value in asdict(default).items():
        values = get_args(hints[name])
        found[name] = (value, *(other for other in values if other != value)) if values else NUMBER
    return found


def known_words(default: Decided) -> str:
    """All names and values, as a message lists them."""
    return "; ".join(f"{name}={'|'.join(values)}" for name, values in choices_of(default).items())


def add_definitions(parser: argparse.ArgumentParser, study: str, default: Decided) -> None:
    """The option of a study."""
    parser.add_argument(
        f"--{study}",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"{study}: decide what its paper leaves open (repeatable; defaults first): {known_words(default)}",
    )


def definitions_of(options: argparse.Namespace, study: str, default: Definitions) -> Definitions:
    """The defaults but for what was said of a study. Raises DataError for a name or a value that there is not."""
    return decided(getattr(options, study), study, default)


def decided(words: Sequence[str], study: str, default: Definitions) -> Definitions:
    """The defaults but for words NAME=VALUE; raises as definitions_of."""
    choices, chosen = choices_of(default), dict[str, Any]()
    for word in words:
        name, _, value = word.partition("=")
        if choices.get(name) == NUMBER and value.isdecimal() and int(value) > 0:
            chosen[name] = int(value)
        elif value in choices.get(name, ()) and choices[name] != NUMBER:
            chosen[name] = value
        else:
            raise DataError(f"--{study} {word}: say it as NAME=VALUE, one of {known_words(default)}")
    return replace(default, **chosen)

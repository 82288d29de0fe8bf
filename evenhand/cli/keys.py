"""`evenhand keys`: every key of a config with its default, what it may be, and what it does, as YAML.

What a key does is told once, in the comments of the schemas (inference/config.py, training/sections.py and the like),
and read there.
"""

import argparse
import ast
import inspect
import sys
import textwrap
import tokenize
from collections.abc import Sequence
from enum import Enum
from functools import cache
from io import StringIO
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evenhand.config import models_in
from evenhand.errors import ConfigError
from inference.config import sampling_schema
from studies.registry import STUDIES
from training.config import METHODS, training_schema

WIDTH = 118
LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def main(argv: Sequence[str]) -> None:
    """Print every key of a sampling config, or of a training config of some method: default, choices, meaning.

    It is YAML. What is required has no value; a section that is off unless asked for is commented out, to be written in
    place of [] or null. Of the studies' sections (`dialdefer`, `narrator` ...) a config has one.
    """
    parser = argparse.ArgumentParser(
        prog="evenhand keys",
        description=main.__doc__,
        epilog=f"examples: evenhand keys sample {next(iter(STUDIES))}, evenhand keys train dpo",
    )
    parser.add_argument("verb", choices=("sample", "train"), help="whose configs")
    parser.add_argument("words", nargs="*", help=f"the study ({', '.join(STUDIES)}); of training the method, too")
    words = parser.parse_args(argv)
    found: dict[str, str] = {}
    for word in words.words:
        kind = "study" if word in STUDIES else "method" if word in METHODS else ""
        if not kind or (kind == "method" and words.verb == "sample"):
            known = [*STUDIES, *(METHODS if words.verb == "train" else ())]
            parser.error(f"'{word}' is nothing to {words.verb}; take one of {', '.join(known)}")
        found[kind] = word
    study = found.get("study", next(iter(STUDIES)))
    if words.verb == "sample":
        print(keys_text(sampling_schema(study)))
    else:
        print(keys_text(training_schema(found.get("method", "sft"), study)))


def keys_text(schema: type[BaseModel]) -> str:
    """Every key of a schema as YAML with comments."""
    return "\n".join([*comment_above(about(schema), ""), *section_lines(schema, None, "")])


def section_lines(schema: type[BaseModel], values: BaseModel | None, indent: str) -> list[str]:
    """The keys of a section, what is required first. values: the section itself where it is a default of another."""
    lines = []
    fields = schema.model_fields.items()
    for name, field in sorted(
        fields, key=lambda item: not (item[1].is_required() and not models_in(item[1].annotation))
    ):
        default = getattr(values, name) if values else field.get_default(call_default_factory=True)
        value = "" if field.is_required() or isinstance(default, BaseModel) else f" {written(default)}"
        words, sections = words_in(field.annotation), models_in(field.annotation)
        if len(words) == 1:  # a section's `kind`, a run's `method`
            value, words = f" {words[0]}", []
        told = comments(schema).get(name) or (about(sections[0]) if sections else "")
        needed = "required" if field.is_required() and not value else ""
        said = filter(None, (needed, " | ".join(words), limits(field), told))
        lines += key_line(f"{indent}{name}:{value}", "; ".join(said), indent)
        for inner in sections:
            lines += inner_lines(field, inner, default, indent + "  ")
    return lines


def inner_lines(field: FieldInfo, inner: type[BaseModel], default: Any, indent: str) -> list[str]:
    """A section within a section: as it is by default, else commented out, as what may stand there."""
    if isinstance(default, inner):
        return section_lines(inner, default, indent)
    if is_list(field):
        lines = section_lines(inner, None, f"{indent}  ")
        first = next(i for i, line in enumerate(lines) if not line.lstrip().startswith("#"))
        lines[first] = f"{indent}- {lines[first].lstrip()}"
    else:
        lines = section_lines(inner, None, indent)
    if field.is_required():
        return lines
    other = [f"{indent}or: {about(inner)}"] if isinstance(default, BaseModel) else []
    return [f"{indent}# {line.removeprefix(indent)}" for line in [*other, *lines]]


def key_line(text: str, comment: str, indent: str) -> list[str]:
    """A key with its comment behind it, or above it where it is long."""
    if not comment or len(text) + 3 + len(comment) <= WIDTH:
        return [f"{text}  # {comment}" if comment else text]
    return [*comment_above(comment, indent), text]


def comment_above(comment: str, indent: str) -> list[str]:
    """A comment in lines of its own."""
    return [f"{indent}# {line}" for line in textwrap.wrap(comment, WIDTH - len(indent) - 2)]


def written(value: Any) -> str:
    """A default as YAML on one line."""
    plain = [item.value if isinstance(item, Enum) else item for item in value] if isinstance(value, tuple) else value
    plain = plain if isinstance(plain, bool | int | float | list | dict | None) else str(plain)
    return yaml.safe_dump(plain, default_flow_style=True, width=10_000).removesuffix("\n").removesuffix("\n...")


def limits(field: FieldInfo) -> str:
    """Between what a number must lie."""
    found = ((said, getattr(rule, sign, None)) for rule in field.metadata for sign, said in LIMITS.items())
    return " and ".join(f"{said} {number:g}" for said, number in found if number is not None)


def is_list(field: FieldInfo) -> bool:
    """Whether a key holds several of what it is of."""
    return get_origin(field.annotation) is tuple


def words_in(annotation: Any) -> list[str]:
    """The words of a Literal or an Enum inside a type."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [word.value for word in annotation]
    return list(dict.fromkeys(word for argument in get_args(annotation) for word in words_in(argument)))


def about(schema: type[BaseModel]) -> str:
    """The first paragraph of what a section says of itself."""
    return " ".join((inspect.getdoc(schema) or "").partition("\n\n")[0].split())


@cache
def comments(schema: type[BaseModel]) -> dict[str, str]:
    """Key → the comment above it and behind it, in the source of the section and of those that it inherits from.

    Raises ConfigError where only compiled files are installed.
    """
    found: dict[str, str] = {}
    for owner in reversed(schema.__mro__):
        is_written = getattr(sys.modules[owner.__module__], owner.__qualname__, None) is owner  # not by create_model
        if issubclass(owner, BaseModel) and owner is not BaseModel and is_written:
            try:
                source = textwrap.dedent(inspect.getsource(owner))
            except OSError:
                raise ConfigError(
                    f"{owner.__module__}: its source is not installed, and what keys mean is read there; install "
                    "Evenhand with its .py files"
                ) from None
            found |= {name: comment for name, comment in comments_in(source).items() if comment or name not in found}
    return found


def comments_in(source: str) -> dict[str, str]:
    """The comments of a class's attributes, by their names."""
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    at = {token.start[0]: token for token in tokens if token.type == tokenize.COMMENT}
    found = {}
    (owner,) = ast.parse(source).body
    assert isinstance(owner, ast.ClassDef)
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            first = node.lineno
            while first - 1 in at and at[first - 1].line.lstrip().startswith("#"):
                first -= 1
            lines = range(first, (node.end_lineno or node.lineno) + 1)
            found[node.target.id] = " ".join(at[line].string.lstrip("# ") for line in lines if line in at)
    return found

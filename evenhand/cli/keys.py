"""`evenhand keys`: every key of a config with its default, what it may be, and what it does, as YAML.

What a key does is written once, in the comments of the schemas (inference/config.py, training/sections.py and others).
"""

import inspect
import json
import re
import sys
import textwrap
from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evenhand.config import models_in
from evenhand.registry import STUDIES
from evenhand.terminal import command_parser
from inference.config import sampling_schema
from training.config import METHODS, training_schema

WIDTH = 118
LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def main(argv: Sequence[str]) -> None:
    """Print every key of a sampling config, or of a training config of some method: default, choices, meaning.

    It is YAML. What is required has no value; a section that is off unless asked for is commented out, to be written in
    place of [] or null. Of the studies' sections (`dialdefer`, `narrator` ...) a config has one.
    """
    example = f"examples: evenhand keys sample {next(iter(STUDIES))}, evenhand keys train dpo"
    parser = command_parser("keys", main, example)
    parser.add_argument("words", nargs="*", help=f"the study ({', '.join(STUDIES)}); of training the method, too")
    options = parser.parse_args(argv)
    choices = [*STUDIES, *(METHODS if options.verb == "train" else ())]
    if unknown := [word for word in options.words if word not in choices]:
        parser.error(f"'{unknown[0]}' is nothing to {options.verb}; take one of {', '.join(choices)}")
    study = next((word for word in options.words if word in STUDIES), next(iter(STUDIES)))
    method = next((word for word in options.words if word in METHODS), "sft")
    schema = sampling_schema(study) if options.verb == "sample" else training_schema(method, study)
    print(json.dumps(schema.model_json_schema(), indent=1) if options.json_schema else keys_text(schema))


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
        choices, sections = words_in(field.annotation), models_in(field.annotation)
        if len(choices) == 1:  # a section's `kind`, a run's `method`
            value, choices = f" {choices[0]}", []
        meaning = comments(schema).get(name) or (about(sections[0]) if sections else "")
        needed = "required" if field.is_required() and not value else ""
        parts = filter(None, (needed, " | ".join(choices), limits(field), meaning))
        line, comment = f"{indent}{name}:{value}", "; ".join(parts)
        if len(line) + 3 + len(comment) > WIDTH:
            lines += comment_above(comment, indent)
            comment = ""
        lines.append(f"{line}  # {comment}" if comment else line)
        for inner in sections:
            lines += inner_lines(field, inner, default, indent + "  ")
    return lines


def inner_lines(field: FieldInfo, inner: type[BaseModel], default: Any, indent: str) -> list[str]:
    """A section within a section: as it is by default, else commented out, as what may stand there."""
    if isinstance(default, inner):
        return section_lines(inner, default, indent)
    if get_origin(field.annotation) is tuple:  # a list
        lines = section_lines(inner, None, f"{indent}  ")
        first = next(i for i, line in enumerate(lines) if not line.lstrip().startswith("#"))
        lines[first] = f"{indent}- {lines[first].lstrip()}"
    else:
        lines = section_lines(inner, None, indent)
    if field.is_required():
        return lines
    alternative = [f"{indent}or: {about(inner)}"] if isinstance(default, BaseModel) else []
    return [f"{indent}# {line.removeprefix(indent)}" for line in [*alternative, *lines]]


def comment_above(comment: str, indent: str) -> list[str]:
    """A comment in lines of its own."""
    return [f"{indent}# {line}" for line in textwrap.wrap(comment, WIDTH - len(indent) - 2)]


def written(value: Any) -> str:
    """A default as YAML on one line."""
    scalar = [item.value if isinstance(item, Enum) else item for item in value] if isinstance(value, tuple) else value
    scalar = scalar if isinstance(scalar, bool | int | float | list | dict | None) else str(scalar)
    return yaml.safe_dump(scalar, default_flow_style=True, width=10_000).removesuffix("\n").removesuffix("\n...")


def limits(field: FieldInfo) -> str:
    """Between what a number must lie."""
    bounds = ((phrase, getattr(rule, sign, None)) for rule in field.metadata for sign, phrase in LIMITS.items())
    return " and ".join(f"{phrase} {number:g}" for phrase, number in bounds if number is not None)


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


@cache  # a class's source is found by parsing its module
def comments(schema: type[BaseModel]) -> dict[str, str]:
    """Key → the comment above it and behind it, in the source of the section and of those that it inherits from."""
    meanings: dict[str, str] = {}
    for owner in reversed(schema.__mro__):
        is_written = getattr(sys.modules[owner.__module__], owner.__qualname__, None) is owner  # not by create_model
        if not (issubclass(owner, BaseModel) and owner is not BaseModel and is_written):
            continue
        above, name = list[str](), ""
        for line in inspect.getsource(owner).splitlines():
            behind = line.partition("  # ")[2]
            if line.startswith("    # "):
                above.append(line[6:])
            elif key := re.match(r"    (\w+): ", line):
                name, comment = key[1], " ".join(filter(None, [*above, behind]))
                meanings[name] = comment or meanings.get(name, "")
                above = []
            elif line == "" or re.match("    [@d]", line):
                above, name = [], ""
            elif name and behind:  # of a key that takes several lines
                meanings[name] = f"{meanings[name]} {behind}".strip()
    return meanings

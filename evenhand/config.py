"""One YAML file is one run: typed, frozen, closed, complete. `key=value` words override single keys."""

import difflib
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from evenhand.errors import ConfigError

DEEPEST = 32  # levels of a config; ours have 5
NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # no path holds a NUL, no UTF-8 half a surrogate pair


class StrictLoader(yaml.SafeLoader):
    """YAML whose repeated keys are errors: of two values the reader would see one and the run take the other.

    So are references (*name), with which a kilobyte can stand for gigabytes or for itself, deep nesting, and strings
    that cannot be written to a file.
    """

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "no reference (*name) is read; write the value out", mark)
        if self.depth == DEEPEST:
            raise yaml.composer.ComposerError(None, None, f"is nested deeper than {DEEPEST} levels", mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        if found := NO_TEXT.search(value):
            problem = f"the character {found[0]!a} cannot be written to a file; take it out"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key '{key}' occurs twice", node.start_mark)
        return dict(super().construct_mapping(node, deep))


def parse_yaml(text: str) -> Any:
    """The value that a text of YAML stands for. Raises yaml.YAMLError alone."""
    try:
        return yaml.load(text, Loader=StrictLoader)
    except (ValueError, LookupError, AttributeError) as error:  # 2024-99-99, thousands of digits, `!!bool x`
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from None


class HiddenError(ValueError):
    """What a validator raises about a value that may hold a secret: the message does not show the value."""


class Closed(BaseModel):
    """A frozen config section whose unknown keys are errors, as are infinite numbers and those beyond 64 bits."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, protected_namespaces=(), allow_inf_nan=False
    )

    @field_validator("*")
    @classmethod
    def fits_64_bits(cls, value: Any) -> Any:
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("should fit 64 bits")
        return value


C = TypeVar("C", bound=BaseModel)


def by_config(words: Sequence[str]) -> list[list[str]]:
    """Each config with the key=value words behind it. Raises ConfigError for such words before any config."""
    found: list[list[str]] = []
    for word in words:
        if "=" not in word or os.path.exists(word):  # noqa: PTH110  # Path.exists raises for a long word
            found.append([word])
        elif found:
            found[-1].append(word)
        else:
            raise ConfigError(f"'{word}' stands before any config; key=value words belong to the config before them")
    return found


def config_tree(words: Sequence[str]) -> dict[str, Any]:
    """What words[0] (a YAML file) holds, with the later words ("a.b=value", "list[0].key=value") applied.

    Values are read as YAML, so `sampling.n=10` is a number and `model.revision=null` is none. "KEY=<FILE key=value ..."
    takes the key's value from another config; FILE is one that exists, or ends in .yaml or .yml. No schema has looked
    at it. Raises ConfigError that names file, key, value and the fix.
    """
    if not words:
        raise ConfigError("no config file given; say which one, for example configs/inference/pocket.yaml")
    tree = read_yaml(Path(words[0]))
    keys = [word.partition("=")[0] for word in words[1:]]
    for key, word in zip(keys, words[1:], strict=True):
        if keys.count(key) > 1:
            raise ConfigError(f"override '{key}': is given {keys.count(key)} times; give it once")
        apply_override(tree, word)
    return tree


def parse_config(schema: type[C], tree: dict[str, Any], where: str) -> C:
    """The tree as a config; `where` heads the message of a ConfigError."""
    try:
        return schema.model_validate(tree)
    except ValidationError as error:
        # A list that is short only because its elements were refused says nothing more than they do.
        details = [detail for detail in error.errors() if detail["type"] != "too_short" or not detail["input"]]
        lines = [explain(schema, detail) for detail in details]
        raise ConfigError("\n".join(f"{where}: {line}" for line in lines)) from None


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises ConfigError when the file is absent, damaged or holds something else."""
    if path.is_dir():
        run = " It is a run's folder: name its config.yaml" if (path / "config.yaml").is_file() else ""
        raise ConfigError(f"{path}: is a folder, and a config is a YAML file.{run}")
    try:
        tree = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); configs lie under configs/") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text; a config is a YAML file") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(tree, dict):
        raise ConfigError(f"{path}: must hold a mapping of keys to values, found {type(tree).__name__}")
    return tree


def apply_override(tree: dict[str, Any], word: str) -> None:
    """Set one key of the tree in place: "engine.kind=openai" or "benchmarks[0].n_items=20"."""
    key, equals, raw = word.partition("=")
    if not equals or not key:
        raise ConfigError(f"override '{word}': write key=value, for example sampling.n=10")
    try:
        other = other_config(raw)
        value = of_other(key, other) if other else parse_yaml(raw)
    except ConfigError as error:
        raise ConfigError(f"override '{word}': {error}") from None
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise ConfigError(f"override '{word}': '{raw}' is not a YAML value ({problem}); quote it") from None
    node: Any = tree
    parts = key.replace("[", ".[").split(".")
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        index: Any = part
        if part.startswith("["):
            digits = part.strip("[]")
            is_number = re.fullmatch("[0-9]{1,9}", digits)  # isdigit() takes a superscript as well, and int() does not
            if not (isinstance(node, list) and is_number and int(digits) < len(node)):
                size = len(node) if isinstance(node, list) else 0
                raise ConfigError(f"override '{word}': there is no element {part} (the config has {size} there)")
            index = int(digits)
        elif not isinstance(node, dict):
            raise ConfigError(f"override '{word}': '{part}' is no key of a {type(node).__name__}")
        if following is None:
            node[index] = value
        else:
            if isinstance(node, dict) and node.get(index) is None:
                node[index] = {}
            node = node[index]


def other_config(raw: str) -> list[str]:
    """The words behind "<" where the first names a config's file, quoted as in a shell; else none."""
    try:
        words = shlex.split(raw[1:]) if raw.startswith("<") else []
    except ValueError:  # a lone apostrophe
        words = raw[1:].split()
    is_file = words and (words[0].endswith((".yaml", ".yml")) or os.path.isfile(words[0]))  # noqa: PTH113
    return words if is_file else []


def of_other(key: str, words: Sequence[str]) -> Any:
    """The value of a key of mappings in another config: a file's name, with key=value words behind it."""
    value: Any = config_tree(words)
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise ConfigError(f"{words[0]} has no '{key}'")
        value = value[part]
    return value


def explain(schema: type[BaseModel], detail: Any) -> str:
    """One line for one pydantic error: the key's path, what is wrong, and the nearest known key."""
    location, models = locate(schema, detail["loc"])
    key = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in location).lstrip(".")
    if detail["type"] == "extra_forbidden":
        known = sorted({name for model in models for name in model.model_fields})
        return f"{key}: unknown key. {did_you_mean(str(location[-1]), known)}"
    if detail["type"] == "missing":
        return f"{key}: this key is required and absent"
    if detail["type"] == "union_tag_invalid":  # of sections such as `engine`, whose `kind` says what it holds
        (tag_key,), word = quoted(detail["ctx"]["discriminator"]), str(detail["ctx"]["tag"])
        return f"{key}.{tag_key}: unknown '{word}'. {did_you_mean(word, quoted(detail['ctx']['expected_tags']))}"
    given = detail.get("input")
    if detail["type"] in ("tuple_type", "list_type"):
        return f"{key}: takes a list, such as [{given}]"
    if detail["type"] == "literal_error":
        return f"{key}: cannot be '{given}'. {did_you_mean(str(given), quoted(detail['ctx']['expected']))}"
    message = detail["msg"].removeprefix("Value error, ")
    raised = detail.get("ctx", {}).get("error")  # by a validator
    hidden = isinstance(given, dict | list | tuple | BaseModel) or isinstance(raised, HiddenError)
    shown = "" if hidden else f" (got {given!r})"
    return f"{key}: {message}{shown}" if key else f"{message}{shown}"


def quoted(text: str) -> list[str]:
    """The words that pydantic lists in a message: "'a', 'b' or 'c'"."""
    return re.findall(r"'([^']*)'", text)


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """ "Did you mean 'x'? Known: ..." or only the known names when none is near."""
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"{hint}Known: {', '.join(known)}."


def locate(schema: type[BaseModel], location: Sequence[str | int]) -> tuple[list[str | int], list[type[BaseModel]]]:
    """The key's path as a user wrote it, and the models that hold its last part.

    pydantic names a union's chosen variant in between ("engine", "openai", "timeout_s"); it is no key of the config.
    """
    models: list[type[BaseModel]] = [schema]
    path: list[str | int] = []
    for position, part in enumerate(location):
        kinds = {model: get_args(field.annotation) for model in models if (field := model.model_fields.get("kind"))}
        if variants := [model for model, names in kinds.items() if part in names]:
            models = variants
            continue
        path.append(part)
        if isinstance(part, int) or position == len(location) - 1:
            continue
        inner = [field.annotation for model in models if (field := model.model_fields.get(part))]
        models = [model for annotation in inner for model in models_in(annotation)] or models
    return path, models


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The pydantic models inside a type such as `tuple[A, ...]` or `A | B`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in models_in(argument)]


def to_yaml(config: BaseModel) -> str:
    """The resolved config as YAML that reads back to an equal config."""
    return str(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True))

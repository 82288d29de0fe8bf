"""One YAML file is one run: typed, frozen, closed, complete. `key=value` words override single keys."""

import argparse
import difflib
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from evenhand.data_files import SUFFIXES, kind_of
from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml
from evenhand.terminal import command_parser

MOST_NODES = 100_000  # values and keys of a config, aliases written out
MOST_LEVELS = 100


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml: ten times as fast
    """YAML whose repeated keys are errors: of two values the reader would see one and the run take the other."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        own = (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge")  # `<<: *NAME`
        keys = [self.construct_object(key, deep=True) for key in own]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key '{key}' occurs twice", node.start_mark)
        return dict(super().construct_mapping(node, deep))


def parse_yaml(text: str) -> Any:
    """The value that a text of YAML stands for. Raises yaml.YAMLError alone."""
    try:
        check_size(text)
        return yaml.load(text, Loader=StrictLoader)
    except (ValueError, LookupError, AttributeError, RecursionError) as error:  # 2024-99-99, `!!bool x`
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from None


def check_size(text: str) -> None:
    """Raises yaml.YAMLError where a text has more levels than any config, or aliases make more nodes of it.

    libyaml would overflow the stack, and a kilobyte of aliases can make billions of nodes.
    """
    sizes, counted = dict[str | None, float](), [0.0]  # anchor → nodes; nodes of each level that is open
    anchors = list[str | None]()
    for event in yaml.parse(text, Loader=StrictLoader):
        if isinstance(event, yaml.AliasEvent):
            counted[-1] += sizes.get(event.anchor, math.inf)  # an alias to what it stands in has no end
        elif isinstance(event, yaml.NodeEvent):
            counted.append(1)
            anchors.append(event.anchor)
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionEndEvent):
            size, anchor = counted.pop(), anchors.pop()
            counted[-1] += size
            sizes |= {anchor: size} if anchor else {}
        if len(counted) > MOST_LEVELS + 1:
            raise yaml.YAMLError(f"it is nested more than {MOST_LEVELS} levels deep")
    if "*" in text and counted[0] > MOST_NODES:
        raise yaml.YAMLError(f"its aliases (*NAME) repeat more than {MOST_NODES:,} values; write out what is meant")


# Old spelling of a key or of a value → what is written now. Only a word that is unknown is looked up here.
RENAMED: dict[str, str] = shipped_yaml(Path(__file__).with_name("renamed.yaml"))


class HiddenError(ValueError):
    """What a validator raises about a value that may hold a secret: the message does not show the value."""


NO_SECRET = (
    "looks like a secret, and no config holds one: export it (OPENAI_API_KEY=...) and name the variable in "
    "engine.api_key_env; it is sent as a bearer token"
)
SECRET_VALUE = re.compile("|".join(shipped_yaml(Path(__file__).with_name("secrets.yaml"))))


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(path of keys, value) of everything in nested lists and mappings, the mappings too."""
    yield key, value
    if isinstance(value, dict | list):
        for name, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(child, f"{key}.{name}".lstrip("."))


def check_no_secret(tree: Any) -> Any:
    """The tree as it is. Raises HiddenError where a text in it looks like a key of some service."""
    for key, value in leaves(tree):
        texts = value if isinstance(value, dict) else [value]
        if any(isinstance(text, str) and SECRET_VALUE.search(text) for text in texts):
            raise HiddenError(f"{key or 'a key'}: {NO_SECRET}")
    return tree


class Closed(BaseModel):
    """A frozen config section whose unknown keys are errors, as are infinite numbers."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, protected_namespaces=(), allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def has_known_keys(cls, given: Any) -> Any:
        for key in given if isinstance(given, dict) else ():
            if key not in cls.model_fields:
                keys = sorted(cls.model_fields)
                raise ValueError(f"unknown key '{key}'. {did_you_mean(str(key), keys, places(cls, key))}")
        return given


def is_none(value: object) -> bool:
    """Whether a key is not set, so that it is left out of the resolved config."""
    return value is None


def is_empty(value: Any) -> bool:
    """The same of a text or mapping that holds nothing."""
    return not value


C = TypeVar("C", bound=BaseModel)
CONFIGS = Path(__file__).with_name("configs")  # those that come with Evenhand; in the checkout a link


def config_file(word: str) -> Path:
    """The config that a word names: a file, or one that comes with Evenhand, as NAME or FOLDER/NAME.

    A name alone is looked for in inference and training first. Raises ConfigError where there is none.
    """
    path, name = Path(word), word.removeprefix("configs/").removesuffix(".yaml")
    if os.path.exists(word) or path.is_absolute():  # noqa: PTH110  # Path.exists raises for a long word
        return path
    ours = {file.relative_to(CONFIGS).with_suffix("").as_posix(): file for file in sorted(CONFIGS.glob("*/*.yaml"))}
    named = [file for name_of, file in ours.items() if name in (name_of, file.stem)]
    if not named:
        near = difflib.get_close_matches(name, [*ours, *(file.stem for file in ours.values())], n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise ConfigError(f"{word}: no such file, and no config of Evenhand's; {hint}those lie in {CONFIGS}")
    return min(named, key=lambda file: file.parent.name not in ("inference", "training"))


def config_parser(verb: str, main: Callable[..., None], epilog: str) -> argparse.ArgumentParser:
    """The parser of `evenhand VERB CONFIG [key=value ...]`: `config` and `overrides`, by parse_intermixed_args."""
    parser = command_parser(verb, main, epilog)
    parser.add_argument(
        "config", help="a YAML file, a run's own config.yaml, or the name of one that comes along: pocket"
    )
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="override single keys of the config")
    return parser


def config_tree(words: Sequence[str]) -> dict[str, Any]:
    """What words[0] (see config_file) holds, with the later words ("a.b=value", "list[0].key=value") applied.

    Values are read as YAML, so `sampling.n=10` is a number and `model.revision=null` is none. "KEY=<FILE key=value ..."
    takes the key's value from another config. No schema has looked at it. Raises ConfigError that names file, key,
    value and the fix.
    """
    if not words:
        raise ConfigError("no config file given; say which one, for example pocket")
    path = config_file(words[0])
    tree: dict[str, Any] = with_files_beside(read_yaml(path), path.parent)
    keys = [word.partition("=")[0] for word in words[1:]]
    for key, word in zip(keys, words[1:], strict=True):
        if keys.count(key) > 1:
            raise ConfigError(f"override '{key}': is given {keys.count(key)} times; give it once")
        apply_override(tree, word)
    return tree


def with_files_beside(tree: Any, folder: Path) -> Any:
    """A config in which the name of a data file that lies beside it, or deeper, is the path to it from here."""
    if isinstance(tree, dict):
        return {key: with_files_beside(value, folder) for key, value in tree.items()}
    if isinstance(tree, list):
        return [with_files_beside(value, folder) for value in tree]
    is_name = isinstance(tree, str) and kind_of(Path(tree)) in SUFFIXES and not Path(tree).is_absolute()
    if is_name and os.path.isfile(folder / tree):  # noqa: PTH113  # Path.is_file raises for a long word
        return os.path.relpath(folder / tree)
    return tree


def parse_config(schema: type[C], tree: dict[str, Any], where: str) -> C:
    """The tree as a config; `where` heads the message of a ConfigError."""
    try:
        return schema.model_validate(tree)
    except ValidationError as error:
        # A list that is short only because its elements were refused says nothing more than they do.
        details = [detail for detail in error.errors() if detail["type"] != "too_short" or not detail["input"]]
        lines = [explain(tree, detail) for detail in details or error.errors()]
        raise ConfigError("\n".join(f"{where}: {line}" for line in lines)) from None


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Raises ConfigError when the file is absent, damaged or holds something else."""
    if path.is_dir():
        run = " It is a run's folder: name its config.yaml" if (path / "config.yaml").is_file() else ""
        raise ConfigError(f"{path}: is a folder, and a config is a YAML file.{run}")
    try:
        tree = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
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
    parts: list[Any] = [int(index) if index else name for index, name in re.findall(r"\[(\d{1,9})\]|([^.\[\]]+)", key)]
    if not equals or not parts:
        raise ConfigError(f"override '{word}': write key=value, for example sampling.n=10")
    try:
        value = value_elsewhere(key, raw) if re.match(r"<.*\.ya?ml\b", raw) else parse_yaml(raw)
    except ConfigError as error:
        raise ConfigError(f"override '{word}': {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise ConfigError(f"override '{word}': '{raw}' is not a YAML value ({problem}); quote it") from None
    node: Any = tree
    try:
        for part in parts[:-1]:
            if isinstance(node, dict) and node.get(part) is None:
                node[part] = {}
            node = node[part]
        node[parts[-1]] = value
    except (TypeError, IndexError):
        raise ConfigError(f"override '{word}': the config has no such element or section to set it in") from None


def value_elsewhere(key: str, raw: str) -> Any:
    """The value of a key of mappings in another config: "<FILE key=value ...", quoted as in a shell."""
    words = shlex.split(raw[1:])
    value: Any = config_tree(words)
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise ConfigError(f"{words[0]} has no '{key}'")
        value = value[part]
    return value


def explain(tree: Any, detail: Any) -> str:
    """One line for one pydantic error: the key's path, what is wrong, and the nearest known value."""
    key, given, context = key_path(tree, detail["loc"]), detail.get("input"), detail.get("ctx", {})
    problem = detail["msg"].removeprefix("Value error, ")
    match detail["type"]:
        case "missing":
            problem = "this key is required and absent"
        case "union_tag_invalid":  # of sections such as `engine`, whose `kind` says what it holds
            key, word = f"{key}.{quoted(context['discriminator'])[0]}", str(context["tag"])
            problem = f"unknown '{word}'. {did_you_mean(word, quoted(context['expected_tags']))}"
        case "tuple_type" | "list_type":
            problem = f"takes a list, such as [{given}]"
        case "string_type" if isinstance(given, bool | int | float):
            of_yaml = "; YAML reads yes, no, on and off as true and false" * isinstance(given, bool)
            problem = f"takes a text: write it in quotes (got {given!r}{of_yaml})"
        case "literal_error":
            problem = f"cannot be '{given}'. {did_you_mean(str(given), quoted(context['expected']))}"
        case _ if not isinstance(given, dict | list | tuple | BaseModel):
            if not isinstance(context.get("error"), HiddenError):
                problem += f" (got {given!r})"
    return f"{key}: {problem}" if key else problem


def key_path(tree: Any, location: Sequence[str | int]) -> str:
    """The key's path as a user wrote it: "benchmarks[0].n_items".

    pydantic names a union's chosen variant in between ("engine", "openai", "timeout_s"); it is no key of the config.
    """
    path = ""
    for part in location:
        if isinstance(tree, dict) and part not in tree and part == tree.get("kind"):
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
        try:
            tree = tree[part]
        except (TypeError, LookupError):
            tree = None
    return path.lstrip(".")


def quoted(text: str) -> list[str]:
    """The words that pydantic lists in a message: "'a', 'b' or 'c'"."""
    return re.findall(r"'([^']*)'", text)


def did_you_mean(word: str, known: Sequence[str], meant: Sequence[str] = ()) -> str:
    """ "Did you mean 'x'? Known: ..." or only the known names when none is near. meant: what is nearer than those.

    An old spelling is answered with the new one: "'x' is now 'y'. Known: ...".
    """
    if word in RENAMED:
        return f"'{word}' is now '{RENAMED[word]}'. Known: {', '.join(known)}."
    near = "' or '".join(meant or difflib.get_close_matches(word, known, n=1))
    hint = f"Did you mean '{near}'? " if near else ""
    return f"{hint}Known: {', '.join(known)}."


def places(section: type[BaseModel], key: str) -> list[str]:
    """Where the sections within a section know a key: "optimiser.max_steps", "dialdefer.benchmarks[0].n_items"."""
    paths = dict[str, None]()
    for name, field in section.model_fields.items():
        within = f"{name}[0]" if get_origin(field.annotation) is tuple else name
        for inner in models_in(field.annotation):
            deeper = [key] if key in inner.model_fields else places(inner, key)
            paths |= dict.fromkeys(f"{within}.{place}" for place in deeper)
    return list(paths)


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The pydantic models inside a type such as `tuple[A, ...]` or `A | B`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in models_in(argument)]


def to_yaml(config: BaseModel) -> str:
    """The resolved config as YAML that reads back to an equal config."""
    return str(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True))

"""Every JSON schema that a prompt has, held against OpenAI's published rules for strict mode.

https://platform.openai.com/docs/guides/structured-outputs (Supported schemas), read in November 2026.
"""

import json
from collections.abc import Iterator
from operator import le
from typing import Any

import pytest

from evenhand.config import read_yaml
from evenhand.records import Prompt
from inference.config import OpenAIConfig, load_sampling_config
from inference.schedule import first_prompts
from studies.framing.asking import verdict_schema
from tests.made.made_threads import judged, thread
from tests.made.places import CONFIGS

KEYS = {"string": set(), "integer": set(), "array": {"items", "minItems", "maxItems"}}
KEYS["object"] = {"properties", "required", "additionalProperties"}
MOST_LEVELS, MOST_PROPERTIES, MOST_VALUES, MOST_CHARACTERS = 10, 5000, 1000, 120_000


def parts(schema: dict[str, Any], level: int = 1) -> Iterator[tuple[dict[str, Any], int]]:
    """The schema and every schema within it, with its level."""
    yield schema, level
    for inner in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
        yield from parts(inner, level + 1)


def faults(schema: dict[str, Any]) -> list[str]:
    """What strict mode would refuse, but for a root that is no object."""
    every, found = [*parts(schema)], list[str]()
    for part, level in every:
        kind, names = part.get("type"), list(part.get("properties", {}))
        found += [] if kind in KEYS else [f"no type: {part}"]
        found += [f"unsupported: {key}" for key in part.keys() - {"type", "enum"} - KEYS.get(kind, set())]
        if kind == "object" and (part.get("required") != names or part.get("additionalProperties") is not False):
            found.append(f"open: {part}")
        found += [f"level {level}"] if level > MOST_LEVELS else []
    values = [value for part, _ in every for value in part.get("enum", [])]
    names = [name for part, _ in every for name in part.get("properties", {})]
    sizes = len(values), len(names), len("".join(map(str, values + names)))
    return found if all(map(le, sizes, (MOST_VALUES, MOST_PROPERTIES, MOST_CHARACTERS))) else [*found, "too large"]


def schemas(prompts: list[Prompt]) -> list[dict[str, Any]]:
    return [json.loads(text) for text in {p.drawing.json_schema for p in prompts} if text]


ASKED = ("inference/pocket-reason", "narrator/pocket", "taxonomy/pocket", "pluraleval/pocket-judgements")


def test_every_schema_keeps_to_the_rules() -> None:
    prompts = [p for name in ASKED for p in first_prompts(load_sampling_config([str(CONFIGS / f"{name}.yaml")]))]
    prompts += judged(thread("a1", "b1", "a2", "c1", "b2"))[1]
    found = [*schemas(prompts), json.loads(verdict_schema(("yes", "no")))]
    assert len({json.dumps(schema)[:60] for schema in found}) >= 8
    assert [fault for schema in found for fault in faults(schema)] == []


SHIPPED = [path for path in sorted(CONFIGS.glob("*/*.yaml")) if "json_schema" in str(read_yaml(path).get("engine"))]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_config_that_holds_a_server_to_schemas_has_objects_alone(path: Any) -> None:
    config = load_sampling_config([str(path)])
    assert isinstance(config.engine, OpenAIConfig)
    found = schemas(first_prompts(config.on_own_items()))
    assert found
    assert {schema["type"] for schema in found} == {"object"}

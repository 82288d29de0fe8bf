"""Every JSON schema that a prompt has, held against OpenAI's published rules for strict mode.

https://platform.openai.com/docs/guides/structured-outputs (Supported schemas), read in November 2026.
"""

import json

from evenhand.records import answer_schema
from inference.config import load_sampling_config
from inference.schedule import first_prompts
from studies.framing.asking import WRITTEN
from studies.pluraleval.reply_reading import Read, ranking_in
from tests.made.completions import completion
from tests.made.made_threads import judged, thread
from tests.made.places import CONFIGS

KEYS = {"string": set(), "integer": set(), "array": {"items", "minItems", "maxItems"}}
KEYS["object"] = {"properties", "required", "additionalProperties"}


def parts(schema):
    """The schema and every schema within it."""
    yield schema
    for inner in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
        yield from parts(inner)


def faults(schema):
    """What strict mode would refuse."""
    refused = [] if schema["type"] == "object" else [f"no object: {schema}"]
    for part in parts(schema):
        kind, names = part.get("type"), list(part.get("properties", {}))
        refused += [] if kind in KEYS else [f"no type: {part}"]
        refused += [f"unsupported: {key}" for key in part.keys() - {"type", "enum"} - KEYS.get(kind, set())]
        if kind == "object" and (part.get("required") != names or part.get("additionalProperties") is not False):
            refused.append(f"open: {part}")
    return refused


def schemas(prompts):
    return [json.loads(text) for text in {p.drawing.json_schema for p in prompts} if text]


ASKED = (
    "inference/pocket-reason",
    "narrator/pocket",
    "taxonomy/pocket",
    "pluraleval/pocket-judgements",
    "pluraleval/pocket-responses",
)


def test_every_schema_keeps_to_the_rules():
    prompts = [p for name in ASKED for p in first_prompts(load_sampling_config([str(CONFIGS / f"{name}.yaml")]))]
    prompts += judged(thread("a1", "b1", "a2", "c1", "b2"))[1]
    found = [*schemas(prompts), *(json.loads(answer_schema(("yes", "no"), keys)) for keys in WRITTEN.values())]
    assert len({json.dumps(schema)[:90] for schema in found}) >= 10
    assert [fault for schema in found for fault in faults(schema)] == []


def test_a_ranking_and_a_pair_are_objects_that_the_studys_reader_reads():
    """And an ordinary judge's reason stands before its answer."""
    prompts = first_prompts(load_sampling_config([str(CONFIGS / "pluraleval" / "pocket-responses.yaml")]))
    of_task = {p.factors.task: p.drawing.json_schema for p in prompts}
    assert of_task["generation"] is None
    pair, ranking = (json.loads(str(of_task[task])) for task in ("pairwise", "ranking"))
    assert pair["properties"] == {"answer": {"type": "string", "enum": ["1", "2"]}}
    (places,) = ranking["properties"].values()
    n = places["minItems"]
    assert places["items"]["enum"] == [*range(1, n + 1)]
    reply = completion(json.dumps({"ranking": [*range(n, 0, -1)]}))
    assert ranking_in(reply, n) == Read([*range(n - 1, -1, -1)], "ok")
    assert list(json.loads(answer_schema(("A", "B"), WRITTEN["answer"]))["properties"]) == ["reasoning", "answer"]

"""`evenhand keys`: what it prints is a config, whole, and says of every key what its schema says."""

import json
import re
from collections import Counter

import pytest
import yaml

from evenhand.cli.keys import comments, keys_text, main
from evenhand.config import models_in, parse_config
from inference.config import sampling_schema
from studies.dialdefer.section import Variant
from training.config import METHODS, training_schema

SCHEMAS = {
    "sample": sampling_schema("dialdefer"),
    **{method: training_schema(method, "dialdefer") for method in METHODS},
}
POCKET = {"dataset": "pocket", "split": "train"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_printed_is_a_config_once_the_required_keys_have_values(name):
    tree = yaml.safe_load(keys_text(SCHEMAS[name]))
    tree |= {"name": "x", "model": tree["model"] | {"name": "embedded"}}
    short = {"name": "x", "model": {"name": "embedded"}}
    tree["dialdefer"]["benchmarks"] = [POCKET]
    short["dialdefer"] = {"benchmarks": [POCKET]}
    if name != "sample":
        assert tree["method"] == name
        tree["optimiser"]["learning_rate"] = 0.1
        short |= {"method": name, "optimiser": {"learning_rate": 0.1}}
    for config in (tree, short):
        if name in ("paired", "label_free"):  # they compare prompts with each other, which the defaults keep apart
            config["optimiser"] = config["optimiser"] | {"batch_by": "item"}
        if name in ("bct", "right_replies"):
            config["examples"] = {**config.get("examples", {}), "replies": "runs/inference/x"}
        if name == "paired":
            config["paired"] = {"weight": 1.0}
    assert parse_config(SCHEMAS[name], tree, "printed") == parse_config(SCHEMAS[name], short, "short")


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_of_every_section_is_there_once_and_is_explained(name):
    text = keys_text(SCHEMAS[name])
    keys = Counter(re.findall(r"^[ #-]*(\w+):", text, re.MULTILINE))
    wanted = Counter(key for section in sections_of(SCHEMAS[name]) for key in section.model_fields)
    assert {key: keys[key] for key in wanted} == wanted
    for section in sections_of(SCHEMAS[name]):
        for key, field in section.model_fields.items():
            is_told = comments(section).get(key) or models_in(field.annotation) or section is Variant
            assert is_told or key in ("kind", "method"), f"{section.__name__}.{key} has no comment"


def sections_of(schema):
    yield schema
    for field in schema.model_fields.values():
        for inner in models_in(field.annotation):
            yield from sections_of(inner)


def test_the_json_schema_knows_every_key_of_the_yaml(capsys):
    main(["sample", "framing", "--json-schema"])
    schema = json.loads(capsys.readouterr().out)
    tree = yaml.safe_load(keys_text(sampling_schema("framing")))
    assert {*schema["properties"]} == {*tree}
    assert {*schema["$defs"]["FramingSection"]["properties"]} == {*tree["framing"]}

"""`evenhand keys`: what it prints is a config, whole, and says of every key what its schema says."""

from collections.abc import Iterator

import pytest
import yaml
from pydantic import BaseModel

from benchmarks.config import models_in, parse_config
from benchmarks.keys import comments_in, keys_text, main
from inference.config import InferenceConfig
from training.config import METHODS

SCHEMAS: dict[str, type[BaseModel]] = {"sample": InferenceConfig, **METHODS}
POCKET = {"dataset": "pocket", "split": "train"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_printed_is_a_config_once_the_required_keys_have_values(name):
    tree = yaml.safe_load(keys_text(SCHEMAS[name]))
    tree |= {"name": "x", "model": tree["model"] | {"name": "embedded"}, "benchmarks": [POCKET]}
    short = {"name": "x", "model": {"name": "embedded"}, "benchmarks": [POCKET]}
    if name != "sample":
        assert tree["method"] == name
        tree["optimiser"]["learning_rate"] = 0.1
        short |= {"method": name, "optimiser": {"learning_rate": 0.1}}
    if name == "own_c1":  # compares prompts with each other, which the defaults keep apart
        for one in (tree, short):
            one["optimiser"] = one["optimiser"] | {"order": "whole_items"}
            one["examples"] = one.get("examples", {}) | {"conditions": "c1_and_c2"}
    assert parse_config(SCHEMAS[name], tree, "printed") == parse_config(SCHEMAS[name], short, "short")


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_of_every_section_is_there(name):
    lines = [line.strip().lstrip("#- ") for line in keys_text(SCHEMAS[name]).splitlines()]
    for section in sections_of(SCHEMAS[name]):
        for key in section.model_fields:
            assert any(line.startswith(f"{key}:") for line in lines), f"{section.__name__}.{key}"


def sections_of(schema: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield schema
    for field in schema.model_fields.values():
        for inner in models_in(field.annotation):
            yield from sections_of(inner)


def test_it_says_what_the_schema_says_and_what_a_key_may_be(capsys):
    main(["sample"])
    lines = capsys.readouterr().out.splitlines()
    assert "name:  # required" in lines
    assert "  n: 1  # samples per prompt; at least 1" in lines
    assert "format: chat  # chat | raw" in lines
    assert "  top_p: 1.0  # above 0 and at most 1" in lines
    assert "  # or: Any OpenAI-compatible server." in lines
    assert "  # kind: openai" in lines
    assert max(map(len, lines)) <= 120


def test_off_sections_can_be_uncommented():
    lines = keys_text(InferenceConfig).splitlines()
    start = lines.index(next(line for line in lines if line.startswith("narrator: null")))
    stop = next(i for i in range(start + 1, len(lines)) if not lines[i].startswith("  #"))
    off = [line.replace("  # ", "  ", 1) for line in lines[start + 1 : stop]]
    tree = yaml.safe_load("\n".join(["narrator:", *off]))
    assert tree["narrator"]["corpus"]["split"] == "test"
    assert tree["narrator"]["option_orders"] == ["published", "fixed_slot"]


def test_a_method_is_of_training(capsys):
    main(["train", "simpo"])
    printed = capsys.readouterr().out
    assert "gamma: 1.0  # the margin, in units of beta x log-probability; at least 0" in printed
    assert "target: soft" not in printed
    with pytest.raises(SystemExit):
        main(["sample", "simpo"])
    assert "evenhand keys train simpo" in capsys.readouterr().err


def test_comments_above_and_behind_are_one_and_others_are_not_taken():
    source = '''class A(B):
    """Text."""

    # of nobody

    # above,
    # in two lines
    a: int = 1  # and behind
    b: str = "# no comment"
    c: tuple[int, ...] = (
        1,
    )  # behind the end
'''
    assert comments_in(source) == {"a": "above, in two lines and behind", "b": "", "c": "behind the end"}

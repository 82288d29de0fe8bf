"""Recipes for public data: each asks a made file of its publisher's shape; its head names address, licence, columns."""

import re
from pathlib import Path

import pytest

from evenhand.config import config_tree, read_yaml
from inference.config import parse_sampling_config
from tests.made.made_verdicts import write
from tests.made.places import CONFIGS

RECIPES = sorted(path.stem for path in (CONFIGS / "recipes").glob("*.yaml"))
SHAPES = read_yaml(Path(__file__).with_name("published_shapes.yaml"))


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_asks_a_file_of_its_publishers_shape(name, tmp_path):
    shape, head = SHAPES[name], (CONFIGS / "recipes" / f"{name}.yaml").read_text().partition("name:")[0]
    assert name == "predicate" or re.search(r"(?s)https://.*(MIT|BY|Apache).*olumn", head)
    write(tmp_path / shape["file"], shape["rows"])
    config = parse_sampling_config(config_tree([name, f"framing.items={tmp_path / shape['file']}"]), name)
    (unit,) = config.study.units(config.verdict).units
    prompts = unit.next_prompts({})
    assert len(prompts) == shape["n_prompts"]
    assert {prompt.factors.label for prompt in prompts} == {*shape["labels"]}
    assert any(shape["text"] in prompt.messages[-1].content for prompt in prompts)
    later = unit.next_prompts(config.study.supposed_replies(prompts))
    has_follow_ups = any(framing.follow_up_to for framing in config.study.framings.values())
    assert {prompt.condition for prompt in later} == ({"are you sure?"} if has_follow_ups else set())

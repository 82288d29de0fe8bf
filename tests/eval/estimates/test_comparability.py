"""Which config keys make two runs two experiments."""

from pydantic import BaseModel

from eval.estimates.comparability import config_differences
from inference.config import OpenAIConfig, TransformersConfig, VllmConfig

# What an engine is and computes with, and what it is asked; every other key of an engine is about speed and patience.
SERIOUS = {"kind", "dtype", "json_mode", "send_seed", "extra_body"}


def test_of_an_engines_keys_only_those_that_can_change_an_answer_are_serious() -> None:
    schemas: list[type[BaseModel]] = [VllmConfig, OpenAIConfig, TransformersConfig]
    keys = [key for schema in schemas for key in schema.model_fields]
    before, after = ({"engine": dict.fromkeys(keys, value)} for value in ("one", "another"))
    found = list(config_differences(before, after))
    assert {difference.what for difference in found} == {f"engine.{key}" for key in keys}
    assert {difference.what for difference in found if difference.serious} == {f"engine.{key}" for key in SERIOUS}

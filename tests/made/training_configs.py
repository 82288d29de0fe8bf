"""Training configs from plain trees."""

from collections.abc import Mapping
from typing import Any

from studies.registry import study_in
from training.config import AnyRun, training_schema

CONDITIONS = {
    "c2_only": ["c2_correct", "c2_incorrect"],
    "c1_and_c2": ["c1_true", "c1_false", "c2_correct", "c2_incorrect"],
}


def in_full(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The tree as a config has it: `benchmarks` may stand outside of `dialdefer`, and in `examples` what is asked.

    The template is then `matched` and the conditions are `c2_only` unless they are named.
    """
    if "benchmarks" not in tree:
        return dict(tree)
    examples = dict(tree.get("examples", {}))
    prompts = {"template": "matched", "conditions": CONDITIONS[examples.pop("conditions", "c2_only")]}
    prompts |= {key: examples.pop(key) for key in ("template", "speakers") if key in examples}
    rest = {key: value for key, value in tree.items() if key not in ("benchmarks", "examples")}
    return {**rest, "examples": examples, "dialdefer": {"benchmarks": tree["benchmarks"], "prompts": prompts}}


def training_config(tree: Mapping[str, Any]) -> AnyRun:
    """The config that a tree describes. Raises pydantic's ValidationError."""
    whole = in_full(tree)
    return training_schema(whole["method"], study_in(whole, "made.yaml")).model_validate(whole)

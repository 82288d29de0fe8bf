"""Sampling configs from plain trees."""

from collections.abc import Mapping
from typing import Any

from inference.config import InferenceConfig, parse_sampling_config


def sampling_config(tree: Mapping[str, Any]) -> InferenceConfig:
    """The config that a tree describes; for short `benchmarks` and `prompts` may stand outside of `dialdefer`."""
    own = {key: tree[key] for key in ("benchmarks", "prompts") if key in tree}
    rest = {key: value for key, value in tree.items() if key not in own}
    return parse_sampling_config({**rest, "dialdefer": own} if own else rest, "made.yaml")

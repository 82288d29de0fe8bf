"""Sampling configs from plain trees."""

from inference.config import parse_sampling_config


def sampling_config(tree):
    """The config that a tree describes; for short `benchmarks` and `prompts` may stand outside of `dialdefer`."""
    own = {key: tree[key] for key in ("benchmarks", "prompts") if key in tree}
    rest = {key: value for key, value in tree.items() if key not in own}
    return parse_sampling_config({**rest, "dialdefer": own} if own else rest, "made.yaml")

"""Prompts of a few words, and a config that asks them."""

from typing import Any

from evenhand.records import Message, Prompt
from inference.config import InferenceConfig
from studies.dialdefer.records import Condition, Factors
from tests.made.sampling_configs import sampling_config


def toy_prompt(text: str, *before: Message) -> Prompt:
    """A user's message, perhaps behind a system message."""
    return Prompt(
        item_id=f"toy-{len(text)}",
        benchmark="toy",
        dataset="toy",
        condition=Condition.C2_CORRECT,
        factors=Factors(),
        messages=(*before, Message(role="user", content=text)),
    )


def toy_config(model: str, verdict: str = "margin", **keys: Any) -> InferenceConfig:
    """A sampling config for a model folder; which items it names plays no part."""
    tree = {"name": "toy", "model": {"name": model}, "benchmarks": [{"dataset": "pocket"}], "verdict": verdict}
    return sampling_config({**tree, **keys})

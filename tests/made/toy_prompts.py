"""Prompts of a few words, and a config that asks them."""

from dataclasses import replace

from evenhand.records import Message, Prompt
from studies.dialdefer.records import Condition, Factors
from tests.made.sampling_configs import sampling_config

OPTIONS = ("Bo", "Ann", "Anna", "Zo\u00eb", "Anna B.")


def toy_prompt(text, *before):
    """A user's message, perhaps behind a system message."""
    return Prompt(
        item_id=f"toy-{len(text)}",
        benchmark="toy",
        dataset="toy",
        condition=Condition.C2_CORRECT,
        factors=Factors(),
        messages=(*before, Message(role="user", content=text)),
    )


def option_prompt(text, options=OPTIONS):
    """A message that is answered with one of the options."""
    return replace(toy_prompt(text), answer_space=options)


def toy_config(folder, verdict="margin", **keys):
    """A sampling config for a model folder; which items it names plays no part where prompts are given."""
    tree = {"name": "toy", "model": {"name": folder}, "benchmarks": [{"dataset": "pocket"}], "verdict": verdict}
    return sampling_config({**tree, **keys})

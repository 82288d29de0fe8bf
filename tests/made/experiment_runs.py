"""Experiments over a few made items, answered by a function in place of a model."""

from inference.sampling import sample
from studies.dialdefer import section as planning
from studies.dialdefer.panels import load_run
from tests.made.made_runs import aio_items, made_items, say
from tests.made.scripted_engine import scripted
from tests.made.toy_prompts import toy_config

N_ITEMS = 3


def use_few_items(monkeypatch):
    """Three made items of each dataset in place of a built folder's."""
    monkeypatch.setattr(planning, "load_items", few_items)


def few_items(specs):
    """Made items in place of a built folder's."""
    makers = {name: aio_items if name.startswith("aio") else made_items for name in (spec.dataset for spec in specs)}
    return [item for name, make in makers.items() for item in make(name, N_ITEMS)]


def says_one(prompt):
    return {**say(1), "answer_logprobs": {"1": -0.1, "2": -2.1}}


def run_with(judge, config, monkeypatch):
    scripted(monkeypatch, judge)
    return load_run(sample(config))


def with_variants(*variants, datasets=("truthfulqa",), **keys):
    prompts = {"variants": list(variants), **keys.pop("prompts", {})}
    benchmarks = [{"dataset": name} for name in datasets]
    return toy_config("scripted", **{"verdict": "reason", "benchmarks": benchmarks, "prompts": prompts, **keys})

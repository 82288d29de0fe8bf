"""Experiments over a few made items, answered by a function in place of a model."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from eval.dialdefer.runs import JudgedRun, load_run
from evenhand.records import Completion, Prompt
from inference import sampling
from inference.config import InferenceConfig
from inference.engine import Further, nothing_further
from inference.sampling import sample
from studies.dialdefer import section as planning
from studies.dialdefer.datasets import DatasetSpec
from studies.dialdefer.records import Item
from tests.made.made_runs import aio_items, made_items, say
from tests.made.sampling_configs import sampling_config
from tests.made.scripted_engine import OpenEngine

N_ITEMS = 3


def use_few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three made items of each dataset in place of a built folder's, and a model that needs no files."""
    monkeypatch.setattr(planning, "load_items", few_items)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})


def few_items(specs: Sequence[DatasetSpec]) -> list[Item]:
    """Made items in place of a built folder's."""
    return [item for spec in specs for item in items_of(spec.dataset)]


def items_of(dataset: str) -> list[Item]:
    return aio_items(dataset, N_ITEMS) if dataset.startswith("aio") else made_items(dataset, N_ITEMS)


class Judge(OpenEngine):
    """An engine that answers from a function and remembers what it was asked."""

    def __init__(self, answer: Callable[[Prompt], dict[str, Any]]) -> None:
        self.answer, self.asked = answer, list[Prompt]()

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        for prompt in prompts:
            self.asked.append(prompt)
            yield Completion(prompt_hash=prompt.prompt_hash, sample_index=0, **self.answer(prompt))


def says_one(prompt: Prompt) -> dict[str, Any]:
    return {**say(1), "answer_logprobs": {"1": -0.1, "2": -2.1}}


def run_with(judge: Judge, config: InferenceConfig, monkeypatch: pytest.MonkeyPatch) -> JudgedRun:
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: judge)
    return load_run(sample(config))


def with_variants(*variants: dict[str, Any], datasets: Sequence[str] = ("truthfulqa",), **keys: Any) -> InferenceConfig:
    prompts = {"variants": list(variants), **keys.pop("prompts", {})}
    tree = {
        "name": "made",
        "model": {"name": "scripted"},
        "benchmarks": [{"dataset": name} for name in datasets],
        "prompts": prompts,
    }
    return sampling_config({**tree, **keys})

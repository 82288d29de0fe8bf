"""Experiments over a few made items, answered by a function in place of a model."""

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import pytest

from eval.dialdefer.runs import JudgedRun, load_run
from evenhand.records import Completion, Prompt
from inference import sampling
from inference.config import InferenceConfig
from inference.engine import Further, nothing_further
from inference.sampling import sample
from studies.dialdefer import plan as planning
from studies.dialdefer.datasets import DatasetSpec
from studies.dialdefer.records import Item
from tests.made.made_runs import made_items, say
from tests.made.sampling_configs import sampling_config

N_ITEMS = 3


def use_few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three made items of each dataset in place of a built folder's, and a model that needs no files."""
    monkeypatch.setattr(planning, "load_items", few_items)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})


def few_items(specs: Sequence[DatasetSpec]) -> list[Item]:
    """Made items in place of a built folder's."""
    return [item for spec in specs for item in items_of(spec.dataset)]


def items_of(dataset: str) -> list[Item]:
    if not dataset.startswith("aio"):
        return made_items(dataset, N_ITEMS)
    return [
        Item(
            item_id=f"{dataset}-{i}",
            benchmark="dialdefer",
            dataset=dataset,
            question="",
            correct_answer="not overreacting",
            incorrect_answer="overreacting",
            context=f"Speaker B missed train {i}. Speaker A laughed.",
            meta={"label": "NOR"},
        )
        for i in range(N_ITEMS)
    ]


class Judge:
    """An engine that answers from a function and remembers what it was asked."""

    def __init__(self, answer: Callable[[Prompt], dict[str, Any]]) -> None:
        self.answer, self.asked = answer, list[Prompt]()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

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

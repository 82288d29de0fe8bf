"""An engine that answers as told, in place of a model, and a run of pocket items that asks it."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import pytest

from evenhand.errors import ModelError
from evenhand.records import Completion, Prompt
from inference import sampling
from inference.config import InferenceConfig
from inference.engine import Further, nothing_further
from tests.made.read_back import completions_of
from tests.made.sampling_configs import sampling_config


class OpenEngine:
    """What the stand-ins of engines share: there is nothing to open or to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class ScriptedEngine(OpenEngine):
    """Answers every prompt with its own hash; dies or errs where told to."""

    asked: list[str] = []
    expected: list[str] = []  # what it was opened for
    die_after: int | None = None
    errors: set[str] = set()
    signal_after: tuple[int, int] | None = None  # after so many answers the process gets this signal

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        for number, prompt in enumerate(one_after_the_other(prompts, further)):
            if number == self.die_after:
                raise ModelError("the engine died")
            if self.signal_after and number == self.signal_after[0]:
                os.kill(os.getpid(), self.signal_after[1])
            self.asked.append(prompt.prompt_hash)
            failed = prompt.prompt_hash in self.errors
            yield Completion(
                prompt_hash=prompt.prompt_hash,
                sample_index=0,
                text="" if failed else prompt.prompt_hash,
                finish_reason="error: 500" if failed else "stop",
            )


def one_after_the_other(prompts: Sequence[Prompt], further: Further) -> Iterator[Prompt]:
    """Prompts in the order in which they are handed out."""
    while prompts:
        yield from prompts
        prompts = further()


def scripted(monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    """The engine that sampling gets from now on."""
    scripted = ScriptedEngine()
    scripted.asked, scripted.errors = [], set()

    def open_engine(config: InferenceConfig, prompts: Sequence[Prompt]) -> ScriptedEngine:
        scripted.expected = [prompt.prompt_hash for prompt in prompts]
        return scripted

    monkeypatch.setattr(sampling, "open_engine", open_engine)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})
    return scripted


def config(root: Path, **changes: object) -> InferenceConfig:
    return sampling_config(
        {
            "name": "toy",
            "model": {"name": "scripted"},
            "benchmarks": [{"dataset": "pocket", "n_items": 10}],
            "run": {"root": root, "shard_size": 7},
            **changes,
        }
    )


def answers(path: Path) -> dict[tuple[str, int], str]:
    return {key: c.text for key, c in completions_of(path).items()}

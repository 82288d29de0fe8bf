"""An engine that answers by a function, in place of a model, and a run of pocket items that asks it."""

import random
from collections.abc import Callable, Mapping
from typing import Any

from evenhand.errors import ModelError
from evenhand.records import Completion, Prompt
from inference import sampling
from inference.engine import PromptsTooLong
from tests.made.read_back import completions_of
from tests.made.toy_prompts import toy_config

Answer = str | Mapping[str, Any]
Answers = Callable[[Prompt], Answer | list[Answer]]


class OpenEngine:
    """What the stand-ins of engines share: there is nothing to open or to close."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class AnsweringEngine(OpenEngine):
    """Answers with the text, or the completion's fields, that a function gives for a prompt, or with a list of samples;
    remembers the prompts.

    `room` prompts are under way at a time, and any of them is finished next.
    """

    def __init__(self, answers=lambda prompt: prompt.prompt_hash, room=8, seed=0):
        self.answers, self.room, self.draws = answers, room, random.Random(seed)
        self.asked, self.expected = list[Prompt](), list[Prompt]()  # expected: what it was opened for
        self.errors, self.too_long = set[str](), set[str]()  # hashes of prompts, ids of items
        self.die_after: int | None = None
        self.before: Callable[[int], object] = lambda number: None  # called ahead of every answer, with its number

    def generate(self, prompts, further=tuple):
        waiting, under_way, refused = list(prompts), list[Prompt](), dict[Prompt, str]()
        while True:
            waiting.extend(further())
            while waiting and len(under_way) < self.room:
                prompt = waiting.pop(0)
                if prompt.item_id in self.too_long:
                    refused[prompt] = f"{len(prompt.messages[0].content)} characters"
                else:
                    under_way.append(prompt)
            if not under_way:
                break
            prompt = under_way.pop(self.draws.randrange(len(under_way)))
            if len(self.asked) == self.die_after:
                raise ModelError("the engine died")
            self.before(len(self.asked))
            self.asked.append(prompt)
            said = self.answers(prompt)
            for index, answer in enumerate(said if isinstance(said, list) else [said]):
                fields = {"text": answer, "finish_reason": "stop"} if isinstance(answer, str) else dict(answer)
                if prompt.prompt_hash in self.errors:
                    fields = {"text": "", "finish_reason": "error: 500"}
                yield Completion(prompt_hash=prompt.prompt_hash, sample_index=index, **fields)
        if refused:
            raise PromptsTooLong(refused)

    def asked_once(self):
        """How many prompts it was asked, none of them twice."""
        hashes = [prompt.prompt_hash for prompt in self.asked]
        assert len(hashes) == len(set(hashes))
        return len(hashes)


def scripted(monkeypatch, engine=None):
    """The engine that sampling gets from now on; without one it says each prompt's hash, in their order."""
    given = engine or AnsweringEngine(room=1)

    def open_engine(config, prompts):
        given.expected = list(prompts)
        return given

    monkeypatch.setattr(sampling, "open_engine", open_engine)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})
    return given


def config(root, **changes):
    few, run = [{"dataset": "pocket", "n_items": 10}], {"root": root, "shard_size": 7}
    return toy_config("scripted", **{"verdict": "reason", "benchmarks": few, "run": run, **changes})


def answers(path):
    return {key: c.text for key, c in completions_of(path).items()}

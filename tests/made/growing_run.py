"""A run of growing units that an engine of ours answers, and what of it is lost, doubled or wrong afterwards."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from evenhand.completions import every_completion
from evenhand.records import Completion, Prompt, digest
from evenhand.run_directory import is_done
from inference import sampling
from inference.config import InferenceConfig
from inference.engine import Further, nothing_further
from inference.sampling import sample
from studies.study import Replies, Units
from tests.made.scripted_engine import config
from tests.toy_study.asks import Fruit

N_UNITS, N_STEPS = 12, 4


@dataclass(frozen=True)
class Found:
    """What is not as in an undisturbed run."""

    lost: int = 0
    doubled: int = 0
    wrong: int = 0

    def __add__(self, other: "Found") -> "Found":
        return Found(self.lost + other.lost, self.doubled + other.doubled, self.wrong + other.wrong)


class Chain(Fruit):
    """Asks N_STEPS times, each time quoting the reply before, as PluralEval's threads do."""

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        asked = self.prompt(0, f"0: {self.unit_id}?")
        for step in range(1, N_STEPS):
            if asked.prompt_hash not in replies:
                return [asked]
            asked = self.prompt(step, f"{step}: of {self.unit_id} you said {replies[asked.prompt_hash][0].text}")
        return [] if asked.prompt_hash in replies else [asked]


def reply_to(prompt: Prompt) -> str:
    """The one right answer."""
    return digest(prompt.prompt_hash, 6)


class GrowingEngine:
    """Answers by reply_to. before: called ahead of every answer, with its number."""

    def __init__(self, before: Callable[[int], object] = lambda number: None, seconds: float = 0.0) -> None:
        self.before, self.seconds, self.errors = before, seconds, set[str]()
        self.n_asked = 0

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        waiting = list(prompts)
        while waiting:
            prompt = waiting.pop(0)
            self.before(self.n_asked)
            time.sleep(self.seconds)
            self.n_asked += 1
            is_error = prompt.prompt_hash in self.errors
            self.errors.discard(prompt.prompt_hash)
            yield Completion(
                prompt_hash=prompt.prompt_hash,
                sample_index=0,
                text="" if is_error else reply_to(prompt),
                finish_reason="error: out of memory at this prompt alone" if is_error else "stop",
            )
            waiting.extend(further())


def units() -> list[Chain]:
    return [Chain(f"fruit {number}") for number in range(N_UNITS)]


class GrowingRun:
    """A folder's run, continued by one command after the other."""

    def __init__(self, folder: Path, **run: object) -> None:
        self.config: InferenceConfig = config(folder, run={"root": folder, "shard_size": 5, **run})

    def command(self, engine: GrowingEngine, shard: tuple[int, int] | None = None) -> Path:
        """`evenhand sample`, with the engine in the model's place."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(self.config.study), "units", lambda self, verdict: Units(units(), "made"))
            patch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})
            patch.setattr(sampling, "open_engine", lambda config, prompts: nullcontext(engine))
            return sample(self.config, shard)

    def found(self, path: Path) -> Found:
        """Replies that lack, that are there twice, and that are not the right ones."""
        written = [c for c in every_completion(path) if not c.is_error]
        replies: dict[str, list[Completion]] = {}
        for completion in written:
            replies.setdefault(completion.prompt_hash, []).append(completion)
        expected = {}
        for unit in units():
            so_far: dict[str, list[Completion]] = {}
            while prompts := unit.next_prompts(so_far):
                for prompt in prompts:
                    text = expected[prompt.prompt_hash] = reply_to(prompt)
                    so_far[prompt.prompt_hash] = [
                        Completion(prompt_hash=prompt.prompt_hash, sample_index=0, text=text, finish_reason="stop")
                    ]
        counts = Counter(c.prompt_hash for c in written)
        return Found(
            lost=len(expected.keys() - replies.keys()) + (not is_done(path)),
            doubled=counts.total() - len(counts),
            wrong=sum(expected.get(hash_) != of[0].text for hash_, of in replies.items()),
        )

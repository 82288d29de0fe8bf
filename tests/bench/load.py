"""A run directory under load: N prompts in 64 shards by a stub engine that answers at once. No model, no tokenizer.

`python -m tests.bench.load N` runs one size; without N each size in a process of its own, for its peak memory. One
process plans and writes all 64 shards. Seconds are of the processor, so that other work on the machine does not count.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from eval.runs import load_finished
from evenhand.completion_shards import read_answers
from evenhand.records import Completion, Message, Prompt
from inference import sampling
from inference.engine import Further, nothing_further
from inference.progress import WatchedSampling
from inference.sampling import sample
from studies.dialdefer.records import Condition, Factors
from studies.study import LazyUnits, OneRound, Units
from tests.made.sampling_configs import sampling_config

SIZES = (10_000, 100_000, 1_000_000)
N_SHARDS = 64
TEXT = "Here is a question and its answer. Is the answer correct? " * 8  # some 480 characters


class StubEngine:
    """Answers everything at once."""

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        while prompts:
            yield from map(self.reply_to, prompts)
            prompts = further()

    def reply_to(self, prompt: Prompt) -> Completion:
        """The same to all."""
        return Completion(
            prompt_hash=prompt.prompt_hash,
            sample_index=0,
            text='{"chosen_answer": "1", "reasoning": "It is what the question asks for."}',
            finish_reason="stop",
            prompt_tokens=120,
            completion_tokens=20,
            rendered=prompt.messages[0].content,
        )


def unit(number: int) -> OneRound:
    """An item of four prompts."""
    prompts = (
        Prompt(
            item_id=f"item-{number}",
            benchmark="load",
            dataset="load",
            condition=condition,
            factors=Factors(),
            messages=(Message(role="user", content=f"{number} {condition} {TEXT}"),),
        )
        for condition in Condition
    )
    return OneRound(f"item-{number}", tuple(prompts))


def timed(what: str, seconds: dict[str, float], function: Any, *words: Any) -> Any:
    """What a function returns; its time is noted."""
    began = time.process_time()
    found = function(*words)
    seconds[what] = time.process_time() - began
    return found


def run_one(n_prompts: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Plan, write, read and look at a run of this size, and print what each took."""
    config = sampling_config(
        {
            "name": "load",
            "model": {"name": "stub"},
            "benchmarks": [{"dataset": "pocket"}],
            "run": {"root": str(folder), "shard_size": -(-n_prompts // N_SHARDS)},
        }
    )
    patch.setattr(
        type(config.study), "units", lambda self, verdict: Units(LazyUnits(range(n_prompts // 4), unit), "load")
    )
    patch.setattr(sampling, "model_facts", lambda config: {"name": "stub"})
    patch.setattr(sampling, "open_engine", lambda config, prompts: nullcontext(StubEngine()))
    seconds: dict[str, float] = {}
    path = timed("plan, ask, write", seconds, sample, config)
    timed("continue", seconds, sample, config)
    timed("read", seconds, read_answers, path)
    timed("read for scores", seconds, load_finished, path)
    (seen,) = timed("status", seconds, WatchedSampling(path).look)
    assert (seen.done, seen.planned, seen.state) == (n_prompts, n_prompts, "complete")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    told = ", ".join(f"{what} {value:.1f} s" for what, value in seconds.items())
    n_shards = len(list((path / "completions").iterdir()))
    print(
        f"load: {n_prompts:,} prompts in {n_shards} shards: {told}; {sum(seconds.values()):.1f} s, peak {peak:.2f} GiB"
    )


def main(words: Sequence[str]) -> None:
    if not words:
        for size in SIZES:
            subprocess.run([sys.executable, "-m", "tests.bench.load", str(size)], check=True)
        return
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        run_one(int(words[0]), Path(folder), patch)


if __name__ == "__main__":
    main(sys.argv[1:])

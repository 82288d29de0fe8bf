"""A training run that takes its next microbatch when it is told to: the contenders of tests.bench.training.

Each is a process of its own, so that its peak memory is its own. It reads a line for each microbatch and answers with
the seconds that it took; where the optimiser's step came behind it, with the seconds of that as well.
"""

import json
import os
import resource
import sys
from collections.abc import Callable
from typing import Any

import torch
import transformers.trainer
from transformers import TrainerCallback

from tests.bench.matmul import now
from tests.made.stock_trl import TokenisedDPOTrainer, train_with_trl
from training import train
from training.config import parse_training_config


class Gate(TrainerCallback):
    """Waits before each microbatch until it is told to go on, and says how long the one before took."""

    def __init__(self) -> None:
        self.began = self.stepped = 0.0

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        print("READY", flush=True)
        self.wait()

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        self.tell(now() - self.began, 0.0)

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self.stepped = now()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.tell(self.stepped - self.began, now() - self.stepped)

    def tell(self, microbatch: float, optimiser: float) -> None:
        print("TOOK", microbatch, optimiser, flush=True)
        self.wait()

    def wait(self) -> None:
        if not sys.stdin.readline().strip():
            print("PEAK", peak_gib(), flush=True)
            os._exit(0)  # what is left of the run is not asked for
        self.began = now()


def peak_gib() -> float:
    """The most memory that the process has held: of the GPU where there is one."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def timed(reference: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks the reference, and says how long that took."""

    def asked(*arguments: Any, **more: Any) -> Any:
        began = now()
        found = reference(*arguments, **more)
        print("REFERENCE", now() - began, flush=True)
        return found

    return asked


def main(config: dict[str, Any], *, is_trl: bool) -> None:
    """Train by a config, with our trainer or with TRL's."""
    transformers.trainer.DEFAULT_CALLBACKS.append(Gate)
    train.reference_of = timed(train.reference_of)
    TokenisedDPOTrainer._precompute_ref_logps = timed(TokenisedDPOTrainer._precompute_ref_logps)
    (train_with_trl if is_trl else train.train)(parse_training_config(config, "bench"))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), is_trl="trl" in sys.argv[2:])

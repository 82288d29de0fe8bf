"""A training run that takes its next microbatch when it is told to: the contenders of tests.bench.training.

Each is a process of its own, so that its peak memory is its own. It reads a line for each microbatch and answers with
the seconds that it took; where the optimiser's step came behind it, with the seconds of that as well. Behind the line
"profile" and a whole step it says where the step's time went.
"""

import json
import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
import transformers.trainer
from torch import Tensor
from torch.profiler import record_function
from transformers import TrainerCallback

from tests.bench.contenders import PARTS
from tests.bench.matmul import now
from tests.bench.operations import COLLATION, StepProfile
from tests.made.stock_trl import TokenisedDPOTrainer, train_with_trl
from tests.made.training_configs import training_config
from training import batches, forward, train, trainer
from training.batches import Bundle, Collator
from training.trees import padded_rows, tree_of


class Gate(TrainerCallback):
    """Waits before each microbatch until it is told to go on, and says how long the one before took."""

    def __init__(self) -> None:
        self.began = self.stepped = 0.0
        self.profile: StepProfile | None = None
        self.profiled: list[float] = []  # seconds of the microbatches since it began

    def on_train_begin(self, *_: Any, model: Any, **__: Any) -> None:
        self.model = model
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
        if self.profile:
            self.profiled.append(microbatch + optimiser)
            if len(self.profiled) == PARTS:
                print("SPENT", json.dumps(self.profile.shares(sum(self.profiled))), flush=True)
                self.profile = None
        self.wait()

    def wait(self) -> None:
        order = sys.stdin.readline().strip()
        if not order:
            print("PEAK", peak_gib(), flush=True)
            os._exit(0)  # what is left of the run is not asked for
        if order == "profile":
            self.profile = StepProfile(self.model)
            patch.object(batches.Collator, "__call__", marked(batches.Collator.__call__)).start()
            self.profile.start()
        self.began = now()


def marked(collate: Callable[..., Any]) -> Callable[..., Any]:
    """A collator whose time the profile tells apart."""

    def collated(*arguments: Any) -> Any:
        with record_function(COLLATION):
            return collate(*arguments)

    return collated


def peak_gib() -> float:
    """The most memory that the process has held: of the GPU where there is one."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@contextmanager
def all_logits(model: Any, rows: Tensor, columns: Tensor) -> Iterator[None]:
    """forward.scoring_at without its trick: every position goes through the head."""
    hook = model.get_output_embeddings().register_forward_hook(lambda _, __, logits: logits[rows, columns])
    try:
        yield
    finally:
        hook.remove()


def a_row_for_each_answer(self: Collator, bundles: Sequence[Bundle]) -> dict[str, Tensor]:
    """Collator without its trick: a prompt is read once for each of its two answers."""
    examples = [example for bundle in bundles for example in bundle]
    batch = collate(self, [[example] for example in examples])
    del batch["reach"]
    trees = [tree_of([(*example.prompt_ids, choice)]) for example in examples for choice in example.choices]
    batch["at"] = torch.tensor([(2 * n, len(e.prompt_ids) - 1) for n, e in enumerate(examples)])
    batch["ends_at"] = torch.tensor([[(2 * n + k, len(e.prompt_ids)) for k in (0, 1)] for n, e in enumerate(examples)])
    return {**batch, **padded_rows(trees, self.pad)}


collate = Collator.__call__
ALL = "trl"  # of the tricks
TRICKS: dict[str, tuple[Any, str, Any]] = {
    "head": (forward, "scoring_at", all_logits),
    "dropout": (trainer, "quicken_dropout", lambda model: None),
    "one row": (batches.Collator, "__call__", a_row_for_each_answer),
}


def timed(reference: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks the reference, and says how long that took."""

    def asked(*arguments: Any, **more: Any) -> Any:
        began = now()
        found = reference(*arguments, **more)
        print("REFERENCE", now() - began, flush=True)
        return found

    return asked


def main(config: dict[str, Any], without: Sequence[str]) -> None:
    """Train by a config, without some of the tricks that it has no key for; without all of them is TRL's trainer."""
    transformers.trainer.DEFAULT_CALLBACKS.append(Gate)
    train.reference_of = timed(train.reference_of)
    TokenisedDPOTrainer._precompute_ref_logps = timed(TokenisedDPOTrainer._precompute_ref_logps)
    for name in without:
        if name != ALL:
            patch.object(*TRICKS[name]).start()
    (train_with_trl if ALL in without else train.train)(training_config(config))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])

"""Memory or disk that runs short: what does not fit is computed in several passes; what ends a run says what helps."""

import gc
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from traceback import format_exception
from typing import TypeVar

import torch

from evenhand.errors import DataError, ModelError, one_line
from training.batches import Group
from training.config import TrainingConfig
from training.run_folder import drop_half_written, folder_of, last_checkpoint

Result = TypeVar("Result")
# Of the system's words those that Python and Rust share; torch.save says no more than that a write has failed.
DISK_FULL = ("No space left", "quota exceeded", "inline_container", "PytorchStreamWriter", "iostream error")
# What torch says of main memory, and cuBLAS of its workspace, in errors that have no class of their own.
MEMORY_FULL = (
    "can't allocate memory",
    "Cannot allocate memory",
    "not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDA error: out of memory",
)
# In this order: those that change no mathematics first.
WAYS = (
    "a smaller optimiser.per_device_batch_size with more optimiser.gradient_accumulation_steps",
    "optimiser.batch_by=group where units have several groups",
    "optimiser.gradient_checkpointing=true",
    "optimiser.row_tokens=0",
    "quantisation.weights=nf4",
    "a smaller examples.max_prompt_length",
    "quantisation.kind=nf4",
)


@contextmanager
def shortage_explained(config: TrainingConfig) -> Iterator[None]:
    """Context manager: a full disk or quota is a DataError, a failed allocation a ModelError, each with what helps."""
    try:
        yield
    except Exception as error:
        if any(phrase in text for text in format_exception(error, limit=0) for phrase in DISK_FULL):
            path = folder_of(config)
            drop_half_written(path)
            last = last_checkpoint(path)
            kept = f"Everything up to {last.name} is kept" if last else "No checkpoint had been saved yet"
            raise DataError(
                f"the disk or quota is full ({one_line(error)}). {kept}: make room (`evenhand doctor CONFIG` says how "
                "much the checkpoints take), and the same command continues. Or move "
                f"{config.run.root} to a larger disk and continue with run.root=<there>"
            ) from error
        if is_out_of_memory(error):
            raise ModelError(
                f"out of memory ({one_line(error)}). What helps, in this order, as far as it is not set so already: "
                f"{'; '.join(WAYS)}. `evenhand doctor CONFIG` estimates what each takes. A changed setting is another "
                "run, which begins anew"
            ) from error
        raise


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error is a failed allocation, on a GPU or in main memory."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(p in str(error) for p in MEMORY_FULL)


class Fitting:
    """Remembers how many tokens did not fit, and gives passes half of them at most. Groups stay whole."""

    def __init__(self, most: float = math.inf) -> None:
        self.most = most  # tokens of a pass, each example counted for itself

    def in_passes(
        self, groups: Sequence[Group], compute: Callable[[Sequence[Group]], Result], undo: Callable[[], None]
    ) -> list[Result]:
        """What is computed of some groups, pass by pass: of all at once where they fit.

        undo: takes back what the passes of an attempt have left behind. An error for lack of memory goes on to the
        caller where a single group does not fit.
        """
        most, n_tokens = self.most, 0
        while True:
            try:
                results = []
                for some in self.passes(groups):
                    n_tokens = size(some) if len(some) > 1 else 0
                    results.append(compute(some))
                break
            except Exception as error:
                if not n_tokens or not is_out_of_memory(error):
                    raise
            # Here, and not above, where the error's traceback holds what fills the memory.
            self.most = n_tokens // 2
            undo()
            free_memory()
        if self.most < most:
            print(
                f"Out of memory: from here on a pass has at most {self.most:.0f} tokens, and a larger microbatch "
                "takes several. Its loss and gradients stay what they are",
                file=sys.stderr,
            )
        return results

    def passes(self, groups: Sequence[Group]) -> list[list[Group]]:
        """The groups in order, as many together as fit."""
        passes: list[list[Group]] = []
        n_tokens = 0
        for group in groups:
            n_tokens += size([group])
            if not passes or n_tokens > self.most:
                passes.append([])
                n_tokens = size([group])
            passes[-1].append(group)
        return passes


def size(groups: Sequence[Group]) -> int:
    """The tokens of some groups."""
    return sum(example.n_tokens for group in groups for example in group)


def free_memory() -> None:
    """Give back what a failed pass has left to the allocator."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

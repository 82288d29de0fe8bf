"""Out of memory, told with the settings that help."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from evenhand.errors import ModelError

# What torch says of main memory, and cuBLAS of its workspace, in errors that have no class of their own.
PHRASES = ("can't allocate memory", "not enough memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDA error: out of memory")


# In this order: those that change no mathematics first.
WAYS = (
    "a smaller optimiser.per_device_batch_size with more optimiser.gradient_accumulation_steps",
    "optimiser.order=whole_groups where units have several groups",
    "optimiser.gradient_checkpointing=true",
    "optimiser.row_tokens=0",
    "quantisation.hold=nf4",
    "a smaller examples.max_prompt_length",
    "quantisation.kind=nf4",
)


@contextmanager
def told_when_out_of_memory(doing: str) -> Iterator[None]:
    """Within it, an allocation that fails is a ModelError with advice. doing: "training", for the message."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if not is_out_of_memory(error):
            raise
        raise ModelError(
            f"out of memory while {doing} ({' '.join(str(error).split())[:200]}). What helps, in this order, as far as "
            f"it is not set so already: {'; '.join(WAYS)}. `evenhand doctor CONFIG` estimates what each takes. A "
            "changed setting is another run, which begins anew"
        ) from error


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error is a failed allocation, on a GPU or in main memory."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(p in str(error) for p in PHRASES)

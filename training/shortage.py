"""What a run says when memory or disk runs short."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception

import torch

from evenhand.errors import DataError, ModelError, one_line
from training.config import TrainingConfig

# Of the system's words those that Python and Rust share; torch.save says no more than that a write has failed.
DISK_FULL = ("No space left", "quota exceeded", "inline_container", "PytorchStreamWriter", "iostream error")


def less_memory(config: TrainingConfig) -> str:
    """What takes less memory than a config, without the settings that it has; what changes no mathematics first."""
    optimiser, held = config.optimiser, config.quantisation
    smaller = "a smaller optimiser.per_device_batch_size with more optimiser.gradient_accumulation_steps"
    is_set = {
        smaller: optimiser.per_device_batch_size <= config.group_size,
        "optimiser.batch_by=group where units have several groups": optimiser.batch_by == "group",
        "optimiser.gradient_checkpointing=true": optimiser.gradient_checkpointing,
        "optimiser.row_tokens=0": optimiser.row_tokens == 0,
        "quantisation.weights=nf4": held.weights == "nf4",
        "a smaller examples.max_prompt_length": False,
        "quantisation.kind=nf4": held.kind == "nf4",
    }
    return "; ".join(advice for advice, is_had in is_set.items() if not is_had)


@contextmanager
def shortage_explained(memory_advice: str) -> Iterator[None]:
    """Context manager: a full disk or quota is a DataError, a failed allocation a ModelError, each with what helps."""
    try:
        yield
    except Exception as error:
        if any(phrase in text for text in format_exception(error, limit=0) for phrase in DISK_FULL):
            raise DataError(
                f"the disk or quota is full ({one_line(error)}). What was saved before is kept: make room, and the "
                "same command continues. Or move the runs to a larger disk and continue with run.root=<there>"
            ) from error
        # torch has no class of its own for main memory
        if isinstance(error, torch.OutOfMemoryError | MemoryError) or "allocate memory" in str(error):
            raise ModelError(f"out of memory ({one_line(error)}). {memory_advice}") from error
        raise

"""Out of memory, told with the settings that help, by how much each is to be changed, and what it changes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from evenhand.errors import ModelError
from training.config import TrainingConfig
from training.examples import Example

# What torch says of main memory, and cuBLAS of its workspace, in errors that have no class of their own.
PHRASES = ("can't allocate memory", "not enough memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDA error: out of memory")


@contextmanager
def told_when_out_of_memory(config: TrainingConfig, examples: Sequence[Example] = ()) -> Iterator[None]:
    """Within it, an allocation that fails is a ModelError with advice; without examples, the model was being loaded."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if not is_out_of_memory(error):
            raise
        steps = training_advice(config, examples) if examples else loading_advice(config)
        listed = "; ".join(f"({number}) {step}" for number, step in enumerate(steps, start=1))
        doing = "while training" if examples else "while the model was loaded"
        raise ModelError(
            f"out of memory {doing}{in_use()} ({' '.join(str(error).split())[:200]}). What helps, in this order: "
            f"{listed}. A changed setting is another run, which begins anew"
        ) from error


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error is a failed allocation, on a GPU or in main memory."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(p in str(error) for p in PHRASES)


def in_use() -> str:
    """How much of the GPU was taken, for the message."""
    if not torch.cuda.is_available():
        return ""
    total = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    return f": {torch.cuda.max_memory_allocated() / 2**30:.1f} of {total / 2**30:.1f} GiB taken at most"


def training_advice(config: TrainingConfig, examples: Sequence[Example]) -> list[str]:
    """key=value words that take less memory, the ones that change no mathematics first."""
    wanted = config.optimiser
    found = []
    # One process has cut its micro-batches down to single bundles before it gave up (training.fitting).
    cut_already = config.trainer == "verdict" and wanted.n_processes == 1
    if not cut_already and (cut := smaller_batch(config)):
        size, n_accumulated = cut
        found.append(
            f"optimiser.per_device_batch_size={size} optimiser.gradient_accumulation_steps={n_accumulated} (now "
            f"{wanted.per_device_batch_size} and {wanted.gradient_accumulation_steps}): the same effective batch"
        )
    if not config.training.has_equal_units and wanted.order == "whole_items":
        found.append(
            "optimiser.order=whole_groups: a unit's groups one after the other; raise "
            "optimiser.gradient_accumulation_steps by their number to keep the effective batch"
        )
    if not wanted.gradient_checkpointing:
        found.append(
            "optimiser.gradient_checkpointing=true: keeps one activation a layer and computes the others twice, for "
            "about a third more time"
        )
    if wanted.row_tokens:
        found.append(
            "optimiser.row_tokens=0: a row for each prompt; joined ones are shorter together, but eager attention "
            "takes memory by the square of a row"
        )
    if config.quantisation.hold == "dequantised":
        found.append("quantisation.hold=nf4: the same weights at a quarter of the memory, dequantised in every pass")
    lengths = [len(example.prompt_ids) for example in examples]
    limit = max(lengths) * 3 // 4
    n_out = n_longer(examples, limit, whole_groups=not config.training.has_equal_units and config.needs_whole_groups)
    found.append(
        f"examples.max_prompt_length={limit} (now {config.examples.max_prompt_length}; the longest prompt takes "
        f"{max(lengths)} tokens): leaves out {n_out} of {len(lengths)} examples"
    )
    return [*found, *other_base(config)]


def n_longer(examples: Sequence[Example], limit: int, *, whole_groups: bool) -> int:
    """How many examples a limit of so many tokens leaves out: the longer ones, or all of their groups."""
    longer = [example for example in examples if len(example.prompt_ids) > limit]
    groups = {example.group for example in longer}
    return sum(example.group in groups for example in examples) if whole_groups else len(longer)


def smaller_batch(config: TrainingConfig) -> tuple[int, int] | None:
    """(per_device_batch_size, gradient_accumulation_steps) of the same product, the first at most half of now's.

    With whole items it stays a multiple of the conditions. None where it cannot be smaller.
    """
    wanted, unit = config.optimiser, config.bundle_size
    product = wanted.per_device_batch_size * wanted.gradient_accumulation_steps
    sizes = range(wanted.per_device_batch_size // 2, 0, -1)
    return next(((size, product // size) for size in sizes if size % unit == 0 and product % size == 0), None)


def loading_advice(config: TrainingConfig) -> list[str]:
    """What makes the base smaller; the batch plays no part yet."""
    hold = ["quantisation.hold=nf4"] if config.quantisation.hold == "dequantised" else []
    return [*hold, *other_base(config), "end other programs that use the same memory, or take a smaller model"]


def other_base(config: TrainingConfig) -> list[str]:
    """The advice to quantise a base that is not; its numbers are then others."""
    if config.quantisation.kind == "nf4":
        return []
    return ["quantisation.kind=nf4: a quarter of the memory for the base, but another experiment"]

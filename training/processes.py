"""The processes of `accelerate launch`: which one this is, and what they decide together."""

from datetime import timedelta
from typing import TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, reduce

from evenhand.device import on_gpu
from evenhand.errors import ConfigError
from training.config import TrainingConfig

# How long a process waits for the others: for the first to download a model, for the slowest to ask the base about its
# last examples. torch's own ten minutes on GPUs are too short for both.
PATIENCE = timedelta(hours=3)
Value = TypeVar("Value")


def processes() -> PartialState:
    """Which of the processes this one is."""
    # Without cpu, processes without GPUs do not see each other.
    return PartialState(cpu=not on_gpu(), timeout=PATIENCE)


def agreed(value: Value) -> Value:
    """The first process's value, in all of them: each looks at the disk for itself, and may see other files."""
    values: list[Value] = broadcast_object_list([value])
    return values[0]


def in_any_process(flag: bool) -> bool:
    """Whether it is so in one of the processes: they stop together or not at all."""
    state = processes()
    if state.num_processes == 1:
        return flag
    return bool(reduce(torch.tensor(float(flag), device=state.device)).item() > 0)


def refuse_other_batch(config: TrainingConfig) -> None:
    """Raises ConfigError when another number of processes was launched than the config's batch is counted for.

    `accelerate launch` takes every GPU it sees; the batch, and so the experiment, would grow with the node.
    """
    launched, meant = processes().num_processes, config.optimiser.n_processes
    if launched != meant:
        batch = config.optimiser.per_device_batch_size * config.optimiser.gradient_accumulation_steps
        raise ConfigError(
            f"optimiser.n_processes is {meant}, but {launched} were launched: the effective batch would be "
            f"{batch * launched} instead of {batch * meant}. Launch with `accelerate launch --num_processes {meant}`, "
            f"or set optimiser.n_processes={launched} and lower gradient_accumulation_steps, or where that is 1 "
            "per_device_batch_size, to keep the batch"
        )

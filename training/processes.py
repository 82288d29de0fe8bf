"""The processes of `accelerate launch`: what they decide together, and how weights are shared out among them.

Sharing is torch's FSDP2; without it each process holds all weights (DDP). accelerate and transformers do it; here is
what they leave to be got wrong: dtypes, which layers make a shard, asking for it in vain.
"""

import os
import re
from datetime import timedelta
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, reduce
from torch.distributed.fsdp import MixedPrecisionPolicy

from evenhand.device import on_gpu
from evenhand.errors import ConfigError
from training.config import TrainingConfig
from training.qlora import unquantised_dtype

# How long a process waits for the others: for the first to download a model, for the slowest to ask the base about its
# last examples. torch's own ten minutes on GPUs are too short for both.
PATIENCE = timedelta(hours=3)
Value = TypeVar("Value")
LAYER = r".*\.layers\.\d+"
FSDP_FILE = "configs/accelerate/fsdp-qlora.yaml"
# Keys of accelerate's configs for FSDP, which the launch sets as variables: the value to take, and why.
FSDP_KEYS = {
    "fsdp_version": ("2", "1 flattens weights of one dtype, and fp32 adapters lie beside a bf16 base"),
    "fsdp_cpu_ram_efficient_loading": (
        "false",
        "true gives all processes but the first an empty base, and each asks the base for its share of the reference",
    ),
    "fsdp_activation_checkpointing": ("false", "the training config's optimiser.gradient_checkpointing decides that"),
}


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


def check_n_processes(config: TrainingConfig) -> None:
    """Raises ConfigError when another number of processes was launched than the config's batch is counted for.

    `accelerate launch` takes every GPU it sees; the batch, and so the experiment, would grow with the node.
    """
    launched, meant = processes().num_processes, config.optimiser.n_processes
    if launched != meant:
        batch = config.optimiser.per_device_batch_size * config.optimiser.gradient_accumulation_steps
        raise ConfigError(
            f"optimiser.n_processes is {meant}, but {launched} were launched: the batch would be {batch * launched}, "
            f"not {batch * meant}. Launch with `accelerate launch --num_processes {meant}`, or set "
            f"optimiser.n_processes={launched} and lower gradient_accumulation_steps"
        )


def is_sharded() -> bool:
    """Whether the launch asked for FSDP, in the variables that `accelerate launch` sets."""
    return os.environ.get("ACCELERATE_USE_FSDP") == "true"


def check_sharding(config: TrainingConfig) -> None:
    """Raises ConfigError for what cannot be trained sharded, or would be trained wrongly without a word."""
    if os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true":  # its bf16 is the adapters', too
        raise ConfigError(f"DeepSpeed: is no way to train here; launch with {FSDP_FILE}")
    if not is_sharded():
        return
    if config.optimiser.mixed_precision == "fp16":
        raise ConfigError("optimiser.mixed_precision: fp16 is for one GPU or DDP; sharded, write bf16")
    for key, (value, why) in FSDP_KEYS.items():
        if os.environ.get(key.upper(), value) != value:
            raise ConfigError(f"{key}: {why}; write {key}: {value}, as {FSDP_FILE} does")


def storage_dtype(config: TrainingConfig) -> torch.dtype:
    """The dtype that 4-bit weights are packed in.

    FSDP leaves integers unsharded, and casts floating numbers to the dtype that it computes in: packed in another, they
    would come out as other weights.
    """
    if not is_sharded():
        return torch.uint8
    return torch.bfloat16 if config.optimiser.mixed_precision == "bf16" else unquantised_dtype(config.quantisation)


def prepare_sharding(trainer: Any, config: TrainingConfig) -> None:
    """Give a trainer that is built and has not wrapped its model what accelerate's configs cannot say.

    Raises ConfigError when it would not shard, or otherwise than asked for.
    """
    if not is_sharded():
        return
    launched, state = trainer.accelerator.distributed_type.value, trainer.accelerator.state
    if launched != "FSDP":
        raise ConfigError(
            f"FSDP was asked for, and accelerate trains with {launched}: off GPUs take configs/accelerate/ddp.yaml"
        )
    if state.fsdp_plugin.transformer_cls_names_to_wrap is None:
        # Each layer is gathered whole when it computes. accelerate would ask the model which not to split; Gemma-3
        # with its image encoder names some it has not.
        layers = [type(part).__name__ for name, part in trainer.model.named_modules() if re.fullmatch(LAYER, name)]
        state.fsdp_plugin.transformer_cls_names_to_wrap = sorted(set(layers))
    if config.optimiser.mixed_precision == "bf16":  # accelerate's own would add up gradients in bf16 too
        state.fsdp_plugin.mixed_precision_policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)

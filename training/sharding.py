"""Weights shared out among the processes, as `accelerate launch` asks for it: torch's FSDP2, or DeepSpeed's ZeRO-3.

Without either each process holds all weights (DDP). accelerate and transformers do the sharing; here is what they leave
to be got wrong: dtypes, which layers make a shard, and asking for it in vain.
"""

import os
import re
from typing import Any, Literal

import torch
from torch.distributed.fsdp import MixedPrecisionPolicy

from evenhand.errors import ConfigError
from training.config import TrainingConfig
from training.qlora import FIRST_LAYER, trainable, unquantised_dtype

Sharding = Literal["none", "fsdp", "zero3"]
LAYER = r".*\.layers\.\d+"
FILES = {"fsdp": "configs/accelerate/fsdp-qlora.yaml", "zero3": "configs/accelerate/deepspeed-zero3.yaml"}


def sharding() -> Sharding:
    """What the launch asked for, in the variables that `accelerate launch` sets."""
    if is_set("ACCELERATE_USE_FSDP"):
        return "fsdp"
    return "zero3" if is_set("ACCELERATE_USE_DEEPSPEED") else "none"


def is_set(name: str) -> bool:
    """Whether an environment variable says true."""
    return os.environ.get(name, "").lower() in ("1", "true", "yes")


def refuse_wrong_sharding(config: TrainingConfig) -> None:
    """Raises ConfigError for what cannot be trained sharded, or would be trained wrongly without a word."""
    asked = sharding()
    if asked == "none":
        return
    if config.optimiser.mixed_precision == "fp16":
        raise ConfigError("optimiser.mixed_precision: fp16 is for one GPU or DDP; sharded, write bf16")
    if asked == "fsdp":
        refuse_wrong_fsdp()


def refuse_wrong_fsdp() -> None:
    """Raises ConfigError for settings of an accelerate config for FSDP that do not go with adapters on NF4."""
    version = os.environ.get("FSDP_VERSION", "1")
    if version != "2":
        raise ConfigError(
            f"fsdp_version: {version} flattens weights of one dtype, and fp32 adapters lie beside a bf16 base; write "
            f"fsdp_version: 2, as {FILES['fsdp']} does"
        )
    if is_set("FSDP_CPU_RAM_EFFICIENT_LOADING"):
        raise ConfigError(
            "fsdp_cpu_ram_efficient_loading: true gives all processes but the first an empty base, and each asks the "
            "base for its share of the reference; write false"
        )
    if is_set("FSDP_ACTIVATION_CHECKPOINTING"):
        raise ConfigError(
            "fsdp_activation_checkpointing: the training config decides that; write false, and "
            "optimiser.gradient_checkpointing=true if it is wanted"
        )


def refuse_unsharded(trainer: Any) -> None:
    """Raises ConfigError when sharding was asked for and accelerate is about to do without, or does another kind."""
    asked, got = sharding(), trainer.accelerator.distributed_type.value
    if asked == "fsdp" and got != "FSDP":
        raise ConfigError(
            f"FSDP was asked for, but accelerate would train with {got}: it shards on GPUs alone. Take "
            "configs/accelerate/ddp.yaml"
        )
    if asked == "zero3":
        stage = trainer.accelerator.state.deepspeed_plugin.zero_stage if got == "DEEPSPEED" else None
        if stage != 3:
            raise ConfigError(f"DeepSpeed was asked for with ZeRO stage {stage}; only 3 is seen to: {FILES['zero3']}")


def storage_dtype(config: TrainingConfig) -> torch.dtype:
    """The dtype that 4-bit weights are packed in.

    FSDP leaves integers unsharded, and casts floating numbers to the dtype that it computes in: packed in another, they
    would come out as other weights.
    """
    if sharding() != "fsdp":
        return torch.uint8
    return torch.bfloat16 if config.optimiser.mixed_precision == "bf16" else unquantised_dtype(config.quantisation)


def prepare_sharding(trainer: Any, config: TrainingConfig) -> None:
    """Give a trainer that is built and has not wrapped its model what accelerate's configs cannot say.

    Raises ConfigError when it would not shard.
    """
    refuse_unsharded(trainer)
    state, in_bf16 = trainer.accelerator.state, config.optimiser.mixed_precision == "bf16"
    if sharding() == "fsdp":
        if state.fsdp_plugin.transformer_cls_names_to_wrap is None:
            state.fsdp_plugin.transformer_cls_names_to_wrap = layer_classes(trainer.model)
        if in_bf16:  # accelerate's own would add up gradients in bf16 too
            state.fsdp_plugin.mixed_precision_policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    elif sharding() == "zero3":
        if in_bf16:
            # DeepSpeed's bf16 would turn the adapters into bf16, and so they would be saved. No module's weights are
            # gathered in less than their own dtype: that is for bases in fp32.
            state.deepspeed_plugin.deepspeed_config["torch_autocast"] = {
                "enabled": True,
                "dtype": "bfloat16",
                "lower_precision_safe_modules": [],
            }
        keep_gradients(trainer.model)


def layer_classes(model: Any) -> list[str]:
    """The classes of the model's layers, each of which is gathered whole when it computes.

    accelerate would ask the model which layers not to split; Gemma-3 with its image encoder names some it has not.
    """
    return sorted({type(module).__name__ for name, module in model.named_modules() if re.fullmatch(LAYER, name)})


def keep_gradients(model: Any) -> None:
    """Keep the first layer's gradients where training.qlora.gradient_of finds them.

    DeepSpeed takes its step, and drops the gradients, before a trainer's callback can look at them.
    """
    for name, parameter in trainable(model):
        if FIRST_LAYER in name:
            parameter.register_hook(lambda gradient, parameter=parameter: setattr(parameter, "seen", gradient))

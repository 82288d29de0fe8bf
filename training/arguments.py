"""A run's config → transformers' training arguments."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import TrainingArguments
from transformers.integrations import get_available_reporting_integrations

from evenhand.device import on_gpu
from evenhand.errors import ConfigError
from training.config import TrainingConfig
from training.run import CHECKPOINTS_DIR
from training.sharding import sharding


def training_arguments(config: TrainingConfig, path: Path) -> TrainingArguments:
    """The arguments of VerdictTrainer, whose schedule of batches is one pass over a list that holds every epoch."""
    shared = shared_arguments(config, path)
    evaluation = {"eval_strategy": "steps", "eval_steps": config.dev.every_steps} if config.dev else {}
    if sharding() == "zero3":  # computes in bf16 by itself (training.sharding.prepare_sharding)
        shared["bf16"] = False
    own = {"num_train_epochs": 1, "max_steps": -1, "remove_unused_columns": False, "label_names": ["right"]}
    arguments = TrainingArguments(**{**shared, **own, **evaluation})
    if arguments.n_gpu > 1:  # transformers would cut a microbatch's rows over all GPUs it sees, each its own process
        arguments._n_gpu = 1
    return arguments


def shared_arguments(config: TrainingConfig, path: Path) -> dict[str, Any]:
    """Keyword arguments of every trainer, ours or TRL's. Raises ConfigError for fp16 on CPU: torch has none."""
    refuse_absent_trackers(config.run.report_to)
    is_gpu = on_gpu()
    wanted = config.optimiser
    if wanted.mixed_precision == "fp16" and not is_gpu:
        raise ConfigError("optimiser.mixed_precision: fp16 needs a GPU; write bf16 or no")
    return {
        "output_dir": str(path / CHECKPOINTS_DIR),
        "run_name": path.name,
        "optim": "adamw_torch",
        "learning_rate": wanted.learning_rate,
        "lr_scheduler_type": wanted.schedule,
        "warmup_steps": wanted.warmup_ratio,  # below 1 it is a share of all steps
        "weight_decay": wanted.weight_decay,
        "max_grad_norm": wanted.max_grad_norm,
        "per_device_train_batch_size": wanted.per_device_batch_size,
        "gradient_accumulation_steps": wanted.gradient_accumulation_steps,
        "num_train_epochs": wanted.epochs,
        "max_steps": wanted.max_steps or -1,
        "bf16": wanted.mixed_precision == "bf16",
        "fp16": wanted.mixed_precision == "fp16",
        "gradient_checkpointing": wanted.gradient_checkpointing,
        "seed": wanted.seed,
        "use_cpu": not is_gpu,
        "dataloader_pin_memory": is_gpu,
        "eval_strategy": "no",  # an evaluation every 100 steps cost a published run a fifth of its time
        "save_strategy": "steps",
        "save_steps": config.run.save_steps,
        "save_total_limit": config.run.keep_checkpoints,
        "logging_steps": config.run.logging_steps,
        "logging_nan_inf_filter": False,  # a loss that is no number must be seen, not averaged away
        "report_to": list(config.run.report_to),
        "ddp_find_unused_parameters": False,
    }


def refuse_absent_trackers(names: Sequence[str]) -> None:
    """Raises ConfigError when a tracker that metrics are to go to is not installed."""
    available = get_available_reporting_integrations()
    for name in names:
        if name not in available:
            raise ConfigError(
                f"run.report_to: tracker '{name}' is not installed or unknown to transformers (installed: "
                f"{', '.join(available) or 'none'}); `pip install` it, or leave it out: metrics.jsonl has the figures"
            )

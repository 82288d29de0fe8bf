"""TRL's own SFTTrainer and DPOTrainer at a config's settings: what ours is checked against and timed by.

They are as they come, but for two things without which they do not do what the paper says: TRL's DPO tokenises prompt
and answer as one text, where they could merge, and casts the adapters of a quantised model to bf16, where they do not
learn. DPO starts from the base, as the paper's; the same model with its adapter off is its reference.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import set_seed
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from evenhand.device import torch_device
from training.callbacks import MetricsFile
from training.config import DPORun, SFTRun
from training.examples import Example
from training.qlora import load_base, lora_config, set_adapter_dtype
from training.train import close_training, inputs_of, open_training
from training.trainer import training_arguments

IGNORED = -100  # the label that puts no loss on a position
SHARED = (  # arguments of ours that TRL's trainers take as they are
    *("output_dir", "run_name", "optim", "learning_rate", "lr_scheduler_type", "warmup_steps", "weight_decay"),
    *("max_grad_norm", "per_device_train_batch_size", "gradient_accumulation_steps", "bf16", "fp16", "seed", "use_cpu"),
    *("gradient_checkpointing", "dataloader_pin_memory", "save_strategy", "save_steps", "save_total_limit"),
    *("logging_steps", "logging_nan_inf_filter", "report_to", "project", "ddp_find_unused_parameters"),
)


class TokenisedDPOTrainer(DPOTrainer):
    """DPOTrainer for examples in tokens. TRL's own tokenises prompt and answer as one text, where they could merge."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset


def train_with_trl(config: SFTRun | DPORun) -> Path:
    """Train a run with TRL's trainer for its method, and return its directory."""
    run = inputs_of(config)
    with open_training(config, run):
        set_seed(config.optimiser.seed)  # the adapter's first weights are drawn before the trainer seeds itself
        callbacks = [MetricsFile(run.path)]
        trainer = trainer_of(config, run.base, run.tokenizer, run.examples, run.path, callbacks=callbacks)
        set_adapter_dtype(trainer.model, config.lora)
        trainer.train()
        close_training(run, trainer, {"method": config.method, "trainer": "trl"})
    return run.path


def trainer_of(
    config: Any,
    model: Path,
    tokenizer: Any,
    examples: Sequence[Example],
    folder: Path,
    callbacks: Any = None,
    **more: Any,
) -> Any:
    """DPOTrainer for a run of DPO, else SFTTrainer; more: keyword arguments of DPOConfig.

    On CPU with transformers' eager attention, whose backward pass is the fastest.
    """
    base = load_base(model, config.quantisation, attention="eager" if torch_device() == "cpu" else None)
    is_sft = not isinstance(config, DPORun)
    keys = {
        "model": base,  # for DPO too, not the SFT model
        "train_dataset": Dataset.from_list([(sft_row if is_sft else dpo_row)(example) for example in examples]),
        "processing_class": tokenizer,
        "peft_config": lora_config(config.lora, base),
        "callbacks": callbacks,
    }
    arguments = stock_arguments(config, folder)
    if is_sft:
        return SFTTrainer(args=SFTConfig(**arguments), **keys)
    dpo = {"beta": config.beta, "precompute_ref_log_probs": False}
    # TRL would otherwise switch off the adapter's dropout too.
    return TokenisedDPOTrainer(args=DPOConfig(**arguments, **{**dpo, "disable_dropout": False, **more}), **keys)


def stock_arguments(config: Any, path: Path) -> dict[str, Any]:
    """Keyword arguments of TRL's configs. Nothing is cut: over-long prompts were left out."""
    optimiser, ours = config.optimiser, training_arguments(config, path)
    steps = {"num_train_epochs": optimiser.epochs, "max_steps": optimiser.max_steps or -1}
    order = "sequential" if optimiser.batch_by == "item" else "random"
    return (
        {name: getattr(ours, name) for name in SHARED} | steps | {"max_length": None, "train_sampling_strategy": order}
    )


def wrong_ids(example: Example) -> list[int]:
    """The wrong one of two answers, and EOS if it is learnt."""
    return [*example.answer_ids(1 - example.right), *example.end]


def sft_row(example: Example) -> dict[str, list[int]]:
    """For SFTTrainer: token ids, and labels that are IGNORED but for the answer."""
    return {
        "input_ids": [*example.prompt_ids, *example.right_ids],
        "labels": [IGNORED] * len(example.prompt_ids) + list(example.right_ids),
    }


def dpo_row(example: Example) -> dict[str, list[int]]:
    """For DPOTrainer: prompt, chosen and rejected tokens."""
    return {
        "prompt_ids": list(example.prompt_ids),
        "chosen_ids": list(example.right_ids),
        "rejected_ids": wrong_ids(example),
    }

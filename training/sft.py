"""Supervised fine-tuning on one-token verdicts with TRL's SFTTrainer (DialDefer K.2, Tables 34 and 35)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from datasets import Dataset
from transformers import ProgressCallback, set_seed
from trl import SFTConfig, SFTTrainer

from training.arguments import shared_arguments
from training.callbacks import DivergenceGuard, GradientCheck, MarkComplete, MetricsFile, ProgressBar
from training.config import SFTRun
from training.examples import IGNORED, Example, sft_row
from training.qlora import count_trainable, load_base, lora_config, score_answers_only, set_adapter_dtype
from training.run import close_training, last_checkpoint, open_training


def train_sft(config: SFTRun) -> Path:
    """Train (or continue) an SFT run and return its directory. A completed run is left as it is."""
    run = open_training(config)
    if run.is_done:
        print(f"{run.path}: complete already")
        return run.path
    set_seed(config.optimiser.seed)  # the adapter's first weights are drawn before the trainer seeds itself
    score_answers_only()
    model = load_base(run.base, config.quantisation)
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(**shared_arguments(config, run.path)),
        train_dataset=Dataset.from_list([sft_row(example) for example in run.examples]),
        processing_class=run.tokenizer,
        peft_config=lora_config(config.lora, model),
        callbacks=[
            MetricsFile(run.path),
            GradientCheck(),
            MarkComplete(run.path),
            DivergenceGuard(run.path, config.guard, math.log(2) / len(run.examples[0].right_ids)),
        ],
    )
    set_adapter_dtype(trainer.model, config.lora)
    check_loss_mask(trainer.train_dataset, run.examples)
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(ProgressBar())
    trainer.train(resume_from_checkpoint=last_checkpoint(run.path))
    close_training(run, trainer, {"method": "sft", "n_trainable": count_trainable(trainer.model)})
    return run.path


def check_loss_mask(rows: Iterable[Mapping[str, Sequence[int]]], examples: Sequence[Example]) -> None:
    """Asserts that what TRL will train on is the whole prompt without loss, then the verdict (and EOS) with loss."""
    for row, example in zip(rows, examples, strict=True):
        assert tuple(row["input_ids"]) == example.prompt_ids + example.right_ids, example.item_id
        assert tuple(row["labels"]) == (IGNORED,) * len(example.prompt_ids) + example.right_ids, example.item_id

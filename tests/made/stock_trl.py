"""TRL's own SFTTrainer and DPOTrainer at a config's settings: what ours is checked against and timed by.

They are as they come, but for two things without which they do not do what the paper says: TRL's DPO tokenises prompt
and answer as one text, where they could merge, and casts the adapters of a quantised model to bf16, where they do not
learn. DPO starts from the base, as the paper's; the same model with its adapter off is its reference.
"""

import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset, load_from_disk
from transformers import ProgressCallback, set_seed
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from evenhand.device import torch_device
from training.arguments import shared_arguments
from training.callbacks import GradientCheck, MarkComplete, MetricsFile, ProgressBar
from training.config import DPORun, SFTRun
from training.divergence_guard import DivergenceGuard
from training.examples import Example, by_item
from training.objectives import objective_of
from training.qlora import count_trainable, load_base, lora_config, set_adapter_dtype
from training.run import CHECKPOINTS_DIR, OpenRun, close_training, last_checkpoint, main_process_first, open_training
from training.selection import BestByLoss

IGNORED = -100  # the label that puts no loss on a position


def train_with_trl(config: SFTRun | DPORun) -> Path:
    """Train a run with TRL's trainer for its method, and return its directory."""
    with open_training(config) as run:
        if isinstance(config, SFTRun):
            train_sft(config, run)
        else:
            train_dpo(config, run)
    return run.path


def stock_arguments(config: SFTRun | DPORun, path: Path) -> dict[str, Any]:
    """Keyword arguments for SFTConfig and DPOConfig."""
    order = "sequential" if config.optimiser.order == "whole_items" else "random"
    # Nothing is cut: over-long prompts were left out and listed.
    return {**shared_arguments(config, path), "max_length": None, "train_sampling_strategy": order}


def wrong_ids(example: Example) -> list[int]:
    """The wrong one of two answers, and EOS if it is learnt."""
    return [example.choices[1 - example.right], *example.end]


def shuffled_by_item(examples: Sequence[Example], seed: int) -> list[Example]:
    """The examples with the items shuffled and each item's conditions kept together."""
    groups = by_item(examples)
    random.Random(seed).shuffle(groups)
    return [example for group in groups for example in group]


def sft_row(example: Example) -> dict[str, list[int]]:
    """What TRL's SFTTrainer takes: token ids, and labels that are IGNORED but for the answer."""
    return {
        "input_ids": [*example.prompt_ids, *example.right_ids],
        "labels": [IGNORED] * len(example.prompt_ids) + list(example.right_ids),
    }


def dpo_row(example: Example) -> dict[str, list[int]]:
    """What TRL's DPOTrainer makes of a pair: prompt, chosen and rejected tokens."""
    return {
        "prompt_ids": list(example.prompt_ids),
        "chosen_ids": list(example.right_ids),
        "rejected_ids": wrong_ids(example),
    }


class TokenisedDPOTrainer(DPOTrainer):
    """DPOTrainer for examples in tokens. TRL's own tokenises prompt and answer as one text, where they could merge."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset


def train_sft(config: SFTRun, run: OpenRun) -> None:
    """SFT with TRL (DialDefer K.2, Tables 34 and 35)."""
    set_seed(config.optimiser.seed)  # the adapter's first weights are drawn before the trainer seeds itself
    model = base_as_it_comes(config, run)
    examples = in_order(config, run)
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(**stock_arguments(config, run.path)),
        train_dataset=Dataset.from_list([sft_row(example) for example in examples]),
        processing_class=run.tokenizer,
        peft_config=lora_config(config.lora, model),
        callbacks=callbacks(config, run),
    )
    check_loss_mask(trainer.train_dataset, examples)
    finish(config, run, trainer)


def train_dpo(config: DPORun, run: OpenRun) -> None:
    """DPO with TRL (DialDefer K.3, Tables 36 and 37)."""
    set_seed(config.optimiser.seed)
    model = base_as_it_comes(config, run)
    examples = in_order(config, run)
    trainer = TokenisedDPOTrainer(
        model=model,  # the base, not the SFT model
        args=DPOConfig(
            **stock_arguments(config, run.path),
            beta=config.beta,
            precompute_ref_log_probs=config.precompute_reference,
            disable_dropout=False,  # TRL would otherwise switch off the adapter's dropout too
        ),
        train_dataset=pairs_on_disk(examples, run.path / CHECKPOINTS_DIR / "pairs"),
        processing_class=run.tokenizer,
        peft_config=lora_config(config.lora, model),
        callbacks=callbacks(config, run),
    )
    check_pairs(trainer.train_dataset, examples)
    finish(config, run, trainer)


def base_as_it_comes(config: SFTRun | DPORun, run: OpenRun) -> Any:
    """The frozen base with one of transformers' own attentions: on CPU eager, whose backward pass is the fastest."""
    return load_base(run.base, config.quantisation, attention="eager" if torch_device() == "cpu" else None)


def in_order(config: SFTRun | DPORun, run: OpenRun) -> list[Example]:
    """The examples as the sampler is to take them: TRL's `sequential` for whole items, else shuffled by itself."""
    if config.optimiser.order == "whole_items":
        return shuffled_by_item(run.examples, config.optimiser.seed)
    return run.examples


def callbacks(config: SFTRun | DPORun, run: OpenRun) -> list[Any]:
    """What watches a run."""
    objective = objective_of(config)
    guard = DivergenceGuard(run.path, config, objective.chance, slope=objective.slope)
    return [MetricsFile(run.path), GradientCheck(), guard, MarkComplete(run.path), BestByLoss(run.path)]


def finish(config: SFTRun | DPORun, run: OpenRun, trainer: Any) -> None:
    """Train, and close the run."""
    set_adapter_dtype(trainer.model, config.lora)
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(ProgressBar())
    trainer.train(resume_from_checkpoint=last_checkpoint(run.path))
    facts = {"method": config.method, "n_trainable": count_trainable(trainer.model), "epochs": trainer.state.epoch}
    close_training(run, trainer, {"trainer": "trl", **facts})


def pairs_on_disk(examples: Sequence[Example], folder: Path) -> Dataset:
    """The pairs as a dataset in a folder, written once.

    TRL keeps the reference's log-probabilities beside it. In memory each process would keep them for itself, where the
    others, and a run that continues, do not find them.
    """
    with main_process_first() as is_main:
        if is_main and not folder.exists():
            partial = folder.with_name(f"{folder.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            Dataset.from_list([dpo_row(example) for example in examples]).save_to_disk(str(partial))
            partial.rename(folder)
    return load_from_disk(str(folder))


def check_pairs(rows: Iterable[Mapping[str, Sequence[int]]], examples: Sequence[Example]) -> None:
    """Asserts that TRL compares exactly the two verdicts (and EOS) behind the whole prompt."""
    for row, example in zip(rows, examples, strict=True):
        assert tuple(row["prompt_ids"]) == example.prompt_ids, example.item_id
        assert tuple(row["chosen_ids"]) == example.right_ids, example.item_id
        assert list(row["rejected_ids"]) == wrong_ids(example), example.item_id


def check_loss_mask(rows: Iterable[Mapping[str, Sequence[int]]], examples: Sequence[Example]) -> None:
    """Asserts that what TRL will train on is the whole prompt without loss, then the verdict (and EOS) with loss."""
    for row, example in zip(rows, examples, strict=True):
        assert tuple(row["input_ids"]) == example.prompt_ids + example.right_ids, example.item_id
        assert tuple(row["labels"]) == (IGNORED,) * len(example.prompt_ids) + example.right_ids, example.item_id

"""Direct preference optimisation of the right verdict over the wrong one with TRL's DPOTrainer (K.3, Tables 36, 37).

It starts from the base model, as the paper's. The same model with its adapter switched off is the reference.
"""

import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset, load_from_disk
from transformers import ProgressCallback, set_seed
from trl import DPOConfig, DPOTrainer

from training.arguments import shared_arguments
from training.callbacks import DivergenceGuard, GradientCheck, MarkComplete, MetricsFile, ProgressBar
from training.config import DPORun
from training.examples import Example, dpo_row
from training.qlora import count_trainable, load_base, lora_config, score_answers_only, set_adapter_dtype
from training.run import CHECKPOINTS_DIR, close_training, last_checkpoint, main_process_first, open_training


class TokenisedDPOTrainer(DPOTrainer):
    """DPOTrainer for examples in tokens. TRL's own tokenises prompt and answer as one text, where they could merge."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset


def train_dpo(config: DPORun) -> Path:
    """Train (or continue) a DPO run and return its directory. A completed run is left as it is."""
    run = open_training(config)
    if run.is_done:
        print(f"{run.path}: complete already")
        return run.path
    set_seed(config.optimiser.seed)  # the adapter's first weights are drawn before the trainer seeds itself
    score_answers_only()
    model = load_base(run.base, config.quantisation)
    trainer = TokenisedDPOTrainer(
        model=model,  # the base, not the SFT model
        args=DPOConfig(
            **shared_arguments(config, run.path),
            beta=config.beta,
            precompute_ref_log_probs=config.precompute_reference,
            disable_dropout=False,  # TRL would otherwise switch off the adapter's dropout too
        ),
        train_dataset=pairs_on_disk(run.examples, run.path / CHECKPOINTS_DIR / "pairs"),
        processing_class=run.tokenizer,
        peft_config=lora_config(config.lora, model),
        callbacks=[
            MetricsFile(run.path),
            GradientCheck(),
            MarkComplete(run.path),
            DivergenceGuard(run.path, config.guard, math.log(2)),
        ],
    )
    set_adapter_dtype(trainer.model, config.lora)
    check_pairs(trainer.train_dataset, run.examples)
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(ProgressBar())
    trainer.train(resume_from_checkpoint=last_checkpoint(run.path))
    close_training(run, trainer, {"method": "dpo", "n_trainable": count_trainable(trainer.model)})
    return run.path


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
        assert tuple(row["rejected_ids"]) == example.wrong_ids, example.item_id

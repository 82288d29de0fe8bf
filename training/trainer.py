"""transformers' Trainer for verdicts: our batches, our losses, one forward pass a microbatch."""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerControl, TrainingArguments
from transformers.integrations import get_available_reporting_integrations

from evenhand.device import on_gpu
from evenhand.errors import ConfigError
from training.batches import Group, Schedule, answers_of, n_tokens
from training.config import TrainingConfig
from training.objectives import Answers, Objective, divergence_in_groups, picked
from training.processes import agreed
from training.qlora import multiply_at_rank
from training.run_folder import CHECKPOINTS_DIR

SAME_NAMES = {  # keys of ours that TrainingArguments calls alike
    *("learning_rate", "weight_decay", "max_grad_norm", "gradient_accumulation_steps", "gradient_checkpointing"),
    *("seed", "save_steps", "logging_steps"),
}


def training_arguments(config: TrainingConfig, path: Path) -> TrainingArguments:
    """The arguments of VerdictTrainer, whose schedule of batches is one pass over a list that holds every epoch.

    Raises ConfigError for a tracker that is not installed.
    """
    prepare_trackers(config, path)
    is_gpu, optimiser = on_gpu(), config.optimiser
    arguments = TrainingArguments(
        output_dir=str(path / CHECKPOINTS_DIR),
        run_name=path.name,
        optim="adamw_torch",
        **optimiser.model_dump(include=SAME_NAMES),
        **config.run.model_dump(include=SAME_NAMES),
        lr_scheduler_type=optimiser.schedule,
        warmup_steps=optimiser.warmup_ratio,  # below 1 it is a share of all steps
        per_device_train_batch_size=optimiser.per_device_batch_size,
        num_train_epochs=1,
        bf16=optimiser.mixed_precision == "bf16",
        fp16=optimiser.mixed_precision == "fp16",
        use_cpu=not is_gpu,
        dataloader_pin_memory=is_gpu,
        remove_unused_columns=False,
        eval_strategy="steps" if config.dev else "no",
        eval_steps=config.dev.every_steps if config.dev else None,
        metric_for_best_model="eval_loss" if config.dev else None,
        save_total_limit=config.run.keep_checkpoints + bool(config.dev),  # the best, beside the last
        logging_nan_inf_filter=False,  # a loss that is no number must be seen, not averaged away
        report_to=list(config.run.report_to),
        project="evenhand",  # trackio's
        disable_tqdm=True,  # training.callbacks.ProgressBar shows more
        ddp_find_unused_parameters=False,
    )
    if arguments.n_gpu > 1:  # transformers would cut a microbatch's rows over all GPUs it sees, each its own process
        arguments._n_gpu = 1
    return arguments


def prepare_trackers(config: TrainingConfig, path: Path) -> None:
    """Set the variables that trackers read. Raises ConfigError for one that is not installed."""
    available = get_available_reporting_integrations()
    for name in config.run.report_to:
        if name not in available:
            raise ConfigError(
                f"run.report_to: tracker '{name}' is not installed or unknown to transformers (installed: "
                f"{', '.join(available) or 'none'}); `pip install` it, or leave it out: metrics.jsonl has the figures"
            )
    if config.run.report_to:  # TensorBoard's files would lie among the checkpoints, which are deleted at the end
        os.environ.setdefault("TENSORBOARD_LOGGING_DIR", str(path / "tensorboard"))
        for name in ("WANDB_PROJECT", "MLFLOW_EXPERIMENT_NAME"):
            os.environ.setdefault(name, "evenhand")


class VerdictTrainer(Trainer):
    """Trains on a fixed schedule of microbatches. The loss is the mean over an optimiser step's examples.

    That mean is taken over all microbatches and processes of the step, so that how the step is cut changes nothing.
    """

    def __init__(self, model: Any, *, plan: Schedule, objective: Objective, **others: Any) -> None:
        """others: Trainer's; its train_dataset are the groups that the plan numbers, its data_collator a Collator."""
        multiply_at_rank(model)
        super().__init__(model=model, **others)
        self.plan, self.objective = plan, objective
        self.loss_is_scaled_for_ga = True  # compute_loss divides by the whole step's examples
        self.sums: dict[str, list[Tensor]] = defaultdict(list)  # of what is logged beside the loss
        examples = [example for group in self.train_dataset for example in group]
        self.learns_replies = any(example.verdict for example in examples)
        self.learns_names = any(any(example.rests) and not example.end for example in examples)

    def get_train_dataloader(self) -> DataLoader[Group]:
        """The schedule's microbatches; accelerate deals them out to the processes in turn."""
        loader: DataLoader[Group] = DataLoader(
            self.train_dataset,
            batch_sampler=self.plan.microbatches,
            collate_fn=self.data_collator,
            pin_memory=self.args.dataloader_pin_memory,
        )
        return self.accelerator.prepare(loader)  # type: ignore[no-any-return]

    def get_batch_samples(
        self, epoch_iterator: Iterator[dict[str, Tensor]], num_batches: int, device: torch.device
    ) -> tuple[list[dict[str, Tensor]], Tensor]:
        """The microbatches of one optimiser step, and how many n_tokens they hold over all processes."""
        batches = [batch for _, batch in zip(range(num_batches), epoch_iterator, strict=False)]
        n_tokens = torch.tensor(sum(int(batch["n_tokens"].sum()) for batch in batches), device=device)
        return batches, self.accelerator.gather(n_tokens).sum()

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """The microbatch's share of the step's mean loss, times the processes that gradients are averaged over."""
        answers = self.answers(model, inputs)
        losses = self.objective.loss(answers) * answers.n_tokens
        n_tokens = inputs["n_tokens"].sum() if num_items_in_batch is None else num_items_in_batch
        self.note(answers)
        return losses.sum() / n_tokens * self.accelerator.num_processes

    def answers(self, model: Any, batch: dict[str, Tensor]) -> Answers:
        """What the model says of a microbatch, its masks in the dtype that it computes in."""
        with self.accelerator.autocast():
            return answers_of(model, batch, self.accelerator.unwrap_model(model, keep_fp32_wrapper=True))

    @torch.no_grad()
    def note(self, answers: Answers) -> None:
        """Keep what the log shows beside the loss: how often the right answer wins, by how much, and how much of the
        loss comes from the tokens of names behind the first. Every process keeps the same, for the log adds them up.
        """
        compared = answers.verdicts  # of written replies, what the whole gained on the base
        if self.learns_replies and answers.reference is not None:
            compared = answers.totals - answers.reference
        if compared.shape[1] > 1:
            right = picked(compared, answers.right)
            best_other = compared.scatter(1, answers.right[:, None], -torch.inf).max(1).values
            self.sums["accuracy"].append((right > best_other).float())
            self.sums["margin"].append(right - best_other)
        if self.learns_names:
            rest = torch.zeros_like(answers.verdicts) if answers.rest is None else answers.rest
            self.sums["rest_loss"].append(-picked(rest, answers.right))

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Adds accuracy, mean margin (nats) and what else was noted since the last log, over all processes."""
        if "loss" in logs and self.sums:
            for name, values in self.sums.items():
                noted = torch.cat(values)
                sum_and_n = torch.stack([noted.sum(), torch.tensor(float(len(noted)), device=noted.device)])
                total, n = self.accelerator.reduce(sum_and_n, reduction="sum").tolist()
                logs[name] = round(total / n, 6)
            self.sums.clear()
        super().log(logs, start_time)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Measure the dev items, the same in every process, and tell the callbacks."""
        assert self.eval_dataset is not None
        # The first process's, in all: of floats that differ by a bit each would decide for itself to save or to stop.
        measures = agreed(self.dev_measures())
        self.log(measures)
        self.control: TrainerControl = self.callback_handler.on_evaluate(self.args, self.state, self.control, measures)
        return measures

    @torch.no_grad()
    def dev_measures(self) -> dict[str, float]:
        """eval_loss (the run's own); of one-token verdicts eval_accuracy, and eval_divergence in nats between prompts
        that should agree; of written replies eval_loss_VERDICT of each verdict, whose mean eval_loss is.

        Every process measures all dev items.
        """
        rows = []  # (4, E) of each microbatch
        size = self.plan.n_groups
        ordered = sorted(self.eval_dataset, key=n_tokens)
        model = self.model_wrapped.eval()
        for start in range(0, len(ordered), size):
            batch = self.data_collator(ordered[start : start + size])
            answers = self.answers(model, {name: tensor.to(self.args.device) for name, tensor in batch.items()})
            right = (answers.verdicts.argmax(1) == answers.right).float()
            divergence = divergence_in_groups(answers.verdicts, answers.groups)
            weights = torch.ones_like(right) * answers.n_tokens
            rows.append(torch.stack([self.objective.loss(answers) * weights, weights, right, divergence]))
        model.train()
        measured = torch.cat(rows, dim=1)
        verdicts = [example.verdict for group in ordered for example in group]
        if not any(verdicts):
            losses, weights, right, divergence = measured.mean(1).tolist()
            return {"eval_loss": losses / weights, "eval_accuracy": right, "eval_divergence": divergence}
        by_verdict = dict[str, float]()
        for verdict in sorted({*verdicts}):
            losses, weights, *_ = measured[:, [name == verdict for name in verdicts]].sum(1).tolist()
            by_verdict[f"eval_loss_{verdict}"] = losses / weights
        return {"eval_loss": fmean(by_verdict.values()), **by_verdict}

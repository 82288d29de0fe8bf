"""transformers' Trainer for verdicts: our batches, our losses, one forward pass a microbatch."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from accelerate import DistributedType
from torch import Tensor
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerControl, TrainingArguments

from training.batches import Bundle, Collator, Schedule
from training.dev import dev_measures
from training.dropout import leave_dtype, quicken_dropout
from training.fitting import Fitting
from training.forward import answers_of
from training.objectives import Answers, Objective, picked
from training.prefetch import made_ahead
from training.run import agreed


class VerdictTrainer(Trainer):
    """Trains on a fixed schedule of microbatches. The loss is the mean over an optimiser step's examples.

    That mean is taken over all microbatches and processes of the step, so that how the step is cut changes nothing.
    """

    def __init__(
        self,
        *,
        model: Any,
        args: TrainingArguments,
        bundles: Sequence[Bundle],
        dev: Sequence[Bundle],
        plan: Schedule,
        objective: Objective,
        collator: Collator,
        **rest: Any,
    ) -> None:
        quicken_dropout(model)
        if args.bf16 or args.fp16:
            leave_dtype(model)
        super().__init__(
            model=model, args=args, train_dataset=bundles, eval_dataset=dev or None, data_collator=collator, **rest
        )
        self.plan = plan
        self.objective = objective
        self.loss_is_scaled_for_ga = True  # compute_loss divides by the whole step's examples
        self.sums: dict[str, list[Tensor]] = defaultdict(list)  # of what is logged beside the loss
        self.source: Iterator[dict[str, Tensor]] | None = None  # of microbatches, and what comes of it
        self.coming: Iterator[dict[str, Tensor]] = iter(())
        self.to_come: deque[list[int]] = deque()  # the step's microbatches, as indices of bundles
        self.fitting = Fitting()
        self.learns_rests = any(example.rest for bundle in bundles for example in bundle)

    def get_train_dataloader(self) -> DataLoader[Bundle]:
        """The schedule's microbatches; accelerate deals them out to the processes in turn."""
        loader: DataLoader[Bundle] = DataLoader(
            self.train_dataset,
            batch_sampler=self.plan.microbatches,
            collate_fn=self.data_collator,
            pin_memory=self.args.dataloader_pin_memory,
        )
        return self.accelerator.prepare(loader)  # type: ignore[no-any-return]

    def get_batch_samples(
        self, epoch_iterator: Iterator[dict[str, Tensor]], num_batches: int, device: torch.device
    ) -> tuple[list[dict[str, Tensor]], Tensor]:
        """The microbatches of one optimiser step, and how many examples they hold over all processes."""
        if epoch_iterator is not self.source:
            n_ahead = self.args.gradient_accumulation_steps  # those of the next step
            self.source, self.coming = epoch_iterator, made_ahead(epoch_iterator, n_ahead)
        batches = [batch for _, batch in zip(range(num_batches), self.coming, strict=False)]
        first = self.state.global_step * self.args.gradient_accumulation_steps
        self.to_come = deque(self.plan.microbatches[first : first + len(batches)])
        n_examples = torch.tensor(sum(len(batch["right"]) for batch in batches), device=device)
        return batches, self.accelerator.gather(n_examples).sum()

    def training_step(
        self, model: Any, inputs: dict[str, Tensor], num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """Forward and backward pass of a microbatch; of one that memory does not hold, bundle by bundle if need be.

        Only where one process trains: several count the gathers and sums of each other's passes, some of which a failed
        pass has begun.
        """
        compute: Callable[..., Tensor] = super().training_step
        if self.accelerator.distributed_type != DistributedType.NO:
            return compute(model, inputs, num_items_in_batch)
        bundles = [self.train_dataset[index] for index in self.to_come.popleft()]
        assert sum(map(len, bundles)) == len(inputs["right"]), "not the microbatch that the plan has here"
        n_noted = len(self.sums.get("accuracy", ()))
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        before = set_aside(weights)

        def one_pass(some: Sequence[Bundle]) -> Tensor:
            batch = inputs if len(some) == len(bundles) else self.data_collator(some)
            return compute(model, batch, num_items_in_batch)

        def undo() -> None:
            set_aside(weights)
            for values in self.sums.values():
                del values[n_noted:]

        loss = torch.stack(self.fitting.in_passes(bundles, one_pass, undo)).sum()
        add_gradients(weights, before)
        return loss

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """The microbatch's share of the step's mean loss, times the processes that gradients are averaged over."""
        answers = self.answers(model, self.with_reference(model, inputs))
        losses = self.objective.total(answers)
        n_examples = len(losses) if num_items_in_batch is None else num_items_in_batch
        self.note(answers)
        return losses.sum() / n_examples * self.accelerator.num_processes

    def with_reference(self, model: Any, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """The microbatch with the base's log-probabilities, asked for now where they were not computed before."""
        if not self.objective.needs_reference or "reference" in batch:
            return batch
        inner = self.unwrapped(model)
        inner.eval()
        with torch.no_grad(), inner.disable_adapter():
            base = self.answers(model, batch)
        inner.train()
        return {**batch, "reference": base.totals, "reference_verdicts": base.verdicts}

    def answers(self, model: Any, batch: dict[str, Tensor]) -> Answers:
        """What the model says of a microbatch, its masks in the dtype that it computes in."""
        with self.accelerator.autocast():
            return answers_of(model, batch, self.unwrapped(model))

    def unwrapped(self, model: Any) -> Any:
        """The PEFT model inside what accelerate made of it."""
        return self.accelerator.unwrap_model(model, keep_fp32_wrapper=True)

    def note(self, answers: Answers) -> None:
        """Keep what the log shows beside the loss: how often the right answer wins, by how much, and how much of the
        loss is of names' rests. Every process keeps the same, for the log adds them up.
        """
        with torch.no_grad():
            right = picked(answers.verdicts, answers.right)
            best_other = answers.verdicts.scatter(1, answers.right[:, None], -torch.inf).max(1).values
            self.sums["accuracy"].append((right > best_other).float())
            self.sums["margin"].append(right - best_other)
            if self.learns_rests:
                self.sums["rest_loss"].append(torch.zeros_like(right) if answers.rest is None else -answers.rest)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Adds accuracy, mean margin (nats) and what else was noted since the last log, over all processes; in fp16 the
        steps left out so far.
        """
        if "loss" in logs and self.sums:
            for name, values in self.sums.items():
                noted = torch.cat(values)
                both = torch.stack([noted.sum(), torch.tensor(float(len(noted)), device=noted.device)])
                total, n = self.accelerator.reduce(both, reduction="sum").tolist()
                logs[name] = round(total / n, 6)
            self.sums.clear()
            logs.update(self.skipped())
        super().log(logs, start_time)

    def skipped(self) -> dict[str, int]:
        """In fp16, how many of the run's steps the gradient scaler has left out, whenever it was continued."""
        if not self.args.fp16:
            return {}
        applied = max((int(kept["step"]) for kept in self.optimizer.state.values()), default=0)
        return {"n_skipped_steps": self.state.global_step - applied}

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the adapter. Of a model that FSDP shards, transformers would gather the base for that too."""
        if not self.accelerator.is_fsdp2:
            super().save_model(output_dir, _internal_call)
            return
        options = StateDictOptions(full_state_dict=True, cpu_offload=True, ignore_frozen_params=True)
        weights = get_model_state_dict(self.model, options=options)
        if self.args.should_save:
            self._save(output_dir, state_dict=weights)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Measure the dev items, the same in every process, and tell the callbacks."""
        assert self.eval_dataset is not None
        # The first process's, in all: of floats that differ by a bit each would decide for itself to save or to stop.
        measures = agreed(dev_measures(self.model_wrapped, self.eval_dataset, self))
        self.log(measures)
        self.control: TrainerControl = self.callback_handler.on_evaluate(self.args, self.state, self.control, measures)
        return measures


def set_aside(weights: Sequence[Tensor]) -> list[Tensor | None]:
    """The weights' gradients, which they have no more: the next backward pass writes its own."""
    found = [weight.grad for weight in weights]
    for weight in weights:
        weight.grad = None
    return found


def add_gradients(weights: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> None:
    """Add gradients that were set aside to those that have come since."""
    for weight, gradient in zip(weights, gradients, strict=True):
        if gradient is not None:
            weight.grad = gradient if weight.grad is None else weight.grad.add_(gradient)

"""A run that no longer learns is stopped: why, what is left of it, and which setting to change by how much.

A published SFT run fell to chance after 15 % of its steps and nobody noticed. What is left of a stopped run: its
metrics up to there, its checkpoints, with a dev split the best among them, and DIVERGED.json, which keeps the same
command from going on.
"""

import math
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from evenhand.errors import ModelError
from evenhand.files import shipped_yaml, write_json
from evenhand.run_directory import read_json
from training.config import TrainingConfig
from training.processes import in_any_process, processes
from training.qlora import gradient_norm
from training.reference import Chance
from training.run_folder import DIVERGED_FILE

# fp16's scaler starts at 2^16 and halves at each overflow: so many in a row are no search for a scale.
MAX_OVERFLOWS = 20
ADVICE: dict[str, str] = shipped_yaml(Path(__file__).with_name("advice.yaml"))
EXPLODED = 1.25  # a loss this many times chance is worse than guessing: the steps are too long
Divergence = tuple[str, str]  # why a run is stopped, as advice.yaml counts, and for a person: "for 200 steps ..."


class LossMonitor:
    """Reads the log's records in their order, so that a continued run, which has them in its checkpoint, goes on alike.

    n_warmup: steps in which the learning rate rises, and in which nothing has to be learnt yet.
    """

    def __init__(self, config: TrainingConfig, chance: Chance, n_warmup: int = 0) -> None:
        optimiser, self.patience = config.optimiser, config.guard.patience_steps
        self.first_step = self.patience + n_warmup  # nothing counts as unlearnt before
        self.chance = chance.loss
        self.goal = chance.loss - chance.slope * config.guard.chance_margin
        # Of conversations it counts themselves: the verdicts on one hang together.
        batch = optimiser.per_device_batch_size * optimiser.gradient_accumulation_steps
        n_judged = self.patience * batch * optimiser.n_processes
        # Two standard errors above guesses.
        self.good_accuracy = chance.accuracy + 2 * math.sqrt(chance.accuracy * (1 - chance.accuracy) / n_judged)
        # In fp16 gradients may overflow: the gradient scaler leaves the step out.
        self.finite = ("loss", "eval_loss", *(() if optimiser.mixed_precision == "fp16" else ("grad_norm",)))
        # Steps, losses and accuracies logged within the last patience_steps.
        self.losses: deque[tuple[int, float, float | None]] = deque()
        self.was_good = False

    def take(self, record: Mapping[str, float]) -> Divergence | None:
        """What is wrong after one more record of the log, which holds `step` and what was measured: a number that is
        none, or a mean loss of the last patience_steps that is no better than chance, as is that of their last quarter.

        Means, because single batches of a dozen examples are often lucky. The last quarter, because a run that has
        just begun to learn is to go on. A loss over twice chance counts as that, so that a bad start is soon forgotten.
        Verdicts right more often than guesses are learning too: the loss of a few sure mistakes can hide it.
        """
        step = int(record["step"])
        for name in self.finite:
            if not math.isfinite(record.get(name, 0.0)):
                return "not a number", f"{name} is {record[name]}"
        if "loss" not in record:
            return None
        # A guess is not held against what the rest of a name costs.
        self.losses.append((step, record["loss"] - record.get("rest_loss", 0.0), record.get("accuracy")))
        while self.losses[0][0] <= step - self.patience:
            self.losses.popleft()
        mean = fmean(min(loss, 2 * self.chance) for _, loss, _ in self.losses)
        recent = fmean(loss for at, loss, _ in self.losses if at > step - self.patience / 4)
        exploded = recent > EXPLODED * self.chance
        judged = [accuracy for *_, accuracy in self.losses if accuracy is not None]
        is_accurate = bool(judged) and fmean(judged) > self.good_accuracy
        if step < self.first_step or min(mean, recent) < self.goal or (is_accurate and not exploded):
            self.was_good |= mean < self.goal and step >= self.patience / 2
            return None
        kind = "collapsed" if self.was_good or exploded else "never learnt"
        at_chance = f"the mean loss has been at chance ({self.chance:.3f}) or above"
        return kind, f"for {self.patience} steps {at_chance}, now {recent:.3f}"


class DivergenceGuard(TrainerCallback):
    """Stops a run whose log shows that it no longer learns, or whose gradient is not finite, before that is applied."""

    def __init__(self, path: Path, config: TrainingConfig, chance: Chance) -> None:
        self.path, self.config, self.chance = path, config, chance
        self.n_overflows = 0

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """A continued run knows what its log has shown before."""
        n_warmup = math.ceil(self.config.optimiser.warmup_ratio * state.max_steps)
        self.monitor = LossMonitor(self.config, self.chance, n_warmup)
        for record in state.log_history:
            self.monitor.take(record)

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        if not in_any_process(not math.isfinite(gradient_norm(more["model"]))):
            self.n_overflows = 0
            return
        self.n_overflows += 1
        reason = "the gradient is not finite"
        if args.fp16:
            if self.n_overflows < min(MAX_OVERFLOWS, state.max_steps):
                return
            reason = f"fp16 has overflowed {self.n_overflows} times in a row"
        self.stop("not a number", f"{reason}; the step has not been applied", state.global_step + 1, state)

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        if divergence := self.monitor.take({**more["logs"], "step": state.global_step}):
            self.stop(*divergence, state.global_step, state)

    def stop(self, kind: str, reason: str, step: int, state: TrainerState) -> None:
        """Leave DIVERGED.json, with what to change, and raise ModelError. To be called by every process."""
        if processes().is_main_process:
            optimiser = self.config.optimiser
            if kind == "not a number" and optimiser.mixed_precision == "fp16":
                kind = "fp16 overflow"
            changed = {"lower": optimiser.learning_rate / 10, "longer": max(0.1, 2 * optimiser.warmup_ratio)}
            advice = ADVICE[kind].format(optimiser=optimiser, guard=self.config.guard, **changed)
            facts = {"step": step, "reason": reason, "best": state.best_model_checkpoint, "advice": advice}
            write_json(self.path / DIVERGED_FILE, facts)
        processes().wait_for_everyone()  # a process that ends has the others ended, perhaps while they write
        check_not_diverged(self.path)


def check_not_diverged(path: Path) -> None:
    """Raises ModelError when the run was stopped before: the same settings would take it there again."""
    if not (path / DIVERGED_FILE).exists():
        return
    stopped = read_json(path / DIVERGED_FILE)
    best = f" The best checkpoint by the dev split is {stopped['best']}." if stopped["best"] else ""
    raise ModelError(
        f"{path}: stopped at step {stopped['step']}: {stopped['reason']}.{best} {stopped['advice']} A changed setting "
        f"is another run; this one goes on from its last checkpoint when {DIVERGED_FILE} is deleted (settings under "
        "`guard` can be changed for that)"
    )

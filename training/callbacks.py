"""What is watched while a model trains: metrics to a file, gradients that arrive, whole checkpoints, and divergence."""

import json
import math
import time
from pathlib import Path
from typing import Any

from accelerate import PartialState
from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from benchmarks.errors import ModelError
from benchmarks.jsonl import write_jsonl, write_whole
from training.qlora import refuse_blocked_gradients
from training.run import BEST_DIR, CHECKPOINTS_DIR, COMPLETE_FILE, copy_adapter
from training.sections import GuardConfig

METRICS_FILE = "metrics.jsonl"


class MetricsFile(TrainerCallback):
    """Appends every log to metrics.jsonl, with step, time and the seconds trained; a continued run drops what it will
    log again.
    """

    def __init__(self, path: Path) -> None:
        self.file = path / METRICS_FILE
        self.began = time.monotonic()
        self.before = 0.0  # seconds trained before this run was continued

    @property
    def seconds(self) -> float:
        """How long the run has trained, over all times that it was continued; what a kill lost is not counted."""
        return self.before + time.monotonic() - self.began

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.began = time.monotonic()
        if state.is_world_process_zero and self.file.exists():
            kept = [record for record in read_metrics(self.file) if record["step"] <= state.global_step]
            write_jsonl(self.file, kept)
            self.before = max((record.get("seconds", 0.0) for record in kept), default=0.0)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        if state.is_world_process_zero and logs:
            now = {"time": round(time.time(), 3), "seconds": round(self.seconds, 3)}
            record = {"step": state.global_step, **now, **logs}
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


def read_metrics(file: Path) -> list[dict[str, Any]]:
    """The whole lines of a metrics file. A kill can tear the last line; nothing is computed from it."""
    lines = file.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]  # what follows the last newline is torn, or empty


class ProgressBar(ProgressCallback):
    """transformers' bar with steps, speed and time left, and the last loss behind it; metrics.jsonl holds the rest."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        if self.training_bar is not None and logs and "loss" in logs:
            names = ("accuracy", "rewards/accuracies", "mean_token_accuracy")  # ours, and TRL's
            accuracy = next((f", {name} {logs[name]:.2f}" for name in names if name in logs), "")
            self.training_bar.set_postfix_str(f"loss {logs['loss']:.3f}{accuracy}")


class GradientCheck(TrainerCallback):
    """Stops a run whose gradients do not reach the first layer: at the first steps, and again after an evaluation."""

    def __init__(self, n_steps: int = 2) -> None:
        self.n_steps = n_steps
        self.left = n_steps

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self.left > 0:
            refuse_blocked_gradients(kwargs["model"], state.global_step + 1)
            self.left -= 1

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.left = self.n_steps


class MarkComplete(TrainerCallback):
    """Marks a checkpoint when its last file is written: a run killed while saving continues from the one before."""

    def __init__(self, path: Path) -> None:
        self.checkpoints = path / CHECKPOINTS_DIR

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        PartialState().wait_for_everyone()  # every process saves its own random state
        if state.is_world_process_zero:
            write_whole(self.checkpoints / f"checkpoint-{state.global_step}" / COMPLETE_FILE, "")


class DivergenceGuard(TrainerCallback):
    """Stops a run that has collapsed, and keeps the best adapter that it saved.

    A published SFT run fell to chance after 15 % of its steps and nobody noticed. A run is stopped when its loss is no
    number, or when for `patience_steps` steps the logged mean loss has been at chance or above. Chance is the loss of
    a judge that tosses a coin: ln 2, divided by how many tokens of an answer share the loss.
    """

    def __init__(self, path: Path, settings: GuardConfig, chance_loss: float, *, keeps_best: bool = True) -> None:
        self.path = path
        self.keeps_best = keeps_best  # by training loss; False where a dev split chooses
        self.settings = settings
        self.chance_loss = chance_loss
        self.last_good_step = 0
        self.last_loss = self.best_loss = math.inf

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.last_good_step = state.global_step

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        if logs is None or "loss" not in logs:
            return
        step, self.last_loss = state.global_step, logs["loss"]
        if not math.isfinite(self.last_loss):
            raise ModelError(f"{self.path}: the loss is {self.last_loss} at step {step}; {self.advice()}")
        if self.last_loss < self.chance_loss - self.settings.chance_margin:
            self.last_good_step = step
        if step - self.last_good_step >= self.settings.patience_steps:
            raise ModelError(
                f"{self.path}: for {step - self.last_good_step} steps the loss has been at chance "
                f"({self.chance_loss:.3f}) or above, now {self.last_loss:.3f}; {self.advice()}"
            )

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self.keeps_best and self.last_loss < self.best_loss and state.is_world_process_zero:
            self.best_loss = self.last_loss
            checkpoint = self.path / CHECKPOINTS_DIR / f"checkpoint-{state.global_step}"
            copy_adapter(checkpoint, self.path / BEST_DIR)

    def advice(self) -> str:
        """What a user can do about it."""
        best = self.path / BEST_DIR
        kept = f"the best adapter saved so far is kept in {best}. " if best.exists() else ""
        return f"{kept}Lower optimiser.learning_rate, lengthen the warmup, or raise guard.patience_steps"

"""What accompanies a model while it trains: metrics to a file, gradients that arrive, checkpoints that are whole."""

import json
import math
import time
from pathlib import Path
from typing import Any

from accelerate import PartialState
from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from evenhand.job_signs import is_stop_asked, is_watched, note_progress
from evenhand.jsonl import write_jsonl, write_whole
from training.divergence_guard import gradient_norm, in_any_process
from training.qlora import refuse_blocked_gradients
from training.run import CHECKPOINTS_DIR, COMPLETE_FILE, sync_files
from training.run_folder import METRICS_FILE


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
            try:
                with self.file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
            except OSError as error:  # of a write it does not name the file
                raise OSError(error.errno, error.strerror, str(self.file)) from error


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
    """Stops a run whose gradients do not reach the first layer: at the first steps, and again after an evaluation.

    A step that is not applied shows nothing: clipping has multiplied by 0 what lay beside an infinite gradient.
    """

    def __init__(self, n_steps: int = 2) -> None:
        self.n_steps = n_steps
        self.left = n_steps

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self.left > 0 and math.isfinite(gradient_norm(kwargs["model"])):
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
            sync_files(self.checkpoints / f"checkpoint-{state.global_step}")
            write_whole(self.checkpoints / f"checkpoint-{state.global_step}" / COMPLETE_FILE, "")
            note_progress()


class StopWhenAsked(TrainerCallback):
    """Ends training behind a step, with a checkpoint, when the job script says that its time is nearly over."""

    def __init__(self) -> None:
        self.is_stopping = False

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        # Only the first process looks: another node may see the file a step later, and all must save together.
        is_last = state.global_step >= state.max_steps
        if is_watched() and not is_last and in_any_process(state.is_world_process_zero and is_stop_asked()):
            self.is_stopping = True
            control.should_save = control.should_log = control.should_training_stop = True

"""What accompanies a model while it trains: metrics, whole checkpoints, the best of them by the dev split."""

import json
import time
from pathlib import Path
from typing import Any

from accelerate import PartialState
from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from evenhand.files import write_jsonl, write_whole
from evenhand.terminal import is_stop_asked, is_watched, note_progress
from training.processes import agreed, in_any_process
from training.run_folder import COMPLETE_FILE, METRICS_FILE, checkpoint_of, read_metrics, sync_files


class MetricsFile(TrainerCallback):
    """Appends every log to metrics.jsonl, with step, time and the seconds trained; a continued run drops what it will
    log again.
    """

    def __init__(self, path: Path) -> None:
        self.file = path / METRICS_FILE
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the run has trained, over all times that it was continued; what a kill lost is not counted."""
        return time.monotonic() - self.began

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.began = time.monotonic()
        if state.is_world_process_zero and self.file.exists():
            kept = [record for record in read_metrics(self.file) if record["step"] <= state.global_step]
            write_jsonl(self.file, kept)
            self.began -= max((record["seconds"] for record in kept), default=0.0)  # as if it had never stopped

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        if state.is_world_process_zero:
            now = {"time": round(time.time(), 3), "seconds": round(self.seconds, 3)}
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": state.global_step, **now, **more["logs"]}) + "\n")


class ProgressBar(ProgressCallback):
    """transformers' bar with steps, speed and time left, and the last loss behind it; metrics.jsonl holds the rest."""

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        if self.training_bar is not None and "loss" in more["logs"]:
            names = [name for name in ("loss", "accuracy") if name in more["logs"]]
            self.training_bar.set_postfix_str(", ".join(f"{name} {more['logs'][name]:.3f}" for name in names))


class MarkComplete(TrainerCallback):
    """Marks a checkpoint when its last file is written: a run killed while saving continues from the one before."""

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        PartialState().wait_for_everyone()  # every process saves its own random state
        if state.is_world_process_zero:
            folder = checkpoint_of(Path(args.output_dir).parent, state.global_step)
            sync_files(folder)
            write_whole(folder / COMPLETE_FILE, "")
            note_progress()


class StopWhenAsked(TrainerCallback):
    """Ends training behind a step, with a checkpoint, when the job script says that its time is nearly over."""

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        # Only the first process looks: another node may see the file a step later, and all must save together.
        is_last = state.global_step >= state.max_steps
        if is_watched() and not is_last and in_any_process(state.is_world_process_zero and is_stop_asked()):
            control.should_save = control.should_log = control.should_training_stop = True


class Selection(TrainerCallback):
    """Has a checkpoint saved whenever the dev loss is the lowest so far; transformers keeps it."""

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        best = checkpoint_of(Path(args.output_dir).parent, state.best_global_step)
        if agreed(best.is_dir()):
            state.best_model_checkpoint = str(best)  # the run may lie elsewhere by now
        else:  # none yet, or a kill came while a better one was saved
            state.best_metric = None

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        if state.best_metric is None or more["metrics"]["eval_loss"] < state.best_metric:
            control.should_save = True


def best_of(path: Path, state: TrainerState) -> tuple[Path, dict[str, Any]]:
    """(a run's checkpoint with the lowest dev loss, what its evaluation has logged)."""
    step, log = state.best_global_step, state.log_history
    return checkpoint_of(path, step), next(r for r in log if r["step"] == step and "eval_loss" in r)

"""What accompanies a model while it trains: metrics, whole checkpoints, the best adapter.

While a run trains, its best adapters lie in checkpoints/best-<step>/. One is deleted only when a whole checkpoint knows
of a better one, so that a run killed at any moment finds the one that its last checkpoint takes for the best.
"""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelerate import PartialState
from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from evenhand.files import write_jsonl, write_whole
from evenhand.run_directory import read_json
from evenhand.terminal import is_stop_asked, is_watched, note_progress
from training.processes import in_any_process, processes
from training.run_folder import (
    CHECKPOINTS_DIR,
    COMPLETE_FILE,
    METRICS_FILE,
    SCORE_FILE,
    copy_adapter,
    read_metrics,
    sync_files,
)
from training.sections import DevConfig

BEST_PREFIX = "best-"


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

    def __init__(self, path: Path) -> None:
        self.checkpoints = path / CHECKPOINTS_DIR

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        PartialState().wait_for_everyone()  # every process saves its own random state
        if state.is_world_process_zero:
            folder = self.checkpoints / f"checkpoint-{state.global_step}"
            sync_files(folder)
            write_whole(folder / COMPLETE_FILE, "")
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


def best_kept(path: Path) -> tuple[Path, dict[str, float]] | None:
    """(folder, step and measures) of the best adapter by the dev split; None if none was saved yet."""
    kept = [(file.parent, read_json(file)) for file in folders_of_best(path, SCORE_FILE)]
    return min(kept, key=lambda best: (best[1]["eval_loss"], best[1]["step"]), default=None)


def drop_best(path: Path, keeps: Callable[[int], bool]) -> None:
    """Delete the best adapters of other steps than those that are to be kept."""
    for folder in folders_of_best(path):
        if not keeps(int(folder.name.removeprefix(BEST_PREFIX))):
            shutil.rmtree(folder)


def folders_of_best(path: Path, file: str = "") -> list[Path]:
    """The folders of best adapters, or a file in each; one that a kill left half written is passed over."""
    return list((path / CHECKPOINTS_DIR).glob(f"{BEST_PREFIX}*[0-9]/{file}"))


class Selection(TrainerCallback):
    """Keeps the adapter with the lowest dev loss, and stops a run that finds none lower for `patience` evaluations."""

    def __init__(self, path: Path, settings: DevConfig) -> None:
        self.path = path
        self.settings = settings
        self.trainer: Any = None  # whose model is saved; set when it is built
        self.stopped_at: int | None = None

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.is_world_process_zero:
            drop_best(self.path, lambda step: step <= state.global_step)

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        losses = dev_losses(state)
        n_since_best = len(losses) - 1 - losses.index(min(losses))
        if n_since_best == 0:
            folder = self.path / CHECKPOINTS_DIR / "last"
            self.trainer.save_model(str(folder))  # by every process: sharded weights are gathered
            if processes().is_main_process:
                target = self.path / CHECKPOINTS_DIR / f"{BEST_PREFIX}{state.global_step}"
                copy_adapter(folder, target, {"step": state.global_step, **more["metrics"]})
        if self.settings.patience is not None and n_since_best >= self.settings.patience:
            self.stopped_at = state.global_step
            control.should_training_stop = True
            # A checkpoint of this step would be continued from if a kill came now, and train one step more.
            control.should_save = False

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.is_world_process_zero:
            best = min(dev_losses(state), default=(0.0, 0))
            drop_best(self.path, lambda step: step == best[1])

    def outcome(self) -> tuple[Path | None, dict[str, Any]]:
        """(the adapter that the run ends with, None for the last; for DONE.json the best by the dev split)."""
        best = best_kept(self.path)
        assert best is not None, "the last step is always evaluated"
        facts: dict[str, Any] = {"selected": self.settings.select, "best": best[1]}
        if self.stopped_at is not None:
            facts["stopped_early_at_step"] = self.stopped_at
        return best[0] if self.settings.select == "best" else None, facts


def dev_losses(state: TrainerState) -> list[tuple[float, int]]:
    """(dev loss, step) of every evaluation so far; a checkpoint keeps them."""
    return [(record["eval_loss"], record["step"]) for record in state.log_history if "eval_loss" in record]

"""The best adapter of a run, by the dev split or else by the training loss, and stopping when it gets no better.

While a run trains, its best adapters lie in checkpoints/best-<step>/. One is deleted only when a whole checkpoint knows
of a better one, so that a run killed at any moment finds the one that its last checkpoint takes for the best.
"""

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from evenhand.run_directory import read_json
from training.run import CHECKPOINTS_DIR, SCORE_FILE, copy_adapter, processes
from training.sections import DevConfig

PREFIX = "best-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """An adapter that was the best when it was saved."""

    folder: Path
    score: dict[str, float]  # step, and eval_loss with the other dev measures or loss, the training loss

    @property
    def loss(self) -> float:
        """What it was chosen by."""
        return self.score["eval_loss"] if "eval_loss" in self.score else self.score["loss"]


def best_kept(path: Path) -> Best | None:
    """The best of the adapters that a run keeps; None if none was saved yet."""
    kept = [Best(folder=f.parent, score=read_json(f)) for f in folders_of_best(path, SCORE_FILE)]
    return min(kept, key=lambda best: (best.loss, best.score["step"]), default=None)


def keep_best(path: Path, source: Path, score: dict[str, float]) -> None:
    """Keep a saved adapter as the best so far."""
    copy_adapter(source, path / CHECKPOINTS_DIR / f"{PREFIX}{score['step']:.0f}", score)


def drop_best(path: Path, keeps: Callable[[int], bool]) -> None:
    """Delete the best adapters of other steps than those that are to be kept."""
    for folder in folders_of_best(path):
        if not keeps(int(folder.name.removeprefix(PREFIX))):
            shutil.rmtree(folder)


def folders_of_best(path: Path, file: str = "") -> list[Path]:
    """The folders of best adapters, or a file in each; one that a kill left half written is passed over."""
    return list((path / CHECKPOINTS_DIR).glob(f"{PREFIX}*[0-9]/{file}"))


class Selection(TrainerCallback):
    """Keeps the adapter with the lowest dev loss, and stops a run that finds none lower for `patience` evaluations."""

    def __init__(self, path: Path, settings: DevConfig) -> None:
        self.path = path
        self.settings = settings
        self.trainer: Any = None  # whose model is saved; set when it is built
        self.best: dict[str, float] = {"step": 0, "eval_loss": math.inf}
        self.without_better = 0
        self.stopped_at: int | None = None

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """A continued run takes up what evaluations before its checkpoint found."""
        self.best = {"step": 0, "eval_loss": math.inf}
        self.without_better = 0
        for record in state.log_history:
            if "eval_loss" in record:
                self.take(record)
        if state.is_world_process_zero:
            drop_best(self.path, lambda step: step <= state.global_step)

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        measures = {"step": state.global_step, **more["metrics"]}
        if self.take(measures):
            folder = self.path / CHECKPOINTS_DIR / "last"
            self.trainer.save_model(str(folder))  # by every process: sharded weights are gathered
            if processes().is_main_process:
                keep_best(self.path, folder, measures)
        if self.settings.patience is not None and self.without_better >= self.settings.patience:
            self.stopped_at = state.global_step
            control.should_training_stop = True
            # A checkpoint of this step would be continued from if a kill came now, and train one step more.
            control.should_save = False

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.is_world_process_zero:
            drop_best(self.path, lambda step: step == self.best["step"])

    def take(self, measures: dict[str, float]) -> bool:
        """Whether an evaluation is the best so far."""
        if measures["eval_loss"] < self.best["eval_loss"]:
            self.best = measures
            self.without_better = 0
            return True
        self.without_better += 1
        return False


class BestByLoss(TrainerCallback):
    """Keeps, of a run without a dev split, the checkpoint's adapter with the lowest last logged training loss.

    It is what a run that is stopped falls back to; one that ends well ends with its last adapter.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """A kill can have come between a checkpoint and the copy of its adapter."""
        if state.is_world_process_zero:
            drop_best(self.path, lambda step: step <= state.global_step)
            if state.global_step > 0:
                self.consider(state)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.is_world_process_zero:
            self.consider(state)

    def consider(self, state: TrainerState) -> None:
        """Keep the adapter of the checkpoint of this step if it is the best so far."""
        losses = [record["loss"] for record in state.log_history if "loss" in record]
        if not losses:
            return
        best = best_kept(self.path)
        if best is None or losses[-1] < best.loss:
            checkpoint = self.path / CHECKPOINTS_DIR / f"checkpoint-{state.global_step}"
            keep_best(self.path, checkpoint, {"step": state.global_step, "loss": losses[-1]})
            drop_best(self.path, lambda step: step == state.global_step)

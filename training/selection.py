"""The best checkpoint by the dev split, and stopping when it gets no better."""

import json
import math
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from benchmarks.jsonl import write_json
from training.run import BEST_DIR, CHECKPOINTS_DIR, copy_adapter, processes
from training.sections import DevConfig

SCORE_FILE = "score.json"  # in the best adapter's folder: the step it is of and its dev measures


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
                self.take({"step": record["step"], "eval_loss": record["eval_loss"]})

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        measures = {"step": state.global_step, **more["metrics"]}
        if self.take(measures):
            folder = self.path / CHECKPOINTS_DIR / "best.partial"
            self.trainer.save_model(str(folder))  # by every process: sharded weights are gathered
            if processes().is_main_process:
                copy_adapter(folder, self.path / BEST_DIR)
                write_json(self.path / BEST_DIR / SCORE_FILE, measures)
        if self.settings.patience is not None and self.without_better >= self.settings.patience:
            self.stopped_at = state.global_step
            control.should_training_stop = True

    def take(self, measures: dict[str, float]) -> bool:
        """Whether an evaluation is the best so far."""
        if measures["eval_loss"] < self.best["eval_loss"]:
            self.best = measures
            self.without_better = 0
            return True
        self.without_better += 1
        return False


def best_score(path: Path) -> dict[str, float]:
    """Step and dev measures of a run's best adapter."""
    found: dict[str, float] = json.loads((path / BEST_DIR / SCORE_FILE).read_text(encoding="utf-8"))
    return found

"""Training runs that are killed in a step, or that compute in fp16 on a CPU too."""

from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from transformers import TrainerState, TrainingArguments

from training.arguments import training_arguments
from training.callbacks import GradientCheck
from training.config import AnyRun


def begin_fp16_at(scale: float, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the gradient scaler of runs in fp16 begin there, and let them run on a CPU, where config and accelerate
    refuse them.
    """

    def arguments(config: AnyRun, path: Path) -> TrainingArguments:
        optimiser = config.optimiser.model_copy(update={"mixed_precision": "no"})
        return training_arguments(config.model_copy(update={"optimiser": optimiser}), path)

    def switch(trainer: Any, config: AnyRun) -> None:
        trainer.accelerator.scaler = torch.amp.GradScaler(device, init_scale=scale)
        if device == "cpu":
            trainer.args.fp16 = True
            trainer.accelerator.native_amp = True
            monkeypatch.setitem(AcceleratorState._shared_state, "_mixed_precision", "fp16")

    if device == "cpu":
        monkeypatch.setattr("training.train.training_arguments", arguments)
    monkeypatch.setattr("training.train.prepare_sharding", switch)


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the next training stop as if killed, in the middle of a step."""

    def die(self: GradientCheck, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        if state.global_step + 1 == step:
            raise KeyboardInterrupt

    monkeypatch.setattr(GradientCheck, "on_pre_optimizer_step", die)

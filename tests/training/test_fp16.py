"""Overflows in fp16, with torch's own gradient scaler: left out and counted; a run of nothing else is stopped."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from transformers import TrainerControl, TrainerState, TrainingArguments

from evenhand.errors import ModelError
from evenhand.run_directory import DONE_FILE
from tests.made.disturbed_training import begin_fp16_at
from tests.made.easy_task import easy_items, easy_run, plant
from tests.made.training_runs import tiny_model
from training.callbacks import GradientCheck, read_metrics
from training.config import AnyRun
from training.run import folder_of
from training.train import train

IN_FP16 = cast(TrainingArguments, type("Arguments", (), {"fp16": True}))
N_STEPS = 8


class TwoLayers(torch.nn.Module):
    """The adapters of two layers, as much of them as the callbacks look at."""

    def __init__(self) -> None:
        super().__init__()
        layers = [torch.nn.ModuleDict({"lora_B": torch.nn.Linear(1, 1, bias=False)}) for _ in range(2)]
        self.model = torch.nn.ModuleDict({"layers": torch.nn.ModuleList(layers)})
        self.optimiser = torch.optim.SGD(self.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cpu")  # begins at 2^16, as on a GPU

    def gradients_of(self, first: float, second: float) -> None:
        """As they are when an optimiser step is about to be taken: scaled, unscaled, clipped. Of weights: their sum
        times the factor, in fp16's range.
        """
        self.optimiser.zero_grad()
        weights = [layer["lora_B"].weight for layer in self.model["layers"]]
        loss = sum(factor * w.sum().half().float() for w, factor in zip(weights, (first, second), strict=True))
        self.scaler.scale(cast(torch.Tensor, loss)).backward()
        self.scaler.unscale_(self.optimiser)
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

    def step(self) -> None:
        self.scaler.step(self.optimiser)
        self.scaler.update()

    @property
    def gradient_of_the_first(self) -> float:
        return float(self.model["layers"][0]["lora_B"].weight.grad)


def look(callback: Any, model: TwoLayers, max_steps: int = 1000) -> None:
    callback.on_pre_optimizer_step(IN_FP16, TrainerState(max_steps=max_steps), TrainerControl(), model=model)


def test_gradients_that_an_overflow_elsewhere_has_clipped_to_0_are_not_called_blocked() -> None:
    model, check = TwoLayers(), GradientCheck()
    before = [weight.clone() for weight in model.parameters()]
    model.gradients_of(0.5, 4.0)
    assert model.gradient_of_the_first == 0, "4 x 2^16 is infinite in fp16, and clipping divides by the norm"
    for _ in range(3):
        look(check, model)
    model.step()
    assert model.scaler.get_scale() == 2**15
    assert all(torch.equal(weight, old) for weight, old in zip(model.parameters(), before, strict=True)), "left out"
    model.gradients_of(0.5, 0.5)
    look(check, model)
    model.step()
    model.gradients_of(0.0, 0.5)
    with pytest.raises(ModelError, match=r"no gradient reaches model\.layers\.0\.lora_B"):
        look(check, model)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


def run_in_fp16(model: Path, root: Path, scale: float, device: str, monkeypatch: pytest.MonkeyPatch) -> AnyRun:
    """A run in fp16 whose gradient scaler begins at `scale`."""
    plant(easy_items(60), monkeypatch)
    begin_fp16_at(scale, device, monkeypatch)
    return easy_run(model, root, optimiser={"mixed_precision": "fp16", "max_steps": N_STEPS})


@pytest.mark.slow
def test_a_run_goes_on_after_the_overflows_of_its_first_steps_and_counts_them(
    model: Path, tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = run_in_fp16(model, tmp_path, 2.0**18, device, monkeypatch)
    folder = train(config)
    metrics = read_metrics(folder / "metrics.jsonl")
    counts = [record["n_skipped_steps"] for record in metrics if "loss" in record]
    assert len(counts) == N_STEPS
    done = json.loads((folder / DONE_FILE).read_text())
    assert done["n_steps"] == N_STEPS
    assert 1 <= done["n_skipped_steps"] == counts[-1] < N_STEPS - 2
    assert counts[:2] == [1, 2], "the scale halves until nothing overflows"


@pytest.mark.slow
def test_a_run_of_nothing_but_overflows_is_stopped(
    model: Path, tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = run_in_fp16(model, tmp_path, 2.0**120, device, monkeypatch)
    with pytest.raises(ModelError, match=rf"fp16 has overflowed {N_STEPS} times in a row.*mixed_precision=bf16"):
        train(config)
    assert not (folder_of(config) / DONE_FILE).exists()

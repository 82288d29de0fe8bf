"""Memory that does not suffice: said as that, with the settings that help."""

from pathlib import Path
from typing import Any

import pytest
import torch

from evenhand.errors import ModelError
from tests.made.training_runs import tiny_model, tiny_run
from training import train as module
from training.memory import told_when_out_of_memory
from training.train import train

ON_CPU = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to ..."
ERRORS: list[Exception] = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError(ON_CPU),
    MemoryError(),
]


def failing(error: Exception) -> Any:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


@pytest.mark.slow
def test_a_step_and_a_model_that_do_not_fit_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tiny_run("sft", tiny_model(tmp_path / "model"), tmp_path)
    monkeypatch.setattr("training.trainer.answers_of", failing(ERRORS[0]))
    with pytest.raises(ModelError, match=r"out of memory while training.*optimiser\.gradient_checkpointing=true"):
        train(run)
    monkeypatch.setattr(module, "load_base", failing(ERRORS[0]))
    with pytest.raises(ModelError, match=r"while the model is loaded.*quantisation\.kind=nf4"):
        train(run)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_way_of_being_out_of_memory_is_known(error: Exception) -> None:
    with pytest.raises(ModelError, match="out of memory while training"), told_when_out_of_memory("training"):
        raise error

"""Memory that does not suffice: which settings help, by how much, in which order."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from evenhand.errors import ModelError
from tests.made.made_examples import example
from tests.made.training_runs import tiny_model, tiny_run
from training import train as module
from training.memory import told_when_out_of_memory, training_advice
from training.train import train

ON_CPU = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to ..."
ERRORS: list[Exception] = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError(ON_CPU),
    MemoryError(),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


def failing(error: Exception) -> Any:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


@pytest.mark.slow
def test_a_prompt_that_does_not_fit_by_itself_names_what_to_change(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.trainer.answers_of", failing(ERRORS[0]))
    quantisation = {"compute_dtype": "float32", "hold": "dequantised"}
    with pytest.raises(ModelError) as caught:
        train(tiny_run("sft", model, tmp_path, quantisation=quantisation, examples={"max_prompt_length": 500}))
    advice = (
        "out of memory while training",
        "(1) optimiser.gradient_checkpointing=true",
        "(2) optimiser.row_tokens=0",
        "(3) quantisation.hold=nf4",
        "(4) examples.max_prompt_length=",
        "(now 500; the longest prompt takes ",
        "leaves out ",
        " of 32 examples",
    )
    assert_in_order(str(caught.value), advice)


@pytest.mark.parametrize("keys", [{"optimiser": {"n_processes": 2}}, {"trainer": "trl"}], ids=["processes", "TRL"])
def test_where_micro_batches_are_not_cut_by_themselves_the_advice_begins_with_that(keys: dict[str, Any]) -> None:
    config = tiny_run("sft", Path("no-model"), Path("runs"), **keys)
    said = "; ".join(training_advice(config, [example([5] * 90)]))
    smaller = "optimiser.per_device_batch_size=2 optimiser.gradient_accumulation_steps=2 (now 4 and 1): the same effect"
    assert_in_order(said, (smaller, "optimiser.gradient_checkpointing=true"))


def assert_in_order(said: str, parts: Sequence[str]) -> None:
    places = [said.find(part) for part in parts]
    assert -1 not in places, said
    assert places == sorted(places)


@pytest.mark.slow
def test_a_model_that_does_not_fit_is_told_apart_from_a_step(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "load_base", failing(ERRORS[0]))
    quantisation = {"kind": "none", "compute_dtype": "float32"}
    with pytest.raises(ModelError, match=r"while the model was loaded.*\(1\) quantisation\.kind=nf4") as caught:
        train(tiny_run("sft", model, tmp_path, quantisation=quantisation))
    assert "batch_size" not in str(caught.value)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_way_of_being_out_of_memory_is_known(error: Exception) -> None:
    config = tiny_run("sft", Path("no-model"), Path("runs"))
    with pytest.raises(ModelError, match="out of memory while the model was loaded"), told_when_out_of_memory(config):
        raise error

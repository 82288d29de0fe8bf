"""A microbatch that memory does not hold is cut, not lost: the gradients are those of the whole."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import DistributedType
from safetensors.torch import load_file
from torch import Tensor

from tests.made.made_examples import example
from tests.made.one_batch import adapted, byte_model, examples_for, verdict_trainer
from tests.made.training_runs import tiny_run
from training import trainer
from training.batches import Bundle
from training.callbacks import read_metrics
from training.fitting import Fitting, size
from training.train import train

FULL = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
BUNDLES: list[Bundle] = [[example([9] * n)] for n in (9, 19, 29, 39, 49)]  # one token more each with the answer


class Machine:
    """Holds so many tokens at once."""

    def __init__(self, holds: int) -> None:
        self.holds = holds
        self.done: list[Sequence[Bundle]] = []
        self.n_failed = 0

    def __call__(self, bundles: Sequence[Bundle]) -> int:
        if size(bundles) > self.holds:
            self.n_failed += 1
            raise FULL
        self.done.append(bundles)
        return size(bundles)


@pytest.mark.parametrize("holds", [150, 149, 50])
def test_every_bundle_is_computed_once_in_passes_that_fit(holds: int, capsys: pytest.CaptureFixture[str]) -> None:
    machine, fitting = Machine(holds), Fitting()
    found = fitting.in_passes(BUNDLES, machine, machine.done.clear)
    assert [bundle for some in machine.done for bundle in some] == BUNDLES
    assert sum(found) == 150
    assert (machine.n_failed > 0) == (holds < 150)
    said = capsys.readouterr().err
    assert said.count("\n") == said.count("Out of memory: from here on a pass has at most") == int(holds < 150)
    machine.n_failed = 0
    machine.done.clear()
    fitting.in_passes(BUNDLES, machine, machine.done.clear)
    assert machine.n_failed == 0, "the next one is cut before it fails"
    assert len(machine.done) > 1 or holds == 150
    assert capsys.readouterr().err == "", "it is said once"


def test_one_that_does_not_fit_alone_and_other_errors_go_on_to_the_caller() -> None:
    machine = Machine(40)
    with pytest.raises(torch.OutOfMemoryError):
        Fitting().in_passes(BUNDLES, machine, machine.done.clear)

    def broken(_: Sequence[Bundle]) -> None:
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        Fitting().in_passes(BUNDLES, broken, lambda: None)


# In training: at planted errors, in the forward pass and in the middle of the backward pass.


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return byte_model(tmp_path_factory.mktemp("model"))


class Full:
    """Of the microbatches with more than four prompts, only the first fits: the next finds its gradients there."""

    def __init__(self) -> None:
        self.n_seen = 0

    def __call__(self, batch: dict[str, Tensor]) -> bool:
        large = len(batch["right"]) > 4 and torch.is_grad_enabled()
        self.n_seen += large
        return large and self.n_seen > 1


def fails_forward(patch: pytest.MonkeyPatch) -> list[bool]:
    """The forward pass of a microbatch fails."""
    compute, failed, full = trainer.answers_of, [], Full()

    def computed(model: Any, batch: dict[str, Tensor], inner: Any) -> Any:
        if full(batch):
            failed.append(True)
            raise FULL
        return compute(model, batch, inner)

    patch.setattr(trainer, "answers_of", computed)
    return failed


def fails_backward(patch: pytest.MonkeyPatch) -> list[bool]:
    """The backward pass of a microbatch fails before the first layer, when the last has got its gradients."""
    compute, failed, full = trainer.answers_of, [], Full()

    def computed(model: Any, batch: dict[str, Tensor], inner: Any) -> Any:
        last = [w for name, w in inner.named_parameters() if ".layers.1." in name and "lora_B" in name]

        def fail(_: Tensor) -> None:
            failed.append(all(w.grad is not None for w in last))
            raise FULL

        first = inner.get_submodule("base_model.model.model.layers.0")
        hook = first.register_forward_hook(lambda _, __, found: found.register_hook(fail) and None)
        try:
            return compute(model, batch, inner)
        finally:
            hook.remove()

    def when_full(model: Any, batch: dict[str, Tensor], inner: Any) -> Any:
        return (computed if full(batch) else compute)(model, batch, inner)

    patch.setattr(trainer, "answers_of", when_full)
    return failed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "plant"),
    [
        ("sft", fails_forward),
        pytest.param("dpo", fails_backward, marks=pytest.mark.campaign),
        ("paired", fails_backward),
    ],
)
def test_a_run_whose_microbatches_do_not_fit_goes_the_way_of_one_whose_do(
    method: str,
    plant: Callable[[pytest.MonkeyPatch], list[bool]],
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    optimiser = {"per_device_batch_size": 8, "gradient_accumulation_steps": 2, "order": "whole_items", "max_steps": 2}
    more: dict[str, Any] = {"consistency": {"weight": 0.5}} if method == "paired" else {}
    if method == "dpo":
        more["precompute_reference"] = False
    method = "sft" if method == "paired" else method
    runs = []
    for name in ("fits", "does not fit"):
        failed = plant(monkeypatch) if name == "does not fit" else []
        runs.append(train(tiny_run(method, model, tmp_path / name, optimiser=optimiser, **more)))
    assert failed == [True], "once, and in the backward pass with gradients that must not count"
    assert capsys.readouterr().err.count("Out of memory: from here on") == 1
    fits, cut = ([r for r in read_metrics(run / "metrics.jsonl") if "loss" in r] for run in runs)
    for expected, found in zip(fits, cut, strict=True):
        for key in ("loss", "grad_norm", "accuracy", "margin"):
            assert found[key] == pytest.approx(expected[key], rel=2e-5, abs=2e-6), key  # they are rounded to 1e-6
    weights, others = (load_file(run / "adapter" / "adapter_model.safetensors") for run in runs)
    for name, weight in weights.items():
        assert float((others[name] - weight).norm() / weight.norm()) < 1e-3, name  # Adam divides by small gradients


@pytest.mark.slow
def test_several_processes_are_told_instead_for_they_count_on_each_other(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_run("sft", model, tmp_path, optimiser={"per_device_batch_size": 8, "max_steps": 1})
    judge = adapted(model, config)
    ours = verdict_trainer(config, judge, examples_for(config, model), tmp_path)
    (batch,), n_examples = ours.get_batch_samples(iter(ours.get_train_dataloader()), 1, judge.device)
    failed = fails_forward(monkeypatch)
    monkeypatch.setattr(Full, "__call__", lambda *_: True)
    ours.accelerator.state.distributed_type = DistributedType.MULTI_GPU
    try:
        with pytest.raises(torch.OutOfMemoryError):
            ours.training_step(judge, batch, n_examples)
    finally:
        ours.accelerator.state.distributed_type = DistributedType.NO
    assert failed == [True]


# Asking the reference: as many at once as fit, whatever the batch that is trained on.

"""Dropout from the gaps between what is dropped is dropout."""

from collections import Counter
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.made.one_batch import adapted, byte_model, examples_for, outcome, verdict_trainer, worst_gradient
from tests.made.tiny_families import SIZES
from tests.made.training_runs import tiny_run
from training.dropout import QuickDropout, dropped
from training.trainer import VerdictTrainer

N = 1_000_000


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
def test_numbers_are_dropped_with_probability_p_and_the_others_scaled_to_the_same_mean(p: float) -> None:
    torch.manual_seed(0)
    found = QuickDropout(p)(torch.ones(N))
    n_dropped = int((found == 0).sum())
    assert abs(n_dropped - p * N) < 4 * (N * p * (1 - p)) ** 0.5
    (kept,) = set(found[found != 0].tolist())
    assert kept == pytest.approx(1 / (1 - p), rel=2e-4)
    assert float(found.double().mean()) == pytest.approx(1, abs=4 * (p / (1 - p) / N) ** 0.5)


@pytest.mark.parametrize("p", [0.05, 0.5])
def test_every_subset_of_places_is_dropped_as_often_as_independent_draws_would(p: float) -> None:
    torch.manual_seed(0)
    n, n_draws = 4, 20_000
    seen = Counter(tuple(dropped(n, p).tolist()) for _ in range(n_draws))
    for subset in chain.from_iterable(combinations(range(n), size) for size in range(n + 1)):
        expected = n_draws * p ** len(subset) * (1 - p) ** (n - len(subset))
        assert abs(seen[subset] - expected) < 4.5 * (expected + 1) ** 0.5, subset


def test_the_gradient_goes_where_the_numbers_went() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 5, 7, requires_grad=True)
    found = QuickDropout(0.3)(x)
    found.sum().backward()
    assert x.grad is not None
    assert torch.equal(found, x * x.grad)
    assert 0 < int((x.grad == 0).sum()) < x.numel()


def test_the_same_seed_drops_the_same_as_a_continued_run_must() -> None:
    x, dropout = torch.randn(9, 11), QuickDropout(0.4)
    torch.manual_seed(3)
    first, state = dropout(x), torch.get_rng_state()
    second = dropout(x)
    torch.set_rng_state(state)
    assert torch.equal(dropout(x), second)
    assert not torch.equal(first, second)


@pytest.mark.slow
@pytest.mark.parametrize("hold", ["nf4", "dequantised"])
def test_adapters_under_autocast_take_their_input_uncast_and_compute_the_same(
    hold: str, tmp_path: Path, device: str
) -> None:
    pytest.importorskip("bitsandbytes", reason="a base is loaded with it")
    model = byte_model(tmp_path / "model")
    kept: dict[str, Any] = {"quantisation": {"compute_dtype": "bfloat16", "hold": hold}}
    config = tiny_run("sft", model, tmp_path, optimiser={"mixed_precision": "bf16", "max_steps": 1}, **kept)
    examples = examples_for(config, model)[:4]
    outcomes = []
    for casts in (False, True):
        judge = adapted(model, config)
        trainer = verdict_trainer(config, judge, examples, tmp_path)
        layers = [module for module in judge.modules() if hasattr(module, "cast_input_dtype_enabled")]
        assert len(layers) == 7 * SIZES["num_hidden_layers"]
        for layer in layers:
            assert not layer.cast_input_dtype_enabled
            layer.cast_input_dtype_enabled = casts
        seen: set[torch.dtype] = set()
        for layer in layers:
            layer.lora_dropout["default"].register_forward_pre_hook(lambda _, x, seen=seen: seen.add(x[0].dtype))
        collated = trainer.data_collator([[example] for example in examples])
        batch = {name: part.to(device) for name, part in collated.items()}
        outcomes.append(outcome(judge, partial(loss_of, trainer, judge, batch)))
        assert seen == {torch.float32 if casts else torch.bfloat16}
    uncast, cast = outcomes
    # A GPU's attention adds up its gradients in any order, and they are rounded to the 8 bits of bf16 on their way.
    tolerance = {"cpu": 0, "cuda": 2**-6}[device]
    assert uncast.loss == pytest.approx(cast.loss, rel=tolerance, abs=0)
    assert worst_gradient(uncast, cast)[1] <= tolerance


def loss_of(trainer: VerdictTrainer, judge: Any, batch: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    return [trainer.compute_loss(judge, batch)]

"""Dropout from few random bits is dropout."""

import pytest
import torch

from training.dropout import QuickDropout, quicken_dropout

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


def test_what_is_dropped_hangs_together_with_nothing_before_it() -> None:
    torch.manual_seed(0)
    dropped = (QuickDropout(0.5)(torch.ones(4, N // 4)) == 0).double()
    shifted = [torch.roll(dropped.flatten(), shift) for shift in (1, 2, 3, 4, 8)]
    for other in (*shifted, (QuickDropout(0.5)(torch.ones(N)) == 0).double()):
        correlation = torch.corrcoef(torch.stack([dropped.flatten(), other]))[0, 1]
        assert abs(float(correlation)) < 4 / N**0.5


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


def test_nothing_is_dropped_in_eval_mode_or_with_p_0() -> None:
    x = torch.randn(20, 20)
    assert torch.equal(QuickDropout(0.9).eval()(x), x)
    assert torch.equal(QuickDropout(0.0)(x), x)


def test_dropout_before_adapters_is_replaced_on_cpu() -> None:
    class Adapted(torch.nn.Module):
        device = torch.device("cpu")

        def __init__(self) -> None:
            super().__init__()
            self.other = torch.nn.Dropout(0.1)
            layers: dict[str, torch.nn.Module] = {"default": torch.nn.Dropout(0.05), "none": torch.nn.Identity()}
            self.lora_dropout = torch.nn.ModuleDict(layers)

    model = Adapted()
    quicken_dropout(model)
    assert isinstance(model.lora_dropout["default"], QuickDropout)
    assert model.lora_dropout["default"].p == 0.05
    assert isinstance(model.lora_dropout["none"], torch.nn.Identity)
    assert isinstance(model.other, torch.nn.Dropout)
    on_gpu = Adapted()
    on_gpu.device = torch.device("cuda")
    quicken_dropout(on_gpu)
    assert isinstance(on_gpu.lora_dropout["default"], torch.nn.Dropout)

"""Dropout before the adapters: on CPU at a fifth of the time of torch's, and nowhere in a wider dtype than it need be.

torch draws one double per number on CPU, in a single thread: with the paper's dropout of 0.05 before every adapter,
that is a fifth of a step. Here what is drawn are the gaps between the numbers that are dropped, which are few.
"""

import math
from typing import Any

import torch
from torch import Tensor


class QuickDropout(torch.nn.Module):
    """torch.nn.Dropout with another draw of the same distribution, from torch's own generator."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Numbers of any shape; what was dropped is 0."""
        if not self.training or self.p == 0:
            return x
        found: Tensor = Dropped.apply(x, dropped(x.numel(), self.p), 1 / (1 - self.p))  # type: ignore[no-untyped-call]
        return found

    def extra_repr(self) -> str:
        """As torch.nn.Dropout's."""
        return f"p={self.p}"


def dropped(n: int, p: float) -> Tensor:
    """Which of n numbers are dropped, each with probability p whatever becomes of the others: their places, in order.

    The gap before the next one is k numbers long with probability p (1 - p)^k: the geometric distribution's.
    """
    n_gaps = int(n * p + 8 * math.sqrt(n * p) + 16)  # more are never dropped: eight standard deviations
    gaps = torch.rand(n_gaps).neg_().log1p_().div_(math.log1p(-p)).long()  # in [0, 1): the logarithm is finite
    places = gaps.add_(1).cumsum(0).sub_(1)
    return places[: int(torch.searchsorted(places, n))]


class Dropped(torch.autograd.Function):
    """x with some places 0 and the others scaled; what it does to a gradient is the same."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(places)
        ctx.scale = scale
        return kept(x, places, scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (gradient,), (places,) = gradients, ctx.saved_tensors
        return kept(gradient, places, ctx.scale), None, None


def kept(x: Tensor, places: Tensor, scale: float) -> Tensor:
    """x, scaled, with 0 at some places of its flat form. The scale itself is not rounded to x's dtype."""
    return (x * scale).flatten().index_fill_(0, places, 0).view(x.shape)


def quicken_dropout(model: Any) -> None:
    """Replace the dropout before a model's adapters where it is on CPU. On a GPU torch's own is as fast."""
    if model.device.type != "cpu":
        return
    for module in model.modules():
        dropouts = getattr(module, "lora_dropout", {})
        for name, dropout in dropouts.items():
            if isinstance(dropout, torch.nn.Dropout):
                dropouts[name] = QuickDropout(dropout.p)


def leave_dtype(model: Any) -> None:
    """Have the adapters take their input as it is. For a model that computes under autocast.

    PEFT turns it into the adapter's float32 first, drops out there, and autocast turns it back: seven times a layer,
    and four times the memory is read and written. What is multiplied is the same.
    """
    for module in model.modules():
        if hasattr(module, "cast_input_dtype_enabled"):
            module.cast_input_dtype_enabled = False

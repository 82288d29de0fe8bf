"""Dropout before the adapters: on CPU at a third of the time of torch's, and nowhere in a wider dtype than it need be.

torch draws one double per number on CPU, in a single thread: with the paper's dropout of 0.05 before every adapter,
that is a fifth of a step. Sixteen bits are enough.
"""

from typing import Any

import torch
from torch import Tensor

LEVELS = 1 << 16


class QuickDropout(torch.nn.Module):
    """torch.nn.Dropout from 16 random bits a number, of torch's own generator: p is rounded to 1/65536.

    Kept numbers are divided by the share that is kept, after rounding, so that the mean is exact.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.n_dropped = round(p * LEVELS)  # levels of 65536 that drop a number

    def forward(self, x: Tensor) -> Tensor:
        """Numbers of any shape; what was dropped is 0."""
        if not self.training or self.n_dropped == 0:
            return x
        lowest = torch.iinfo(torch.int64).min
        bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(lowest, None)
        levels = bits.view(torch.int16)[: x.numel()].view(x.shape)  # from -32768 on
        kept = torch.empty(x.shape, dtype=x.dtype)
        torch.ge(levels, self.n_dropped - LEVELS // 2, out=kept)
        scale = LEVELS / (LEVELS - self.n_dropped)
        if x.dtype == torch.float32:
            return x * kept.mul_(scale)
        return (x * kept).mul_(scale)  # the scale itself, rounded to bf16's 8 bits, would shift the mean

    def extra_repr(self) -> str:
        """As torch.nn.Dropout's."""
        return f"p={self.p}"


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

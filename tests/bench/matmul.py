"""This machine's speed in multiplying matrices of a model's shapes: what nothing that computes the model can exceed.

A worker that takes turns with what is compared with it. Its work is a pass over the weights of every block's linear
layers, a matrix of each, times a microbatch of activations; backward: and the gradient of those activations as well.
No matrix is met twice in a pass, so that they come from where the model's own come.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

import torch
from torch import Tensor

from evenhand.float32 import use_onednn
from evenhand.model_size import ModelSize
from tests.bench.contenders import Worker

LEAST_SECONDS = 1.0  # of a turn


class Matmul(Worker):
    """The worker, as those see it who compare with it."""

    def __init__(self, size: ModelSize, n_tokens: int, dtype: str, root: str, *, backward: bool) -> None:
        shapes = list(size.projections.values()) * size.n_layers
        spec = {"shapes": shapes, "n_tokens": n_tokens, "dtype": dtype, "backward": backward}
        super().__init__(["tests.bench.matmul", json.dumps(spec)], root)
        self.flops = size.n_linear * 2 * n_tokens * (2 if backward else 1)
        self.dtype = dtype

    @property
    def speeds(self) -> list[float]:
        """FLOP/s of each turn but the first."""
        return [self.flops / seconds for seconds in self.micro[1:]]

    @property
    def speed(self) -> float:
        """FLOP/s, the median."""
        return median(self.speeds)

    def __str__(self) -> str:
        least, most = min(self.speeds) / 1e9, max(self.speeds) / 1e9
        return (
            f"this machine's own speed in matrix products at the model's shapes, {self.speed / 1e9:.0f} GFLOP/s in "
            f"{self.dtype} ({least:.0f} to {most:.0f})"
        )

    def share(self, flops: float, seconds: Sequence[float], beside: float = 0.0) -> str:
        """The share of that speed which so many operations reach, each turn beside its own measure of the speed.

        seconds: of each turn, a first one that warms up among them. beside: a turn's part of what is timed apart.
        """
        took = [turn + beside for turn in seconds[1:]]
        each = [flops / turn / speed for turn, speed in zip(took, self.speeds, strict=True)]
        return f"{flops / median(took) / self.speed:.2f} ({min(each):.2f} to {max(each):.2f} in single rounds)"


def pass_over(shapes: list[list[int]], n_tokens: int, dtype: torch.dtype, *, backward: bool) -> Callable[[], None]:
    """The work: multiply with every weight once, or with its transpose too."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weights = [torch.randn(n_out, n_in, dtype=dtype, device=device) for n_in, n_out in shapes]
    widths = {width for shape in shapes for width in shape}
    tokens: dict[int, Tensor] = {width: torch.randn(n_tokens, width, dtype=dtype, device=device) for width in widths}

    def work() -> None:
        for weight in weights:
            torch.nn.functional.linear(tokens[weight.shape[1]], weight)
        if backward:
            for weight in reversed(weights):
                tokens[weight.shape[0]] @ weight

    return work


def seconds_of(work: Callable[[], None], least: float) -> float:
    """Seconds of a call, in the mean of as many as take so long together."""
    n, began = 0, now()
    while (passed := now() - began) < least:
        work()
        n += 1
    return passed / n


def now() -> float:
    """Seconds, when all that was asked of the device is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def choose_library(work: Callable[[], None]) -> None:
    """On CPU torch has two libraries for float32, of which the slower may be the default: take the faster."""
    default, seconds = torch.backends.mkldnn.matmul.fp32_precision, seconds_of(work, LEAST_SECONDS)
    use_onednn()
    if seconds_of(work, LEAST_SECONDS) > seconds:
        torch.backends.mkldnn.matmul.fp32_precision = default


def main() -> None:
    spec = json.loads(sys.argv[1])
    dtype = getattr(torch, spec["dtype"])
    work = pass_over(spec["shapes"], spec["n_tokens"], dtype, backward=spec["backward"])
    if dtype == torch.float32 and not torch.cuda.is_available():
        choose_library(work)
    print("READY", flush=True)
    while sys.stdin.readline():
        print("TOOK", seconds_of(work, LEAST_SECONDS), flush=True)
    print("PEAK", 0, flush=True)


if __name__ == "__main__":
    main()

"""Workers that take turns: processes of their own, each of which does its work once when it is told to.

A worker prints READY, then for each line that it reads "TOOK seconds ...", and "PEAK GiB" when its input ends. One of
them, this module, multiplies matrices of a model's shapes: the speed that nothing which computes the model can exceed.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import torch

from evenhand.cli.doctor.model_size import ModelSize
from evenhand.float32 import use_onednn
from tests.made.places import ROOT

ROUNDS = 3  # that count; one before them warms up
LEAST_SECONDS = 1.0  # of a turn of multiplying


class Worker:
    """A process of its own, as those see it who compare with it."""

    def __init__(self, words: Sequence[str], root: str) -> None:
        self.errors = Path(tempfile.mkdtemp(dir=root)) / "stderr"
        pipe = subprocess.PIPE
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *words], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=errors, text=True
            )
        self.seconds: list[float] = []  # of each turn
        self.optimiser: list[float] = []  # of the optimiser's part, where a turn had one
        self.peak = 0.0

    def heard(self, wanted: str) -> list[str]:
        """The words behind the one that the next line begins with, once that is the wanted one."""
        for line in self.process.stdout:
            word, *others = line.split() or [""]
            if word == wanted:
                return others
        raise RuntimeError(f"a worker ended before it said {wanted}: {self.process.args!r}\n{self.errors.read_text()}")

    def take(self, order: str = "go") -> float:
        """Do the work once; its seconds."""
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        seconds, *optimiser = map(float, self.heard("TOOK"))
        self.seconds.append(seconds)
        self.optimiser += [part for part in optimiser if part]
        return seconds

    def end(self) -> None:
        """Hear of the most memory that it took, and stop it."""
        self.process.stdin.close()
        self.peak = float(self.heard("PEAK")[0])
        self.process.wait()


class Matmul(Worker):
    """A pass over the weights of every block's linear layers, times n_tokens activations; backward: and the gradient
    of those activations as well."""

    def __init__(self, size: ModelSize, n_tokens: int, dtype: str, root: str, *, backward: bool) -> None:
        shapes = list(size.projections.values()) * size.n_layers
        super().__init__(["bench.turns", json.dumps([shapes, n_tokens, dtype, backward])], root)
        self.flops, self.dtype = size.n_linear * 2 * n_tokens * (2 if backward else 1), dtype

    @property
    def speeds(self) -> list[float]:
        """FLOP/s of each turn but the first."""
        return [self.flops / seconds for seconds in self.seconds[1:]]

    def __str__(self) -> str:
        return f"matrix products at {median(self.speeds) / 1e9:.0f} GFLOP/s in {self.dtype}"

    def share(self, flops: float, seconds: Sequence[float], beside: float = 0.0) -> str:
        """The share of that speed which so many operations a turn reach, each turn beside its own measure of it.

        seconds: of each turn, a first one that warms up among them. beside: a turn's part of what is timed apart.
        """
        each = [flops / (turn + beside) / speed for turn, speed in zip(seconds[1:], self.speeds, strict=True)]
        return f"{median(each):.2f} ({min(each):.2f} to {max(each):.2f} in single rounds)"


def race(workers: Sequence[Worker]) -> None:
    """Let all do their work in turn, once more than ROUNDS, and end them."""
    for worker in workers:
        worker.heard("READY")
    for _ in range(1 + ROUNDS):
        for worker in workers:
            worker.take()
    for worker in workers:
        worker.end()


def now() -> float:
    """Seconds, when all that was asked of the device is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def peak_gib() -> float:
    """The most memory that this process has held: of the GPU where there is one."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def seconds_of(work: Callable[[], None]) -> float:
    """Seconds of a call, in the mean of as many as take LEAST_SECONDS together."""
    n, began = 0, now()
    while (passed := now() - began) < LEAST_SECONDS:
        work()
        n += 1
    return passed / n


def main() -> None:
    shapes, n_tokens, name, backward = json.loads(sys.argv[1])
    dtype, device = getattr(torch, name), "cuda" if torch.cuda.is_available() else "cpu"
    # No matrix is met twice in a pass, so that they come from where the model's own come.
    weights = [torch.randn(n_out, n_in, dtype=dtype, device=device) for n_in, n_out in shapes]
    tokens = {n: torch.randn(n_tokens, n, dtype=dtype, device=device) for shape in shapes for n in shape}

    def work() -> None:
        for weight in weights:
            torch.nn.functional.linear(tokens[weight.shape[1]], weight)
        if backward:
            for weight in reversed(weights):
                tokens[weight.shape[0]] @ weight

    if name == "float32" and device == "cpu":  # torch has two libraries for it: take the faster
        default, seconds = torch.backends.mkldnn.matmul.fp32_precision, seconds_of(work)
        use_onednn()
        if seconds_of(work) > seconds:
            torch.backends.mkldnn.matmul.fp32_precision = default
    print("READY", flush=True)
    while sys.stdin.readline():
        print("TOOK", seconds_of(work), flush=True)
    print("PEAK", peak_gib(), flush=True)


if __name__ == "__main__":
    main()

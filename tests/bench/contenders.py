"""Training runs of tests.bench.training: their configs at the paper's settings, and how they take turns."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from tests.made.places import ROOT

SIZE, PARTS = 4, 4  # a step of 16
BF16_FLAGS = {"avx512_bf16", "amx_bf16"}

Tree = dict[str, Any]


def has_bf16() -> bool:
    """Whether this machine computes bf16 in hardware; elsewhere it is several times slower than float32."""
    if torch.cuda.is_available():
        return True
    info = Path("/proc/cpuinfo")
    return info.exists() and not BF16_FLAGS.isdisjoint(info.read_text().split())


def config(method: str, trainer: str, **changes: Any) -> Tree:
    """A run at the paper's settings: ours with what makes it fast, TRL's with gradient checkpointing on NF4."""
    ours = trainer == "verdict"
    bf16 = has_bf16()
    tree: Tree = {
        "method": method,
        "name": "bench",
        "model": {"name": "embedded"},
        "dialdefer": {
            "benchmarks": [{"dataset": "pocket", "split": "train", "n_items": SIZE * PARTS // 2}],
            "prompts": {"template": "published", "conditions": ["c2_correct", "c2_incorrect"]},
        },
        "quantisation": {
            "compute_dtype": "bfloat16" if bf16 else "float32",
            "hold": "dequantised" if ours else "nf4",
        },
        "optimiser": {
            "learning_rate": 2e-4 if method == "sft" else 5e-5,
            "per_device_batch_size": SIZE,
            "gradient_accumulation_steps": PARTS,
            "max_steps": 8,
            "mixed_precision": "bf16" if bf16 else "no",
            "gradient_checkpointing": not ours,
        },
        **({"precompute_reference": ours} if method == "dpo" else {}),
    }
    for key, value in changes.items():
        tree[key] = {**tree.get(key, {}), **value} if isinstance(value, dict) else value
    return tree


class Worker:
    """A process of its own, which does its work once when told to and says how long that took."""

    def __init__(self, words: Sequence[str], root: str) -> None:
        self.errors = Path(tempfile.mkdtemp(dir=root)) / "stderr"
        pipe = subprocess.PIPE
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *words], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=errors, text=True
            )
        self.reference = 0.0  # seconds that DPO's reference took before training
        self.micro: list[float] = []
        self.optimiser: list[float] = []
        self.peak = 0.0

    def heard(self, wanted: str) -> list[str]:
        """The words behind the one that the next line begins with, once that is the wanted one."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            word, *others = line.split() or [""]
            if word == "REFERENCE":
                self.reference = float(others[0])
            if word == wanted:
                return others
        said = self.errors.read_text()[-2000:]
        raise RuntimeError(f"a contender ended before it said {wanted}: {self.process.args!r}\n{said}")

    def tell(self, order: str) -> None:
        """A line to the process."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()

    def take(self, order: str = "go") -> float:
        """Do the work once; its seconds."""
        self.tell(order)
        seconds, *optimiser = map(float, self.heard("TOOK"))
        self.micro.append(seconds)
        self.optimiser += [part for part in optimiser if part]
        return seconds

    def end(self) -> None:
        """Hear of the most memory that it took, and stop it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.peak = float(self.heard("PEAK")[0])
        self.process.wait()


class Contender(Worker):
    """A training run, which takes a microbatch at a time."""

    def __init__(self, tree: Tree, root: str, *, is_trl: bool = False) -> None:
        tree = {**tree, "run": {"root": tempfile.mkdtemp(dir=root)}}
        super().__init__(["tests.bench.training_worker", json.dumps(tree), *["trl"] * is_trl], root)

    def step(self, optimiser: float) -> float:
        """Seconds of a step of 16; optimiser: those of its last part."""
        return PARTS * median(self.micro[1:]) + optimiser


def race(contenders: Sequence[Worker], rounds: int) -> float:
    """Let all do their work in turn, once more than `rounds`; seconds of an optimiser's part, or 0 where none came."""
    for contender in contenders:
        contender.heard("READY")
    for _ in range(1 + rounds):
        for contender in contenders:
            contender.take()
    parts = [seconds for contender in contenders for seconds in contender.optimiser]
    return median(parts) if parts else 0.0


def end(contenders: Sequence[Worker]) -> None:
    """Stop them all."""
    for contender in contenders:
        contender.end()


def ratio(slow: Contender, fast: Contender, optimiser: float) -> str:
    """How many times faster, and the least and the most of a single round."""
    each = [a / b for a, b in zip(slow.micro[1:], fast.micro[1:], strict=True)]
    return f"{slow.step(optimiser) / fast.step(optimiser):.2f} ({min(each):.2f} to {max(each):.2f} in single rounds"

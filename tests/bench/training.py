"""Training at the paper's batch and lengths: ours against TRL as it comes, SFT and DPO.

The embedded model, steps of 16 prompts in 4 x 4 (DialDefer, Tables 35 and 37), dialogues of about 200 tokens. All train
on the same 16 examples, each in a process of its own, a microbatch at a time, in turn with each other. A step is four
times the median microbatch and the optimiser's part.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch
import transformers.trainer
from transformers import TrainerCallback

from evenhand.checkpoints import load_tokenizer, resolve
from tests.made.places import ROOT
from tests.made.stock_trl import train_with_trl
from training import train
from training.config import parse_training_config
from training.data import examples_of, load_data

SIZE, PARTS = 4, 4  # a step of 16
GOALS = {"SFT tokens/s": 2.0, "DPO examples/s": 2.5}
ROUNDS = 3  # that count; one before them warms up

Tree = dict[str, Any]


def has_bf16() -> bool:
    """Whether this machine computes bf16 in hardware; elsewhere it is several times slower than float32."""
    if torch.cuda.is_available():
        return True
    info = Path("/proc/cpuinfo")
    return info.exists() and not {"avx512_bf16", "amx_bf16"}.isdisjoint(info.read_text().split())


def config(method: str, *, is_trl: bool = False) -> Tree:
    """A run at the paper's settings: ours with what makes it fast, TRL's with gradient checkpointing on NF4."""
    dtype, precision = ("bfloat16", "bf16") if has_bf16() else ("float32", "no")
    tree: Tree = {
        "method": method,
        "name": "bench",
        "model": {"name": "embedded"},
        "dialdefer": {
            "benchmarks": [{"dataset": "pocket", "split": "train", "n_items": SIZE * PARTS // 2}],
            "prompts": {"template": "published", "conditions": ["c2_correct", "c2_incorrect"]},
        },
        "quantisation": {"compute_dtype": dtype, "hold": "nf4" if is_trl else "dequantised"},
        "optimiser": {
            "learning_rate": 2e-4 if method == "sft" else 5e-5,
            "per_device_batch_size": SIZE,
            "gradient_accumulation_steps": PARTS,
            "max_steps": 8,
            "mixed_precision": precision,
            "gradient_checkpointing": is_trl,
        },
    }
    return tree | ({"precompute_reference": not is_trl} if method == "dpo" else {})


class Worker:
    """A training run, which takes a microbatch at a time: it prints READY, then for each line that it reads "TOOK" and
    the seconds of the microbatch and of the optimiser, and "PEAK GiB" when its input ends.
    """

    def __init__(self, method: str, root: str, *, is_trl: bool = False) -> None:
        tree = {**config(method, is_trl=is_trl), "run": {"root": tempfile.mkdtemp(dir=root)}}
        words = [sys.executable, "-m", "tests.bench.training", json.dumps(tree), *["trl"] * is_trl]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self.seconds: list[float] = []  # of each microbatch
        self.optimiser: list[float] = []  # of the optimiser's part, where a microbatch was a step's last

    def heard(self, wanted: str) -> list[str]:
        """The words behind the one that the next line begins with, once that is the wanted one."""
        for line in self.process.stdout:
            word, *others = line.split() or [""]
            if word == wanted:
                return others
        raise RuntimeError(f"a worker ended before it said {wanted}: {self.process.args!r}")

    def take(self) -> None:
        """Do a microbatch."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        seconds, optimiser = map(float, self.heard("TOOK"))
        self.seconds.append(seconds)
        self.optimiser += [optimiser] if optimiser else []

    def end(self) -> None:
        """Hear of the most memory that it took, and stop it."""
        self.process.stdin.close()
        self.peak = float(self.heard("PEAK")[0])
        self.process.wait()


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


class Gate(TrainerCallback):
    """Waits before each microbatch until it is told to go on, and says how long the one before took."""

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        print("READY", flush=True)
        self.wait()

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        self.say(now() - self.began, 0.0)

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self.stepped = now()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.say(self.stepped - self.began, now() - self.stepped)

    def say(self, microbatch: float, optimiser: float) -> None:
        print("TOOK", microbatch, optimiser, flush=True)
        self.wait()

    def wait(self) -> None:
        if not sys.stdin.readline().strip():
            print("PEAK", peak_gib(), flush=True)
            os._exit(0)  # what is left of the run is not asked for
        self.began = now()


def work(tree: Tree, *, is_trl: bool) -> None:
    """What a contender does."""
    transformers.trainer.DEFAULT_CALLBACKS.append(Gate)
    (train_with_trl if is_trl else train.train)(parse_training_config(tree, "bench"))


def main() -> None:
    run = parse_training_config(config("sft"), "bench")
    tokenizer = load_tokenizer(resolve(run.model, weights=False))
    lengths = [e.n_tokens for e in examples_of(load_data(run), run, tokenizer)[0]]
    print(f"training, embedded model, {PARTS} x {SIZE} prompts of {min(lengths)} to {max(lengths)} tokens", flush=True)
    with tempfile.TemporaryDirectory() as root:
        of_trl = {method: Worker(method, root, is_trl=True) for method in ("sft", "dpo")}
        ours = {method: Worker(method, root) for method in ("sft", "dpo")}
        workers = [*of_trl.values(), *ours.values()]
        for worker in workers:
            worker.heard("READY")
        for _ in range(1 + ROUNDS):
            for worker in workers:
                worker.take()
        for worker in workers:
            worker.end()
    optimiser = median(seconds for worker in workers for seconds in worker.optimiser)

    def step(worker: Worker) -> float:
        return PARTS * median(worker.seconds[1:]) + optimiser

    for owner, each_method in (("TRL", of_trl), ("ours", ours)):
        for method, worker in each_method.items():
            speed = f"{SIZE * PARTS * mean(lengths) / step(worker):.0f} tokens/s"
            print(f"  {owner} {method.upper()}: {step(worker):.2f} s a step, {speed}, peak {worker.peak:.2f} GiB")
    for (what, goal), method in zip(GOALS.items(), ours, strict=True):
        each = [a / b for a, b in zip(of_trl[method].seconds[1:], ours[method].seconds[1:], strict=True)]
        times = f"{step(of_trl[method]) / step(ours[method]):.2f} ({min(each):.2f} to {max(each):.2f} in single rounds)"
        print(f"{what}, ours / TRL: {times}; goal {goal}")
    print(f"DPO step / SFT step, ours: {step(ours['dpo']) / step(ours['sft']):.2f}; goal at most 1.15", flush=True)


if __name__ == "__main__":
    work(json.loads(sys.argv[1]), is_trl="trl" in sys.argv[2:]) if len(sys.argv) > 1 else main()

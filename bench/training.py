"""Training at the paper's batch and lengths: ours against TRL as it comes, SFT and DPO.

Steps of 16 prompts, dialogues of about 200 tokens. All train on the same 16 examples, a microbatch at a time, in turn
with each other, each in a process of its own. A step is the median microbatch times their number, and the optimiser's
part. A worker prints READY, then for each line that it reads "TOOK seconds ...", and "PEAK GiB" when its input ends.
What `evenhand doctor` foresees of the memory stands beside it.

`make bench ARGS=training` takes the embedded model and the paper's 4 x 4 (DialDefer, Tables 35 and 37);
`python -m bench.training FOLDER 16` another checkpoint, and microbatches of 16; `python -m bench.training replies`
whole replies of a made judge, of some 60 tokens, as targets.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest
import torch
import transformers.trainer
from transformers import TrainerCallback

from bench.stock_trl import train_with_trl
from evenhand import machine
from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.cli.doctor import training as doctor
from evenhand.cli.doctor.machine import device_for
from evenhand.cli.doctor.model import find_model
from evenhand.records import Prompt
from tests.made.places import ROOT
from tests.made.scripted_engine import Answer
from tests.made.written_runs import other, says, written_run
from training import train
from training.config import AnyRun, parse_training_config

STEP = 16  # prompts
GOALS = {"SFT tokens/s": 2.0, "DPO examples/s": 2.5}
REPLIES_GOALS = {"SFT on replies, tokens/s": 1.5, "DPO on replies, examples/s": 1.5}
ROUNDS = 3  # that count; one before them warms up

Tree = dict[str, Any]


def has_bf16() -> bool:
    """Whether this machine computes bf16 in hardware; elsewhere it is several times slower than float32."""
    return torch.cuda.is_available() or bool(machine.has_bf16())


def config(method: str, model: str, size: int, *, is_trl: bool = False) -> Tree:
    """A run at the paper's settings: ours with what makes it fast, TRL's with gradient checkpointing on NF4."""
    dtype, precision = ("bfloat16", "bf16") if has_bf16() else ("float32", "no")
    return {
        "method": method,
        "name": "bench",
        "model": {"name": model},
        "dialdefer": {
            "benchmarks": [{"dataset": "pocket", "split": "train", "n_items": STEP // 2}],
            "prompts": {"template": "published", "conditions": ["c2_correct", "c2_incorrect"]},
        },
        "quantisation": {"compute_dtype": dtype, "weights": "nf4" if is_trl else "dequantised"},
        "optimiser": {
            "learning_rate": 2e-4 if method == "sft" else 5e-5,
            "per_device_batch_size": size,
            "gradient_accumulation_steps": STEP // size,
            "max_steps": 8,
            "mixed_precision": precision,
            "gradient_checkpointing": is_trl,
        },
    }


def on_replies(root: Path) -> Tree:
    """Keys of a run on whole replies that a made judge has written, four to a prompt."""

    def judge(prompt: Prompt) -> list[Answer]:
        right = prompt.factors.label
        why = "It was looked up in two books that do not know of each other, and both of them say the same of it."
        return [
            says(prompt, outcome, f"Note {i}: {why} " * 2)
            for i, outcome in enumerate([right, right, other(right), right])
        ]

    with pytest.MonkeyPatch.context() as patch:
        run, section = written_run(root, judge, patch, n_items=2 * STEP, model="embedded")
    return {"framing": section, "examples": {"replies": str(run), "loss_on_eos": True}}


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


def contender(tree: Tree, root: str, *, is_trl: bool = False) -> Worker:
    """A training run, which takes a microbatch at a time."""
    tree = {**tree, "run": {"root": tempfile.mkdtemp(dir=root)}}
    return Worker(["bench.training", "work", json.dumps(tree), *["trl"] * is_trl], root)


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


def foreseen_gib(run: AnyRun) -> float:
    """The memory that doctor expects a run to take."""
    found, device = find_model(run.model), device_for(doctor.computing_dtype(run), None)
    count = doctor.count_examples(run.load_units(), run, found.tokenizer, device)
    assert found.size is not None
    return sum(doctor.memory_parts(run, found.size, count, device).values())


def main(model: str = "embedded", size: int = 4, replies: Tree | None = None) -> None:
    trees = {is_trl: {m: config(m, model, size, is_trl=is_trl) for m in ("sft", "dpo")} for is_trl in (True, False)}
    for tree in [tree for both in trees.values() for tree in both.values() if replies]:
        del tree["dialdefer"]
        tree |= {**replies, "method": "right_replies" if tree["method"] == "sft" else "dpo"}
    runs: dict[str, AnyRun] = {method: parse_training_config(tree, "bench") for method, tree in trees[False].items()}
    parts = STEP // size
    run = runs["sft"]
    tokenizer = load_tokenizer(resolve(run.model, weights=False))
    lengths = [e.n_tokens for e in run.training.examples(run.load_units(), run, tokenizer)[0]]
    print(f"training, {model}, {parts} x {size} prompts of {min(lengths)} to {max(lengths)} tokens", flush=True)
    with tempfile.TemporaryDirectory() as root:
        of_trl = {method: contender(tree, root, is_trl=True) for method, tree in trees[True].items()}
        ours = {method: contender(tree, root) for method, tree in trees[False].items()}
        race([*of_trl.values(), *ours.values()])
    optimiser = median(seconds for worker in [*of_trl.values(), *ours.values()] for seconds in worker.optimiser)

    def step(worker: Worker) -> float:
        return parts * median(worker.seconds[1:]) + optimiser

    for owner, workers in (("TRL", of_trl), ("ours", ours)):
        for method, worker in workers.items():
            print(
                f"  {owner} {method.upper()}: {step(worker):.2f} s a step, {STEP * mean(lengths) / step(worker):.0f} "
                f"tokens/s, peak {worker.peak:.2f} GiB"
                + (f"; doctor: {foreseen_gib(runs[method]):.2f} GiB" if owner == "ours" else "")
            )
    for (what, goal), method in zip((REPLIES_GOALS if replies else GOALS).items(), runs, strict=True):
        each = [a / b for a, b in zip(of_trl[method].seconds[1:], ours[method].seconds[1:], strict=True)]
        times = f"{step(of_trl[method]) / step(ours[method]):.2f} ({min(each):.2f} to {max(each):.2f} in single rounds)"
        print(f"{what}, ours / TRL: {times}; goal {goal}")
    if not replies:  # of which DPO reads two
        print(f"DPO step / SFT step, ours: {step(ours['dpo']) / step(ours['sft']):.2f}; goal at most 1.15", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work", tree, *trl]:
            work(json.loads(tree), is_trl=bool(trl))
        case []:
            main()
        case ["replies"]:
            with tempfile.TemporaryDirectory() as made:
                main(replies=on_replies(Path(made)))
        case [folder, "1" | "2" | "4" | "8" | "16" as size]:
            main(str(Path(folder).resolve()), int(size))
        case _:
            sys.exit("usage: python -m bench.training [replies | FOLDER 1|2|4|8|16]")

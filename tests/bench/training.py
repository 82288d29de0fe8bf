"""Training at the paper's batch and lengths: ours against TRL as it comes, SFT and DPO.

The embedded model, steps of 16 prompts in 4 x 4 (DialDefer, Tables 35 and 37), dialogues of about 200 tokens. All train
on the same 16 examples, a microbatch at a time, in turn with each other. Each is a process of its own, which keeps its
memory: four of them take 16 GiB. A step is four times the median microbatch and the optimiser's part.

Each is also measured by this machine's speed in multiplying matrices (tests.bench.matmul), which takes turns with them:
the share of it that is reached, counting only operations that a step needs (tests.bench.necessary), TRL's the same as
ours.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean

from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.device_speeds import speeds_for
from evenhand.model_size import ModelSize, model_size
from evenhand.run_directory import read_json
from studies.dialdefer.datasets import load_items
from tests.bench.contenders import PARTS, SIZE, Contender, Tree, config, end, has_bf16, race, ratio
from tests.bench.matmul import Matmul
from tests.bench.necessary import Tokens, training_flops, training_tokens
from training.config import AnyRun, parse_training_config
from training.data import load_data
from training.dialdefer.examples import make_examples
from training.estimate import step_seconds
from training.step_size import step_size

ROUNDS = 3  # that count; one before them warms up
GOAL = 0.6  # of the machine's speed
IN_FLOAT32: Tree = {"quantisation": {"compute_dtype": "float32"}, "optimiser": {"mixed_precision": "no"}}


@dataclass(frozen=True, slots=True)
class Needed:
    """What a microbatch of each method needs."""

    size: ModelSize
    tokens: Mapping[str, Tokens]  # of a method
    n_lora: int

    def estimate(self, method: str, dtype: str) -> float:
        """Seconds of a step, as `evenhand doctor` would say."""
        precision = IN_FLOAT32 if dtype == "float32" else {}
        run = parse_training_config(config(method, "verdict", **precision), "bench")
        step = step_size(load_data(run), run, load_tokenizer(resolve(run.model, weights=False)))
        here = next(speed for speed in speeds_for(dtype, None) if speed.is_here)
        return step_seconds(run, self.size, step, here)

    def flops(self, method: str) -> float:
        return training_flops(self.size, self.tokens[method], self.n_lora)

    def matmul(self, dtype: str, root: str) -> Matmul:
        """What the contenders are measured by."""
        return Matmul(self.size, round(self.tokens["sft"].n), dtype, root, backward=True)


def needed_by_ours() -> Needed:
    """By the runs of tests.bench.contenders."""
    runs: dict[str, AnyRun] = {m: parse_training_config(config(m, "verdict"), "bench") for m in ("sft", "dpo")}
    run = runs["sft"]
    size = model_size(read_json(resolve(run.model, weights=False) / "config.json"))
    tokens = {method: training_tokens(run) for method, run in runs.items()}
    return Needed(size, tokens, size.n_lora(run.lora.r, run.lora.target_modules))


def report_shares(found: Mapping[str, Contender], matmul: Matmul, needed: Needed, optimiser: float) -> None:
    """The share of the machine's speed that each reaches."""
    print(f"share of {matmul}, counting tokens that must be computed; goal {GOAL}:")
    for name, contender in found.items():
        method = name.split()[1].lower()
        flops = needed.flops(method)
        estimate = f", doctor says {needed.estimate(method, matmul.dtype):.2f} s" if name.startswith("ours") else ""
        print(
            f"  {name}: {matmul.share(flops, contender.micro, optimiser / PARTS)}; a step of "
            f"{PARTS * needed.tokens[method].n:.0f} tokens needs {PARTS * flops / 1e9:.0f} GFLOP, "
            f"{PARTS * flops / matmul.speed:.2f} s at that speed, takes {contender.step(optimiser):.2f} s{estimate}"
        )


def in_float32(root: str, needed: Needed) -> None:
    """Shares of ours in float32, which the pocket configs compute in."""
    found = {f"ours {m.upper()}": Contender(config(m, "verdict", **IN_FLOAT32), root) for m in ("sft", "dpo")}
    matmul = needed.matmul("float32", root)
    optimiser = race([*found.values(), matmul], ROUNDS)
    report_shares(found, matmul, needed, optimiser)
    end([*found.values(), matmul])


def against_trl(root: str, n_tokens: float, needed: Needed) -> None:
    """Ours and TRL's, SFT and DPO."""
    found = {
        "TRL SFT": Contender(config("sft", "trl"), root, is_trl=True),
        "ours SFT": Contender(config("sft", "verdict"), root),
        "TRL DPO": Contender(config("dpo", "trl"), root, is_trl=True),
        "ours DPO": Contender(config("dpo", "verdict"), root),
    }
    matmul = needed.matmul("bfloat16" if has_bf16() else "float32", root)
    optimiser = race([*found.values(), matmul], ROUNDS)
    report_shares(found, matmul, needed, optimiser)
    end([*found.values(), matmul])
    for name, contender in found.items():
        step = contender.step(optimiser)
        tokens = f", {SIZE * PARTS * n_tokens / step:.0f} tokens/s" if "SFT" in name else ""
        before = f", reference asked before in {contender.reference:.1f} s" if contender.reference else ""
        print(
            f"  {name}: {step:.1f} s a step, {SIZE * PARTS / step:.2f} examples/s{tokens}, "
            f"peak {contender.peak:.2f} GiB{before}",
            flush=True,
        )
    trl_sft, sft, trl_dpo, dpo = found.values()
    print(f"SFT tokens/s, ours / TRL: {ratio(trl_sft, sft, optimiser)}; goal 2)")
    print(f"DPO examples/s, ours / TRL: {ratio(trl_dpo, dpo, optimiser)}; goal 2.5)")
    print(f"DPO step / SFT step, ours: {ratio(dpo, sft, optimiser)}; goal at most 1.15)")
    whole = trl_dpo.step(optimiser) / (dpo.step(optimiser) + dpo.reference)
    print(f"DPO examples/s, ours / TRL, if our reference pass served a single epoch: {whole:.2f}", flush=True)


def main() -> None:
    began = time.perf_counter()
    run: AnyRun = parse_training_config(config("sft", "verdict"), "bench")
    tokenizer = load_tokenizer(resolve(run.model, weights=False))
    lengths = [example.n_tokens for example in make_examples(load_items(run.study.benchmarks), run, tokenizer)[0]]
    precision = "bf16" if has_bf16() else "float32 on both sides, as this machine computes no bf16"
    print(
        f"training, embedded model, steps of {SIZE * PARTS} in {PARTS} x {SIZE}, prompts of {min(lengths)} to "
        f"{max(lengths)} tokens, LoRA dropout {run.lora.dropout}, {precision}; load average {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as root:
        needed = needed_by_ours()
        against_trl(root, mean(lengths), needed)
        if has_bf16():
            in_float32(root, needed)
    print(f"training bench: {(time.perf_counter() - began) / 60:.0f} min", flush=True)


if __name__ == "__main__":
    main()

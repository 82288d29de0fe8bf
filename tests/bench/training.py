"""Training at the paper's batch and lengths: ours against TRL as it comes, SFT and DPO, and what each trick brings.

The embedded model, steps of 16 prompts in 4 x 4 (DialDefer, Tables 35 and 37), dialogues of about 200 tokens. All train
on the same 16 examples, a micro-batch at a time, in turn with each other. Each is a process of its own, which keeps its
memory: four of them take 16 GiB. A step is four times the median micro-batch and the optimiser's part.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from statistics import mean

from benchmarks.checkpoints import load_tokenizer, resolve
from benchmarks.sources import load_items
from tests.bench.contenders import PARTS, SIZE, Contender, Tree, config, has_bf16, race, ratio
from training.config import METHODS, AnyRun
from training.examples import make_examples

AGAINST_TRL, OF_TRICKS = 3, 2  # rounds that count; one before them warms up

Other = tuple[Tree, tuple[str, ...]]  # a run's config, and tricks to do without that have no key in it


def against_trl(root: str, n_tokens: float) -> float:
    """Ours and TRL's, SFT and DPO; seconds of an optimiser's part."""
    found = {
        "TRL SFT": Contender(config("sft", "trl"), root),
        "ours SFT": Contender(config("sft", "verdict"), root),
        "TRL DPO": Contender(config("dpo", "trl"), root),
        "ours DPO": Contender(config("dpo", "verdict"), root),
    }
    optimiser = race([*found.values()], AGAINST_TRL)
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
    return optimiser


def over_ours(method: str, others: Mapping[str, Other], root: str, optimiser: float) -> None:
    """What a step takes in other ways, over what it takes in ours."""
    ours = Contender(config(method, "verdict"), root)
    found = {name: Contender(tree, root, without) for name, (tree, without) in others.items()}
    race([ours, *found.values()], OF_TRICKS)
    print(f"against ours {method.upper()}, {ours.step(optimiser):.1f} s a step, peak {ours.peak:.2f} GiB:")
    for name, contender in found.items():
        before = f", reference asked before in {contender.reference:.1f} s" if contender.reference else ""
        print(
            f"  {name}: time x {ratio(contender, ours, optimiser)}), peak {contender.peak:.2f} GiB{before}", flush=True
        )


def main() -> None:
    began = time.perf_counter()
    run: AnyRun = METHODS["sft"].model_validate(config("sft", "verdict"))
    tokenizer = load_tokenizer(resolve(run.model, weights=False))
    lengths = [example.n_tokens for example in make_examples(load_items(run.benchmarks), run, tokenizer)[0]]
    precision = "bf16" if has_bf16() else "float32 on both sides, as this machine computes no bf16"
    print(
        f"training, embedded model, steps of {SIZE * PARTS} in {PARTS} x {SIZE}, prompts of {min(lengths)} to "
        f"{max(lengths)} tokens, LoRA dropout {run.lora.dropout}, {precision}; load average {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    nf4 = config("sft", "verdict", quantisation={"hold": "nf4"})
    checkpointing = config("sft", "verdict", optimiser={"gradient_checkpointing": True})
    together = config("sft", "verdict", optimiser={"order": "whole_items"})
    with tempfile.TemporaryDirectory() as root:
        optimiser = against_trl(root, mean(lengths))
        others: dict[str, Other] = {
            "weights dequantised in every pass": (nf4, ()),
            "with gradient checkpointing": (checkpointing, ()),
        }
        over_ours("sft", others, root, optimiser)
        others = {
            "all positions through the head": (config("sft", "verdict"), ("head",)),
            "torch's dropout": (config("sft", "verdict"), ("dropout",)),
            "a row for each prompt": (config("sft", "verdict", optimiser={"row_tokens": 0}), ()),
            "an item's prompts in one micro-batch (order: whole_items, another order of examples)": (together, ()),
        }
        over_ours("sft", others, root, optimiser)
        others = {
            "a row for each answer": (config("dpo", "verdict"), ("one row",)),
            "the reference asked in every step": (config("dpo", "verdict", precompute_reference=False), ()),
            "TRL with its reference precomputed": (config("dpo", "trl", precompute_reference=True), ()),
        }
        over_ours("dpo", others, root, optimiser)
    print(f"training bench: {(time.perf_counter() - began) / 60:.0f} min", flush=True)


if __name__ == "__main__":
    main()

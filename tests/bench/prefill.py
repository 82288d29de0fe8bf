"""Margins by one prefill: the share of this machine's speed in matrix products that each engine reaches.

Ours through vLLM, bare vLLM over the same token ids, and our transformers engine ask the same prompts in turn with a
pass over the model's matrices (tests.bench.matmul). Counted for all of them are the tokens that vLLM's prefix cache did
not serve, and the head at the end of each prompt.
"""

import json
import tempfile
from statistics import median

from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.device_speeds import speeds_for
from evenhand.model_size import ModelSize, model_size
from evenhand.run_directory import read_json
from inference.config import InferenceConfig
from inference.estimate import seconds as estimated_seconds
from inference.run_size import run_size
from inference.schedule import first_prompts
from tests.bench.contenders import Worker
from tests.bench.matmul import Matmul
from tests.bench.necessary import prefill_flops, prompt_tokens

ROUNDS = 3  # that count; one before them warms up
GOAL = 0.7
BATCH_TOKENS = 4096  # of a forward pass: what vLLM takes on CPU at once


def worker(settings: InferenceConfig, root: str) -> Worker:
    """An engine in a process of its own."""
    return Worker(["tests.bench.prefill_worker", settings.model_dump_json()], root)


def race(vllm: InferenceConfig, transformers: InferenceConfig) -> float:
    """Print the share that each reaches; seconds of ours through vLLM. Both configs ask the same margins."""
    assert vllm.engine.kind == "vllm"
    dtype = vllm.engine.dtype
    size = model_size(read_json(resolve(vllm.model, weights=False) / "config.json"))
    with tempfile.TemporaryDirectory() as root:
        served, plain = worker(vllm, root), worker(transformers, root)
        matmul = Matmul(size, BATCH_TOKENS, dtype, root, backward=False)
        for one in (served, plain, matmul):
            one.heard("READY")
        seconds: dict[str, list[float]] = {"ours, vLLM": [], "bare vLLM": [], "ours, transformers": []}
        for _ in range(1 + ROUNDS):
            seconds["ours, vLLM"].append(served.take("ours"))
            seconds["bare vLLM"].append(served.take("bare"))
            lengths = json.loads(" ".join(served.heard("CACHED")))
            seconds["ours, transformers"].append(plain.take("ours"))
            matmul.take()
        for one in (served, plain, matmul):
            one.end()
    tokens = prompt_tokens([(length, cached) for length, cached in lengths])
    flops = prefill_flops(size, tokens)
    n_tokens = sum(length for length, _ in lengths)
    print(
        f"margins of {len(lengths)} prompts, {n_tokens:,} tokens, {tokens.n:,.0f} of them not "
        f"served by vLLM's prefix cache: {flops / 1e9:.0f} GFLOP, {flops / matmul.speed:.2f} s at {matmul}"
    )
    print(f"share of that speed, goal {GOAL}:")
    estimates = {"ours, vLLM": estimate(vllm, size, dtype), "ours, transformers": estimate(transformers, size, dtype)}
    for name, taken in seconds.items():
        beside = f", doctor says {estimates[name]:.2f} s" if name in estimates else ""
        print(f"  {name}: {matmul.share(flops, taken)}, {median(taken[1:]):.2f} s{beside}", flush=True)
    return median(seconds["ours, vLLM"][1:])


def estimate(settings: InferenceConfig, size: ModelSize, dtype: str) -> float:
    """Seconds of the prompts, as `evenhand doctor` would say."""
    work = run_size(first_prompts(settings), settings, load_tokenizer(resolve(settings.model, weights=False)))
    here = next(speed for speed in speeds_for(dtype, None) if speed.is_here)
    return estimated_seconds(settings, size, work, here)[1]

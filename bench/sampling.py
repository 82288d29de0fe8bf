"""Our sampling against a bare LLM.chat over the same prompts, vLLM against generate, margins against reasoning.

Margins are one prefill: ours through vLLM, bare vLLM over the same token ids, and our transformers engine ask the same
prompts in turn with matrix products. Counted for all are the tokens that vLLM's prefix cache did not serve.
"""

import json
import sys
import tempfile
import time
from statistics import median
from typing import Any

from bench.necessary import prefill_flops, prompt_tokens
from bench.training import has_bf16
from bench.turns import ROUNDS, Matmul, Worker, now, peak_gib
from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.cli.doctor.model_size import model_size
from evenhand.run_directory import read_json
from inference.config import InferenceConfig
from inference.encoding import Encoder
from inference.open_engine import open_engine
from inference.schedule import first_prompts, in_prefix_order
from tests.made.sampling_configs import sampling_config

N_ITEMS = 24  # × 4 conditions
N_GENERATE = 4  # items for transformers' generate, which is slow
MAX_TOKENS = 120
CHAT_GOAL, SHARE_GOAL = 0.97, 0.7
BATCH_TOKENS = 4096  # of a forward pass: what vLLM takes on CPU at once
ENGINES: dict[str, dict[str, Any]] = {
    "vllm": {"enforce_eager": True, "max_model_len": 2048, "block_size": 32, "max_num_seqs": 64},
    "transformers": {"batch_size": 16},
}


def config(kind: str, verdict: str, n_items: int = N_ITEMS) -> InferenceConfig:
    return sampling_config(
        {
            "name": "bench",
            "model": {"name": "embedded"},
            "benchmarks": [{"dataset": "pocket", "n_items": n_items}],
            "prompts": {"template": "published"},
            "verdict": verdict,
            "sampling": {"max_tokens": MAX_TOKENS},
            "engine": {"kind": kind, "dtype": "bfloat16" if has_bf16() else "float32", **ENGINES[kind]},
        }
    )


def against_bare(engine: Any) -> float:
    """A B A B on one engine, prefix cache emptied before each; ours / bare output tokens a second."""
    from vllm import SamplingParams

    prompts = in_prefix_order(first_prompts(config("vllm", "reason")))
    chats = [[{"role": m.role, "content": m.content} for m in p.messages] for p in prompts]
    settings, ratios = SamplingParams(temperature=0.0, max_tokens=MAX_TOKENS), []
    engine.llm.chat(chats, settings, use_tqdm=False)  # warm-up
    for _ in range(ROUNDS):
        rates = []
        for is_ours in (True, False):
            engine.llm.reset_prefix_cache()
            began = time.perf_counter()
            if is_ours:
                n_tokens = sum(c.completion_tokens or 0 for c in engine.generate(prompts))
            else:
                outputs = engine.llm.chat(chats, settings, use_tqdm=False)
                n_tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
            rates.append(n_tokens / (time.perf_counter() - began))
        ratios.append(rates[0] / rates[1])
    return median(ratios)


def verdicts_per_second(engine: Any, settings: InferenceConfig) -> float:
    """Of an engine over all prompts of a config, prefix cache empty."""
    prompts = in_prefix_order(first_prompts(settings))
    if hasattr(engine, "llm"):
        engine.llm.reset_prefix_cache()
    began = time.perf_counter()
    return len(list(engine.generate(prompts))) / (time.perf_counter() - began)


def margins() -> float:
    """Print the share of the machine's speed that each engine reaches; margins a second of ours through vLLM."""
    vllm, plain = config("vllm", "margin"), config("transformers", "margin")
    size = model_size(read_json(resolve(vllm.model, weights=False) / "config.json"))
    seconds: dict[str, list[float]] = {"ours, vLLM": [], "bare vLLM": [], "ours, transformers": []}
    with tempfile.TemporaryDirectory() as root:
        served, alone = (Worker(["bench.sampling", settings.model_dump_json()], root) for settings in (vllm, plain))
        matmul = Matmul(size, BATCH_TOKENS, vllm.engine.dtype, root, backward=False)
        for worker in (served, alone, matmul):
            worker.heard("READY")
        for _ in range(1 + ROUNDS):
            seconds["ours, vLLM"].append(served.take("ours"))
            seconds["bare vLLM"].append(served.take("bare"))
            lengths = json.loads(" ".join(served.heard("CACHED")))
            seconds["ours, transformers"].append(alone.take("ours"))
            matmul.take()
        for worker in (served, alone, matmul):
            worker.end()
    flops = prefill_flops(size, prompt_tokens(lengths))
    print(f"share of {matmul}, margins of {len(lengths)} prompts; goal {SHARE_GOAL}:")
    for name, taken in seconds.items():
        print(f"  {name}: {matmul.share(flops, taken)}, {median(taken[1:]):.2f} s", flush=True)
    return len(lengths) / median(seconds["ours, vLLM"][1:])


def work(settings: InferenceConfig) -> None:
    """An engine that reads margins of the same prompts at each "ours", and at "bare" makes one token behind the same
    token ids by vllm.LLM.generate."""
    prompts = in_prefix_order(first_prompts(settings))
    encoded = Encoder(load_tokenizer(resolve(settings.model)), settings).encode(prompts)
    token_ids = [one.token_ids for one in encoded]
    with open_engine(settings) as engine:
        llm = getattr(engine, "llm", None)
        print("READY", flush=True)
        while order := sys.stdin.readline().strip():
            if llm:
                llm.reset_prefix_cache()
            began = now()
            cached = bare(llm, token_ids) if order == "bare" else [0 for _ in engine.generate(prompts)]
            print("TOOK", now() - began, flush=True)
            if order == "bare":
                print(
                    "CACHED", json.dumps([[len(ids), n] for ids, n in zip(token_ids, cached, strict=True)]), flush=True
                )
        print("PEAK", peak_gib(), flush=True)


def bare(llm: Any, token_ids: list[list[int]]) -> list[int]:
    """One token behind each prompt; how many of a prompt's tokens its prefix cache served."""
    from vllm import SamplingParams

    settings = SamplingParams(temperature=0.0, max_tokens=1, detokenize=False)
    outputs = llm.generate([{"prompt_token_ids": ids} for ids in token_ids], settings, use_tqdm=False)
    return [output.num_cached_tokens for output in outputs]


def main() -> None:
    few = config("vllm", "reason", N_GENERATE)
    with open_engine(config("vllm", "reason")) as engine:
        print(f"sampling, ours / bare LLM.chat: {against_bare(engine):.3f} (goal {CHAT_GOAL})", flush=True)
        by_reason, by_few = (verdicts_per_second(engine, asked) for asked in (config("vllm", "reason"), few))
    by_margin = margins()
    print(
        f"verdicts/s: margin {by_margin:.1f}, reasoning {by_reason:.2f}, ratio {by_margin / by_reason:.1f}", flush=True
    )
    slow = config("transformers", "reason", N_GENERATE)
    with open_engine(slow) as engine:
        print(f"vLLM / transformers generate: {by_few / verdicts_per_second(engine, slow):.1f}", flush=True)


if __name__ == "__main__":
    work(sampling_config(json.loads(sys.argv[1]))) if len(sys.argv) > 1 else main()

"""Our sampling against a bare LLM.chat over the same prompts, vLLM against generate, margins against reasoning."""

import time
from statistics import median
from typing import Any

from bench.training import ROUNDS, has_bf16
from inference.config import InferenceConfig
from inference.engine import open_engine
from inference.schedule import first_prompts, in_prefix_order
from tests.made.sampling_configs import sampling_config

N_ITEMS = 24  # × 4 conditions
N_GENERATE = 4  # items for transformers' generate, which is slow
MAX_TOKENS = 120
CHAT_GOAL = 0.97
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


def main() -> None:
    few = config("vllm", "reason", N_GENERATE)
    with open_engine(config("vllm", "reason")) as engine:
        print(f"sampling, ours / bare LLM.chat: {against_bare(engine):.3f} (goal {CHAT_GOAL})", flush=True)
        by_reason, by_few = (verdicts_per_second(engine, asked) for asked in (config("vllm", "reason"), few))
    with open_engine(config("vllm", "margin")) as engine:
        by_margin = verdicts_per_second(engine, config("vllm", "margin"))
    print(
        f"verdicts/s: margin {by_margin:.1f}, reasoning {by_reason:.2f}, ratio {by_margin / by_reason:.1f}", flush=True
    )
    slow = config("transformers", "reason", N_GENERATE)
    with open_engine(slow) as engine:
        print(f"vLLM / transformers generate: {by_few / verdicts_per_second(engine, slow):.1f}", flush=True)


if __name__ == "__main__":
    main()

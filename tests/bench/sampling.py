"""Our sampling against a bare LLM.chat over the same prompts, vLLM against generate, margins against reasoning.

Margins are measured by this machine's speed in multiplying matrices, see tests.bench.prefill.
"""

import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from evenhand.completions import Answers
from inference.config import InferenceConfig
from inference.open_engine import open_engine
from inference.schedule import Schedule, first_prompts
from tests.bench import prefill
from tests.bench.collected import collect_into
from tests.bench.contenders import has_bf16
from tests.made.read_back import completions_of
from tests.made.sampling_configs import sampling_config

N_ITEMS = 24  # × 4 conditions
N_GENERATE = 4  # items for transformers' generate, which is slow
MAX_TOKENS = 120
ROUNDS = 3


def config(kind: str, verdict: str, n_items: int) -> InferenceConfig:
    dtype = "bfloat16" if has_bf16() else "float32"
    engines: dict[str, dict[str, Any]] = {
        "vllm": {"enforce_eager": True, "max_model_len": 2048, "block_size": 32, "max_num_seqs": 64},
        "transformers": {"batch_size": 16},
    }
    return sampling_config(
        {
            "name": "bench",
            "model": {"name": "embedded"},
            "benchmarks": [{"dataset": "pocket", "n_items": n_items}],
            "prompts": {"template": "published"},
            "verdict": verdict,
            "sampling": {"max_tokens": MAX_TOKENS},
            "engine": {"kind": kind, "dtype": dtype, **engines[kind]},
        }
    )


def timed(work: Callable[[], int]) -> tuple[float, int]:
    """(seconds, what the work counted)."""
    started = time.perf_counter()
    count = work()
    return time.perf_counter() - started, count


def ours_against_bare(engine: Any, settings: InferenceConfig) -> None:
    """A B A B on one and the same engine, prefix cache emptied before each; ratio of output tokens per second."""
    from vllm import SamplingParams

    prompts = first_prompts(settings)
    chats = [[{"role": m.role, "content": m.content} for m in p.messages] for p in prompts]

    def ours() -> int:
        with tempfile.TemporaryDirectory() as folder:
            asked = Schedule(
                settings.study.units(settings.verdict).units, Answers(keeps_replies=False), settings.sampling
            )
            asked.due()
            path = collect_into(folder, engine, prompts, asked, settings)
            return sum(c.completion_tokens or 0 for c in completions_of(path).values())

    def bare() -> int:
        outputs = engine.llm.chat(chats, SamplingParams(temperature=0.0, max_tokens=MAX_TOKENS), use_tqdm=False)
        return sum(len(o.outputs[0].token_ids) for o in outputs)

    ratios = []
    bare()  # warm-up
    for _ in range(ROUNDS):
        engine.llm.reset_prefix_cache()
        our_seconds, our_tokens = timed(ours)
        engine.llm.reset_prefix_cache()
        bare_seconds, tokens = timed(bare)
        our_rate, bare_rate = our_tokens / our_seconds, tokens / bare_seconds
        ratios.append(our_rate / bare_rate)
        print(
            f"  ours {our_rate:.0f} tok/s ({our_tokens} tokens), bare LLM.chat {bare_rate:.0f} tok/s ({tokens} tokens)"
        )
    print(f"sampling, ours / bare LLM.chat: {median(ratios):.3f} (median of {ROUNDS}; goal 0.97)", flush=True)


def verdicts_per_second(engine: Any, settings: InferenceConfig) -> float:
    """Verdicts per second of an engine over all prompts of a config, prefix cache empty."""
    prompts = first_prompts(settings)
    if hasattr(engine, "llm"):
        engine.llm.reset_prefix_cache()
    seconds, count = timed(lambda: len(list(engine.generate(prompts))))
    return count / seconds


def main() -> None:
    reason, margin = config("vllm", "reason", N_ITEMS), config("vllm", "margin", N_ITEMS)
    with open_engine(reason) as engine:
        ours_against_bare(engine, reason)
        by_reason = verdicts_per_second(engine, reason)
        few = verdicts_per_second(engine, config("vllm", "reason", N_GENERATE))
    by_margin = len(first_prompts(margin)) / prefill.race(margin, config("transformers", "margin", N_ITEMS))
    print(
        f"verdicts/s: margin {by_margin:.1f}, reasoning {by_reason:.2f}, ratio {by_margin / by_reason:.1f}", flush=True
    )
    slow = config("transformers", "reason", N_GENERATE)
    with open_engine(slow) as engine:
        plain = verdicts_per_second(engine, slow)
    print(
        f"vLLM / transformers generate, same {4 * N_GENERATE} prompts, {MAX_TOKENS} tokens: {few / plain:.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()

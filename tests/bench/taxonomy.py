"""The flip taxonomy: flips judged per second against a bare LLM.chat over the same prompts, and the codebook's reuse.

Both are held to the codes' grammar, on one engine, with an empty prefix cache, in turns. First without a model: what a
prefix cache would serve of the order in which we ask.
"""

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from evenhand.completions import Answers, read_answers
from inference.config import InferenceConfig, load_sampling_config
from inference.open_engine import open_engine
from inference.schedule import Schedule, first_prompts, in_prefix_order
from studies.flips import Flip
from studies.taxonomy.prompts import schema
from studies.taxonomy.section import MAX_TOKENS
from tests.bench.collected import collect_into
from tests.bench.narrator import BLOCKS, counted_cache, report, requests, shuffled
from tests.bench.pluraleval import TEXT, told_share
from tests.made.places import CONFIGS
from tests.made.taxonomy_runs import flip, flips_folder

N_FLIPS = 48
N_PLANNED = 512  # of which no model is asked
N_WORDS = 60  # of a reason
ROUNDS = 3
GOAL = 0.97


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        planned(settings_of(Path(folder) / "many", N_PLANNED))
        timed(settings_of(Path(folder) / "few", N_FLIPS))


def settings_of(folder: Path, n_flips: int) -> InferenceConfig:
    """The shipped config over flips with made reasons."""
    draws = random.Random(0)

    def made(number: int) -> Flip:
        question, claim, *reasons = (" ".join(draws.choices(TEXT.split(), k=n)) for n in (20, 8, N_WORDS, N_WORDS))
        plain = flip(number, question=question, claim=claim)
        first, second = (replace(of, reason=r) for of, r in zip((plain.first, plain.second), reasons, strict=True))
        return replace(plain, first=first, second=second)

    flips_folder(folder, [made(number) for number in range(n_flips)])
    return load_sampling_config([str(CONFIGS / "taxonomy" / "pocket.yaml"), f"taxonomy.flips={folder}"])


def planned(settings: InferenceConfig) -> None:
    """What a prefix cache serves of the requests, by its size."""
    prompts = first_prompts(settings)
    print(f"taxonomy, the requests of {len(prompts)} flips")
    ordered, unordered = requests(in_prefix_order(prompts), settings), requests(shuffled(prompts), settings)
    for block in BLOCKS:
        report(ordered, unordered, block)


def timed(settings: InferenceConfig) -> None:
    """Ours, bare, ours, bare; then what vLLM says that its cache served."""
    prompts = in_prefix_order(first_prompts(settings))
    with open_engine(settings) as engine:
        ways = {"ours": lambda: ours(engine, settings), "bare LLM.chat": lambda: bare(engine, settings)}
        ways["bare LLM.chat"]()  # warm-up
        ratios = []
        for _ in range(ROUNDS):
            rates = {name: rate(engine, way) for name, way in ways.items()}
            ratios.append(rates["ours"] / rates["bare LLM.chat"])
            print("  " + ", ".join(f"{name} {of:.2f} flips/s" for name, of in rates.items()), flush=True)
        print(f"taxonomy, ours / bare LLM.chat: {median(ratios):.3f} (median of {ROUNDS}; goal {GOAL})", flush=True)
        with counted_cache(engine) as served:
            list(engine.generate(prompts))
        told_share("taxonomy", served, prompts, settings)


def rate(engine: Any, way: Callable[[], int]) -> float:
    """Flips judged per second, the prefix cache empty at first."""
    engine.llm.reset_prefix_cache()
    started = time.perf_counter()
    n = way()
    return n / (time.perf_counter() - started)


def ours(engine: Any, settings: InferenceConfig) -> int:
    """As a run asks, with its shards on disk."""
    with tempfile.TemporaryDirectory() as folder:
        asked = Schedule(settings.study.units(settings.verdict).units, Answers(keeps_replies=False), settings.sampling)
        return len(read_answers(collect_into(folder, engine, asked.due(), asked, settings)).replies)


def bare(engine: Any, settings: InferenceConfig) -> int:
    """The same chats through vLLM alone."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    chats = [[{"role": m.role, "content": m.content} for m in prompt.messages] for prompt in first_prompts(settings)]
    grammar = StructuredOutputsParams(json=schema())
    sampling = SamplingParams(temperature=0.0, max_tokens=MAX_TOKENS, structured_outputs=grammar)
    return len(engine.llm.chat(chats, sampling, use_tqdm=False))


if __name__ == "__main__":
    main()

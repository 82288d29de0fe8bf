"""PluralEval: reference sets of many threads at once against one thread after the other, and the prefix cache's share.

A scripted judge answers, so that both ways do the same work and no thread ends early. The stub engine takes one of
BATCH_S for a batch of up to ROOM prompts, whatever is in it. vLLM computes N_TOKENS tokens of a reply to each prompt
with the embedded model, and the scripted judge's reply takes their place. Its summaries change with each new member,
which is the worst case for the prefix cache.
"""

import json
import random
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from functools import partial
from io import StringIO
from statistics import fmean
from typing import Any

from evenhand.completions import Answers
from evenhand.records import Completion, Prompt
from inference.config import InferenceConfig, load_sampling_config
from inference.engine import Further, nothing_further
from inference.open_engine import open_engine
from inference.schedule import Schedule, first_prompts, in_prefix_order
from studies.pluraleval.records import Comment, Thread
from studies.pluraleval.reference_sets import ReferenceSettings, reference_unit
from tests.bench.collected import collect_into
from tests.bench.narrator import BLOCKS, GOAL, counted_cache, distinct, n_shareable, report, requests, shuffled
from tests.made.made_threads import by_letter
from tests.made.places import CONFIGS

FOLDER = CONFIGS / "pluraleval"
N_THREADS = 64
ROOM = 64  # prompts in a batch of the stub
BATCH_S = (0.005, 0.04)  # the stub's times for a batch: one step of an engine; the eight of a reply of as many tokens
SPEEDUP_GOAL = 5
N_TIMED = 6  # threads through vLLM, of at most LONGEST_TIMED comments
LONGEST_TIMED = 5
N_TOKENS = 8  # of each reply through vLLM
N_JUDGEMENTS = 200
TEXT = (
    "people should pay for what they use and nobody has to agree with the rules of a town that never asked them "
    "before it raised rents while wages stood still over many years of promises about houses trains schools"
)


def main() -> None:
    settings = load_sampling_config(
        [str(FOLDER / "pocket-references.yaml"), "sampling.structured=none", "run.shard_size=256"]
    )
    stub(settings)
    vllm(settings)


def made_threads(n: int, longest: int = 24) -> list[Thread]:
    """Threads of 4 to `longest` comments with an opinion each, whose first letter says which ones are paraphrases."""
    draws = random.Random(0)

    def words(n_words: int) -> str:
        return " ".join(draws.choices(TEXT.split(), k=n_words))

    return [
        Thread(
            thread_id=f"made-{number}",
            dataset="made",
            community="made",
            title=words(12),
            text=words(120),
            comments=tuple(
                Comment(text=f"{draws.choice('abcdef')} {words(14)}", score=draws.randrange(-3, 50))
                for _ in range(draws.randrange(4, longest + 1))
            ),
        )
        for number in range(n)
    ]


def judge(prompt: Prompt) -> str:
    """By first letters; a cluster's summary is its last member."""
    if prompt.factors.step != "summary":
        return by_letter(prompt)
    texts: list[str] = json.loads(prompt.messages[-1].content)
    return texts[-1]


class Stub:
    """An engine with room for ROOM prompts that takes so many seconds for all of them."""

    def __init__(self, batch_s: float) -> None:
        self.batch_s = batch_s
        self.asked: list[Prompt] = []
        self.n_batches = 0

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        waiting = deque(prompts)
        while True:
            waiting.extend(further())
            batch = [waiting.popleft() for _ in range(min(ROOM, len(waiting)))]
            if not batch:
                return
            time.sleep(self.batch_s)
            self.n_batches += 1
            self.asked += batch
            for prompt in batch:
                yield reply_of(prompt)


def reply_of(prompt: Prompt) -> Completion:
    """The scripted judge's."""
    return Completion(prompt_hash=prompt.prompt_hash, sample_index=0, text=judge(prompt), finish_reason="stop")


class Timed:
    """vLLM, which computes N_TOKENS tokens of each reply; the scripted judge's take their place."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.asked: list[Prompt] = []

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        asked: dict[str, Prompt] = {}

        def shortened(found: Sequence[Prompt]) -> list[Prompt]:
            short = [replace(one, drawing=replace(one.drawing, max_tokens=N_TOKENS)) for one in found]
            asked.update((one.prompt_hash, prompt) for one, prompt in zip(short, found, strict=True))
            self.asked += found
            return short

        for completion in self.engine.generate(shortened(prompts), lambda: shortened(further())):
            yield reply_of(asked[completion.prompt_hash])


def seconds_for(engine: Any, threads: Sequence[Thread], settings: InferenceConfig) -> float:
    """Of the reference sets of these threads, asked together as a run asks."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        units = [reference_unit(one, ReferenceSettings()) for one in threads]
        asked = Schedule(units, Answers(), settings.sampling)
        with redirect_stderr(StringIO()):  # a bar of progress for each thread
            collect_into(folder, engine, asked.due(), asked, settings)
        seconds = time.perf_counter() - started
    assert not asked.waiting
    return seconds


def side_by_side(
    fresh: Callable[[], Any], threads: Sequence[Thread], settings: InferenceConfig, words: str
) -> tuple[Any, float]:
    """All at once, one after the other, all at once again: an engine as it was after all at once, and the mean seconds.

    fresh: gives an engine that has computed nothing yet.
    """
    first, together = fresh(), list[float]()
    together.append(seconds_for(first, threads, settings))
    each = fresh()
    alone = sum(seconds_for(each, [one], settings) for one in threads)
    together.append(seconds_for(fresh(), threads, settings))
    print(
        f"{words}, {len(threads)} threads: one after the other {alone:.1f} s, at once {together[0]:.1f} and "
        f"{together[1]:.1f} s, ratio {alone / fmean(together):.1f} (goal {SPEEDUP_GOAL})",
        flush=True,
    )
    return first, fmean(together)


def stub(settings: InferenceConfig) -> None:
    """The stub engine's ratios, and what a prefix cache would serve of the order in which it was asked."""
    threads = made_threads(N_THREADS)
    for batch_s in BATCH_S:
        words = f"reference sets, stub of {1000 * batch_s:.0f} ms a batch of {ROOM}"
        engine, seconds = side_by_side(partial(Stub, batch_s), threads, settings, words)
        n_prompts, ours = len(engine.asked), seconds - engine.n_batches * batch_s
        print(f"  at once: {engine.n_batches} batches of {n_prompts:,} prompts; {ours:.1f} s are ours", flush=True)
    ordered, unordered = requests(engine.asked, settings), requests(shuffled(engine.asked), settings)
    for block in BLOCKS:
        report(ordered, unordered, block)


def vllm(settings: InferenceConfig) -> None:
    """The same ratio of fewer and shorter threads through vLLM, and what its prefix cache served."""
    threads = made_threads(N_TIMED, LONGEST_TIMED)
    with open_engine(settings) as engine:

        def fresh() -> Timed:
            engine.llm.reset_prefix_cache()
            return Timed(engine)

        seconds_for(fresh(), threads[:1], settings)  # warm-up
        side_by_side(fresh, threads, settings, f"reference sets, vLLM, {N_TOKENS} tokens a reply")
        timed = fresh()
        with counted_cache(engine) as served:
            seconds_for(timed, threads, settings)
        told_share("reference sets", served, timed.asked, settings)
        prompts = judgements()
        with counted_cache(engine) as served:
            list(engine.generate([replace(one, drawing=replace(one.drawing, max_tokens=1)) for one in prompts]))
        told_share("judgements", served, prompts, settings)


def judgements() -> list[Prompt]:
    """Stance and entailment of our own responses, in the order in which they are asked."""
    config = load_sampling_config([str(FOLDER / "pocket-judgements.yaml")])
    return in_prefix_order(distinct(first_prompts(config)))[:N_JUDGEMENTS]


def told_share(words: str, served: Sequence[int], asked: Sequence[Prompt], settings: InferenceConfig) -> None:
    """What vLLM says that its cache served, against the best."""
    asked_ids = requests(asked, settings)
    n_tokens, best = sum(map(len, asked_ids)), n_shareable(asked_ids, BLOCKS[-1])
    share = sum(served) / n_tokens
    print(
        f"{words}, vLLM's prefix cache: {len(served)} requests, {n_tokens:,} tokens, served {share:.1%} "
        f"= {sum(served) / best:.3f} of the best (goal {GOAL})",
        flush=True,
    )


if __name__ == "__main__":
    main()

"""The narrator study: prompt tokens served from the prefix cache against the best possible, and conversations a second.

The first part runs no model: the requests of configs/narrator/pocket*.yaml, with the embedded model's tokenizer, go
through a made cache of whole blocks with vLLM's rules (the last token of a request is always computed, the blocks
used longest ago go first). Best possible is a trie over token blocks: every block that an earlier request had.
The second part asks vLLM, and prints beside the time of the exact way what vLLM says that its cache served.
"""

import random
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.records import Prompt
from inference.config import InferenceConfig, load_sampling_config
from inference.encoding import Encoder
from inference.open_engine import open_engine
from inference.options import nodes
from inference.schedule import first_prompts, in_prefix_order
from tests.made.places import CONFIGS

FOLDER = CONFIGS / "narrator"
BLOCKS = (16, 32)  # tokens: vLLM's block on CUDA, and the pocket configs'
CAPACITIES = (None, 90_000, 20_000, 5_000)  # tokens the cache holds; 90,000 are 2 GiB of the embedded model
GOAL = 0.95
N_TIMED = 6  # conversations asked of the model

Requests = Sequence[Sequence[int]]  # token ids of each


def main() -> None:
    planned()
    timed()


def planned() -> None:
    """What the prefix cache serves of the study's requests; no model runs."""
    for name in ("pocket", "pocket-exact"):
        config = load_sampling_config([str(FOLDER / f"{name}.yaml")])
        prompts = distinct(first_prompts(config))
        n_conversations = len({prompt.item_id for prompt in prompts})
        print(f"narrator, {name}: {n_conversations} conversations, {len(prompts):,} distinct prompts")
        ordered, unordered = requests(in_prefix_order(prompts), config), requests(shuffled(prompts), config)
        for block in BLOCKS:
            report(ordered, unordered, block)


def distinct(prompts: Iterable[Prompt]) -> list[Prompt]:
    """One prompt of each hash."""
    return list({prompt.prompt_hash: prompt for prompt in prompts}.values())


def shuffled(prompts: Sequence[Prompt]) -> list[Prompt]:
    """The same prompts in no order."""
    return random.Random(0).sample(list(prompts), len(prompts))


def requests(prompts: Sequence[Prompt], config: InferenceConfig) -> Requests:
    """The token ids of every request that the vLLM engine makes of these prompts."""
    tokenizer = load_tokenizer(resolve(config.model, weights=False))
    encoded = Encoder(tokenizer, config).encode(prompts)
    if config.verdict == "options":
        return [node.token_ids for node in nodes(encoded)]
    return [one.token_ids for one in encoded]


def report(ordered: Requests, unordered: Requests, block: int) -> None:
    """One line for each capacity."""
    n_tokens, best = sum(map(len, ordered)), n_shareable(ordered, block)
    print(f"  blocks of {block}: {len(ordered):,} requests, {n_tokens:,} tokens, at best {best / n_tokens:.1%} shared")
    for capacity in CAPACITIES:
        size = None if capacity is None else capacity // block
        ours, without = (n_served(asked, block, size) for asked in (ordered, unordered))
        words = "unbounded cache" if capacity is None else f"cache of {capacity:,} tokens"
        print(
            f"    {words}: as planned {ours / n_tokens:.1%} = {ours / best:.3f} of the best (goal {GOAL}), "
            f"unordered {without / n_tokens:.1%} = {without / best:.3f}",
            flush=True,
        )


def n_shareable(asked: Requests, block: int) -> int:
    """Tokens in whole blocks that an earlier request had behind the same beginning: all that any cache could serve."""
    root: dict[Any, Any] = {}
    shared = 0
    for tokens in asked:
        node = root
        for start in range(0, len(tokens) - block + 1, block):
            chunk = tuple(tokens[start : start + block])
            shared += block if chunk in node else 0
            node = node.setdefault(chunk, {})
    return shared


def n_served(asked: Requests, block: int, capacity: int | None) -> int:
    """Tokens served by a cache of `capacity` blocks (None: any number) when requests come one after the other."""
    cache: OrderedDict[int, None] = OrderedDict()  # least recently used first
    served = 0
    for tokens in asked:
        keys, parent = [], 0
        for start in range(0, len(tokens) - block + 1, block):
            parent = hash((parent, *tokens[start : start + block]))
            keys.append(parent)
        # One token has to be computed, so a request that ends with a block computes that block.
        for key in keys[: (len(tokens) - 1) // block]:
            if key not in cache:
                break
            served += block
        for key in reversed(keys):  # a request's last blocks are given up first
            cache[key] = None
            cache.move_to_end(key)
        while capacity is not None and len(cache) > capacity:
            cache.popitem(last=False)
    return served


def timed() -> None:
    """Conversations a second with vLLM: sampled as planned, unordered, one request per sample; and exact."""
    sampled, exact = (
        load_sampling_config([str(FOLDER / f"{name}.yaml"), f"narrator.corpus.n_conversations={N_TIMED}"])
        for name in ("pocket", "pocket-exact")
    )
    prompts = distinct(first_prompts(sampled))
    ordered, unordered = in_prefix_order(prompts), shuffled(prompts)
    with open_engine(sampled) as engine:
        list(engine.generate(ordered[:8]))  # warm-up
        for words, order in (("as planned", ordered), ("unordered", unordered)):
            timed_order(engine, order, f"{words}, {sampled.sampling.n} samples a request")
        one_by_one(engine, ordered, sampled)
    with open_engine(exact) as engine:
        list(engine.generate(ordered[:8]))
        best = n_shareable(requests(ordered, exact), BLOCKS[-1])
        for words, order in (("as planned", ordered), ("unordered", unordered)):
            timed_order(engine, order, f"exact, {words}", best)


def timed_order(engine: Any, prompts: Sequence[Prompt], words: str, best: int | None = None) -> None:
    """Ask these prompts of an engine with an empty cache.

    best: the tokens that a cache could serve; None where a request has several samples, of which vLLM tells one's.
    """
    with counted_cache(engine) as served:
        started = time.perf_counter()
        list(engine.generate(prompts))
        seconds = time.perf_counter() - started
    told(f"{words}, {sum(served) / best:.3f} of the best shared" if best else words, seconds)


@contextmanager
def counted_cache(engine: Any) -> Iterator[list[int]]:
    """Empties vLLM's prefix cache; the list then grows by the tokens that it served of each finished request."""
    served: list[int] = []
    step = engine.llm.llm_engine.step

    def counted() -> Any:
        outputs = step()
        served.extend(output.num_cached_tokens for output in outputs if output.finished)
        return outputs

    engine.llm.reset_prefix_cache()
    engine.llm.llm_engine.step = counted
    try:
        yield served
    finally:
        engine.llm.llm_engine.step = step


def one_by_one(engine: Any, prompts: Sequence[Prompt], config: InferenceConfig) -> None:
    """The same prompts, every sample a request of its own."""
    from vllm import SamplingParams

    sampling = config.sampling
    one = SamplingParams(temperature=sampling.temperature, top_p=sampling.top_p, max_tokens=sampling.max_tokens, n=1)
    each = [{"prompt_token_ids": list(ids)} for ids in requests(prompts, config) for _ in range(sampling.n)]
    engine.llm.reset_prefix_cache()
    started = time.perf_counter()
    engine.llm.generate(each, one, use_tqdm=False)
    told("as planned, one request a sample", time.perf_counter() - started)


def told(words: str, seconds: float) -> None:
    print(f"  {words}: {N_TIMED / seconds:.3f} conversations/s ({seconds:.1f} s)", flush=True)


if __name__ == "__main__":
    main()

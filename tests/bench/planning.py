"""Prompt tokens that planning an experiment's variants together saves against running them one by one. No model runs.

The variants of configs/experiments/all.yaml over pocket items, with the embedded model's tokenizer. What an engine with
a prefix cache has to compute is a prompt's tokens behind the longest beginning that it shares with the one just before,
in whole blocks of the cache.
"""

from collections.abc import Sequence
from typing import Any

from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.config import read_yaml
from evenhand.records import Prompt
from inference.config import InferenceConfig, parse_sampling_config
from inference.encoding import Encoder
from inference.schedule import first_prompts, in_prefix_order
from tests.made.places import CONFIGS

ALL = CONFIGS / "experiments" / "all.yaml"
N_ITEMS = 100
BLOCKS = (1, 32)  # tokens; 1 is the most that any cache could share

Tokens = dict[str, list[int]]  # prompt hash → token ids


def main() -> None:
    for verdict in ("reason", "margin"):
        together = experiment(verdict)
        prompts = first_prompts(together)
        tokens = encoded(prompts, together)
        runs = alone(prompts, together)
        print(f"planning, {verdict}: {len(runs)} variants of {N_ITEMS} pocket items, {len(prompts):,} planned prompts")
        base = sum(n_tokens(run, tokens) for run in runs)
        report("each variant alone", base, base)
        distinct = list({prompt.prompt_hash: prompt for prompt in prompts}.values())
        report(f"together, {len(distinct):,} distinct prompts", n_tokens(distinct, tokens), base)
        for block in BLOCKS:
            one_by_one = sum(n_computed(in_prefix_order(run), tokens, block) for run in runs)
            report(f"each alone, beginnings shared, block {block}", one_by_one, base)
            for words, order in (("in the order of the plan", list), ("in prefix order", in_prefix_order)):
                report(f"together, shared {words}, block {block}", n_computed(order(distinct), tokens, block), base)


def experiment(verdict: str) -> InferenceConfig:
    """all.yaml over pocket: without what is for r/AIO alone, and each variant on every item."""
    tree = read_yaml(ALL)
    variants: list[dict[str, Any]] = [v for v in tree["dialdefer"]["prompts"]["variants"] if "roles" not in v]
    for variant in variants:
        variant.pop("datasets", None)
    changes = {
        "model": {"name": "embedded"},
        "dialdefer": {
            "benchmarks": [{"dataset": "pocket", "n_items": N_ITEMS}],
            "prompts": {**tree["dialdefer"]["prompts"], "variants": variants},
        },
        "verdict": verdict,
    }
    return parse_sampling_config({**tree, **changes}, str(ALL))


def encoded(prompts: Sequence[Prompt], config: InferenceConfig) -> Tokens:
    """The token ids of every distinct prompt, chat template applied."""
    tokenizer = load_tokenizer(resolve(config.model, weights=False))
    distinct = list({prompt.prompt_hash: prompt for prompt in prompts}.values())
    return {e.prompt.prompt_hash: e.token_ids for e in Encoder(tokenizer, config).encode(distinct)}


def alone(prompts: Sequence[Prompt], config: InferenceConfig) -> list[list[Prompt]]:
    """The prompts of each variant as a run of its own would ask them."""
    runs: dict[object, list[Prompt]] = {}
    for prompt in prompts:
        runs.setdefault(prompt.factors, []).append(prompt)
    assert len(runs) == 1 + len(config.prompts.variants)
    return list(runs.values())


def n_tokens(prompts: Sequence[Prompt], tokens: Tokens) -> int:
    """Tokens of the prompts."""
    return sum(len(tokens[prompt.prompt_hash]) for prompt in prompts)


def n_computed(prompts: Sequence[Prompt], tokens: Tokens, block: int) -> int:
    """Tokens of the prompts but for the whole blocks that each shares with the one just before."""
    before: list[int] = []
    computed = 0
    for prompt in prompts:
        now = tokens[prompt.prompt_hash]
        same = n_shared(before, now)
        computed += len(now) - same // block * block
        before = now
    return computed


def n_shared(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the longest common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def report(words: str, count: int, base: int) -> None:
    print(f"  {words}: {count:,} tokens ({count / base:.1%} of each alone)", flush=True)


if __name__ == "__main__":
    main()

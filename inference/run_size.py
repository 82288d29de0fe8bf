"""How many tokens a sampling run asks for, counted on some of its prompts. For estimates; nothing is asked."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os.path import commonprefix
from statistics import fmean
from typing import Any

from evenhand.chat_templates import answer_tokens, encode, option_tokens, render_chat
from evenhand.records import Prompt
from inference.config import InferenceConfig, VllmConfig
from inference.options import questions
from inference.schedule import in_prefix_order

N_COUNTED = 200  # prompts whose tokens are counted, and as many of the longest texts
N_NEIGHBOURS = 25  # of them that follow each other in the order in which they are asked, for what they share
WRITTEN = ("reason", "answer")  # verdicts of replies that are written out
BLOCK = 16  # tokens that vLLM keeps or computes again as a whole, where the config does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSize:
    """What a run asks, in tokens. Counted on a sample, but for the number of prompts."""

    n_prompts: int  # different texts
    mean_tokens: float  # of a prompt
    longest: int  # of the longest texts: prompt and answer together
    n_computed: float  # prompt tokens behind the beginnings that neighbours share
    n_requests: float
    n_generated: float  # at most: as if no reply ended by itself


def run_size(prompts: Sequence[Prompt], config: InferenceConfig, tokenizer: Any) -> RunSize:
    """The tokens of a run. Raises ModelError where the chat template or an answer's tokens will not do."""
    distinct = in_prefix_order(list({prompt.prompt_hash: prompt for prompt in prompts}.values()))
    count = Counter(config, tokenizer)
    indices = runs_of(len(distinct))
    counted = [count(distinct[index]) for index in indices]
    by_text = sorted(distinct, key=lambda prompt: -sum(len(message.content) for message in prompt.messages))
    longest = max(c.needed for c in [*counted, *map(count, by_text[:N_COUNTED])])
    n, engine = len(distinct), config.engine
    mean = fmean(len(c.tokens) for c in counted)
    mean_nodes = fmean(c.n_nodes for c in counted)
    n_computed = n * mean
    if isinstance(engine, VllmConfig):
        block = engine.block_size or BLOCK
        neighbours = [
            (one.tokens, other.tokens)
            for (at, one), (then, other) in pairwise(zip(indices, counted, strict=True))
            if then == at + 1
        ]
        kept = [len(commonprefix(pair)) // block * block for pair in neighbours] or [0]
        # A prompt's last block is computed again for each further node of its options.
        n_computed = n * (mean - fmean(kept) + (mean_nodes - 1) * block / 2)
    drawn = [config.sampling.for_prompt(prompt) for prompt in distinct] if config.verdict in WRITTEN else []
    return RunSize(
        n_prompts=n,
        mean_tokens=mean,
        longest=longest,
        n_computed=n_computed,
        n_requests=n * mean_nodes,
        n_generated=sum(one.n * one.max_tokens for one in drawn),
    )


def runs_of(n: int) -> list[int]:
    """Indices of prompts to count: runs of neighbours, drawn at random; all where there are few."""
    n_runs = N_COUNTED // N_NEIGHBOURS
    if n <= N_COUNTED:
        return list(range(n))
    starts = random.Random(0).sample(range(n // N_NEIGHBOURS), n_runs)
    return [start * N_NEIGHBOURS + step for start in sorted(starts) for step in range(N_NEIGHBOURS)]


@dataclass(frozen=True, slots=True)
class Counted:
    """A prompt in tokens."""

    tokens: list[int]
    needed: int  # tokens of the context window, with the answer
    n_nodes: int  # requests that it takes


class Counter:
    """Prompts → tokens, as the engine would be given them."""

    def __init__(self, config: InferenceConfig, tokenizer: Any) -> None:
        self.config, self.tokenizer = config, tokenizer
        self.lead = answer_tokens(tokenizer).lead if config.verdict == "margin" else ()

    def __call__(self, prompt: Prompt) -> Counted:
        config = self.config
        text = render_chat(self.tokenizer, prompt.messages, config.format, config.model.chat_template_args)
        tokens = [*encode(self.tokenizer, text, config.format), *self.lead]
        if config.verdict != "options":
            answer = config.sampling.for_prompt(prompt).max_tokens if config.verdict in WRITTEN else 1
            return Counted(tokens, len(tokens) + answer, 1)
        options = option_tokens(self.tokenizer, prompt.answer_space, text, config.format)
        return Counted(tokens, len(tokens) + max(map(len, options.values())), len(questions(options)))

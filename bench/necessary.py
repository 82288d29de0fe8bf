"""Floating-point operations that a microbatch or a set of prompts needs, whoever computes them.

Counted are tokens that must be computed: what prompts begin with alike once, no padding, and the head only where an
answer is read. Of a step with a frozen base and adapters of rank r, for each token

    base      2 x weights forward, 2 x weights backward (gradients of activations alone)
    adapters  2 x weights forward, 4 x weights backward (of activations and of weights)
    attention 4 x heads x head size x tokens seen forward, twice that backward

Not taken off: that the first layer needs no gradient of its input, and the last only the keys and values of the tokens
whose answer is not read. Not counted: norms, softmax, rotary positions, dropout, the optimiser; DPO's reference, since
one pass serves every epoch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.cli.doctor.model_size import ModelSize
from evenhand.token_trees import tree_of
from training.batches import Collator, groups_of, schedule
from training.config import AnyRun
from training.objectives import objective_of


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens to compute."""

    n: float
    context: float  # that each sees in the mean, itself included
    n_scored: float  # that go through the head


def tree_tokens(sequences: Sequence[Sequence[int]], n_scored: int) -> Tokens:
    """Of sequences that begin alike, whose common tokens are computed once."""
    tree = tree_of(sequences)
    return Tokens(len(tree.tokens), float((tree.depths + 1).mean()), n_scored)


def training_tokens(run: AnyRun) -> Tokens:
    """Of a microbatch of a run's first step, in the mean. Examples of two processes are not shared."""
    tokenizer = load_tokenizer(resolve(run.model, weights=False))
    groups = groups_of(run.training.examples(run.load_units(), run, tokenizer)[0], run.optimiser.batch_by)
    collator = Collator(pad=0, branches=objective_of(run).branches)
    found = []
    for microbatch in schedule(groups, run).microbatches[: run.optimiser.gradient_accumulation_steps]:
        examples = [example for index in microbatch for example in groups[index]]
        n_scored = sum(1 + len(collator.scored(example)) for example in examples)
        sequences = [sequence for example in examples for sequence in collator.sequences(example)]
        found.append(tree_tokens(sequences, n_scored))
    n = fmean(tokens.n for tokens in found)
    context = fmean(tokens.n * tokens.context for tokens in found) / n
    return Tokens(n, context, fmean(tokens.n_scored for tokens in found))


def training_flops(size: ModelSize, tokens: Tokens, n_lora: int) -> float:
    """Forward and backward. n_lora: weights of the adapters."""
    base = (tokens.n, tokens.context, tokens.n_scored)
    return size.forward_flops(*base) + size.backward_flops(*base) + 6 * n_lora * tokens.n


def prompt_tokens(lengths: Sequence[tuple[int, int]]) -> Tokens:
    """Of prompts with (tokens, tokens of them that a prefix cache serves), read at their ends."""
    computed = [position for length, cached in lengths for position in range(cached + 1, length + 1)]
    return Tokens(len(computed), fmean(computed), len(lengths))


def prefill_flops(size: ModelSize, tokens: Tokens) -> float:
    """Forward."""
    return size.forward_flops(tokens.n, tokens.context, tokens.n_scored)

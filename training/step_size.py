"""How large a run's steps are, counted on a few of them: examples, rows, tokens. For estimates; nothing is trained."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from training.batches import Collator, Group, groups_of, schedule
from training.config import AnyRun
from training.data import TrainingData, examples_of
from training.examples import Example, by_item, set_padding
from training.objectives import objective_of

N_STEPS = 16  # optimiser steps that are laid out
N_STEPS_UNEQUAL = 2  # of units that count as one each, whose prompts are many


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """What is computed at once."""

    rows: int
    width: int  # tokens of a row
    n_scored: int  # positions that go through the head
    is_tree: bool  # whether rows branch, so that attention takes a mask


def largest_possible(config: AnyRun, n_prompts: int | None = None) -> MicroBatch | None:
    """A microbatch of nothing but the longest prompts a run takes; None of units that have any number.

    n_prompts: how many; None for as many as the config says.
    """
    if config.training.n_prompts(config.study) is None:
        return None
    n_prompts, longest = n_prompts or config.optimiser.per_device_batch_size, config.examples.max_prompt_length
    width = max(longest, min(config.optimiser.row_tokens, n_prompts * longest))
    rows = math.ceil(n_prompts / (width // longest))
    return MicroBatch(rows=rows, width=width, n_scored=3 * n_prompts, is_tree=config.optimiser.row_tokens > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSize:
    """What a step takes. Counted on a sample, but for the number of items."""

    n_examples: int  # of an epoch
    excluded_share: float  # of the prompts
    n_steps: int  # of the run
    n_micro: int  # microbatches of a step, of one process
    mean_tokens: float  # of an example by itself
    tokens_a_step: float  # that one process computes, padding with them
    computed_share: float  # of the examples' tokens by themselves
    scored_a_step: float  # positions that go through the head
    largest: MicroBatch
    largest_alone: MicroBatch  # of a single group, which is never cut
    reference_tokens: float  # of the base's pass before training; 0 without one


def step_size(data: TrainingData, config: AnyRun, tokenizer: Any) -> StepSize:
    """The size of a run's steps. Raises ModelError or DataError where no examples can be made."""
    set_padding(tokenizer)
    optimiser = config.optimiser
    in_step = optimiser.per_device_batch_size // config.group_size * optimiser.gradient_accumulation_steps
    has_equal_units = config.training.n_prompts(config.study) is not None
    n_wanted = in_step * optimiser.n_processes * (N_STEPS if has_equal_units else N_STEPS_UNEQUAL)
    rng = random.Random(0)
    drawn = data.drawn(rng, n_wanted)
    examples, excluded = examples_of(drawn, config, tokenizer)
    groups = groups_of(examples, optimiser.order)
    n_groups = len(groups) / len(drawn) * len(data)
    items = by_item(examples)
    # Of two prompts of one item hardly ever both are in a step, unless there are few items.
    if optimiser.order == "random" and len(items) >= in_step * optimiser.n_processes:
        groups = [[rng.choice(own)] for own in items]
    plan = schedule(groups, config.model_copy(update={"optimiser": optimiser.model_copy(update=ONE_EPOCH)}))
    objective = objective_of(config)
    collator = Collator(pad=tokenizer.pad_token_id, branches=objective.branches, row_tokens=optimiser.row_tokens)
    batches = [collator([groups[index] for index in numbers]) for numbers in plan.microbatches]
    sizes = [microbatch(batch) for batch in batches]
    longest = max(groups, key=lambda group: sum(example.n_tokens for example in group))
    alone = sum(e.n_tokens for numbers in plan.microbatches for index in numbers for e in groups[index])
    computed = sum(size.rows * size.width for size in sizes)
    asks = objective.needs_reference and getattr(config, "precompute_reference", True)
    n_examples = len(examples) / len(drawn) * len(data)
    return StepSize(
        n_examples=round(n_examples),
        excluded_share=len(excluded) / (len(examples) + len(excluded)),
        n_steps=optimiser.max_steps or math.ceil(optimiser.epochs * n_groups / in_step / optimiser.n_processes),
        n_micro=optimiser.gradient_accumulation_steps,
        mean_tokens=sum(e.n_tokens for e in examples) / len(examples),
        tokens_a_step=computed / plan.n_steps / optimiser.n_processes,
        computed_share=computed / alone,
        scored_a_step=sum(size.n_scored for size in sizes) / plan.n_steps / optimiser.n_processes,
        largest=max(sizes, key=lambda size: size.rows * size.width),
        largest_alone=microbatch(collator([longest])),
        reference_tokens=reference_share(examples, collator) * n_examples if asks else 0.0,
    )


ONE_EPOCH = {"epochs": 1.0, "max_steps": None}


def microbatch(batch: Any) -> MicroBatch:
    """The size of what batches.Collator has made."""
    rows, width = batch["input_ids"].shape
    ends = int((batch["ends_at"][..., 0] >= 0).sum()) if "ends_at" in batch else 0
    n_scored = len(batch["at"]) + ends + (len(batch["rest_at"]) if "rest_at" in batch else 0)
    return MicroBatch(rows=rows, width=width, n_scored=n_scored, is_tree="attention_mask" not in batch)


def reference_share(examples: Sequence[Example], collator: Collator) -> float:
    """Tokens an example of a pass over whole items, what an item's prompts share counted once."""
    items: list[Group] = by_item(examples)[:32]
    return sum(collator([item])["input_ids"].numel() for item in items) / sum(map(len, items))

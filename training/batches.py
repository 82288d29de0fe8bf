"""Which examples train together, in which order: decided before training, so that a continued run goes the same way.

An optimiser step takes `per_device_batch_size x gradient_accumulation_steps x n_processes` examples; of conversations,
which have unequally many, as many bundles. Which those are is fixed by the seed; how a step is cut into microbatches
changes no loss (but KTO's, by its drift), so its examples are sorted by length first.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from evenhand.errors import ConfigError
from evenhand.token_trees import Tree, padded_rows, tree_of
from training.config import TrainingConfig
from training.examples import Example, by_group, by_item
from training.objectives import NEVER, Branches
from training.packing import Packing, packed

Bundle = list[Example]  # examples that share a microbatch
N_LOOKED_AT = 200  # microbatches, for what a run's rows take
Row = tuple[list[int], Tree]  # the numbers of some examples, and their sequences as one row


class LogProbs(NamedTuple):
    """What a model says of one example's K answers, in nats."""

    verdicts: tuple[float, ...]  # of the one token
    totals: tuple[float, ...]  # of the whole answer: with EOS where that is learnt


def bundles_of(examples: Sequence[Example], order: str) -> list[Bundle]:
    """The examples item by item for `whole_items`, group by group for `whole_groups`, else one by one."""
    if order == "whole_items":
        return by_item(examples)
    return by_group(examples) if order == "whole_groups" else [[example] for example in examples]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Every microbatch of a run, as indices of bundles. Process p of n takes microbatches p, p + n, p + 2n, ..."""

    microbatches: list[list[int]]
    n_steps: int
    epochs: float
    n_bundles: int  # of a full microbatch


def schedule(bundles: Sequence[Bundle], config: TrainingConfig) -> Schedule:
    """The microbatches of a run. Epochs follow each other without a short batch in between.

    A last step too small to give every process a bundle is left out. Raises ConfigError when no step is left.
    """
    optimiser = config.optimiser
    n_bundles = optimiser.per_device_batch_size // config.bundle_size
    n_micro = optimiser.gradient_accumulation_steps * optimiser.n_processes
    in_step = n_bundles * n_micro
    wanted = optimiser.max_steps * in_step if optimiser.max_steps else round(optimiser.epochs * len(bundles))
    order = endless(len(bundles), wanted, optimiser.seed)
    lengths = [sum(example.n_tokens for example in bundle) for bundle in bundles]
    cut: list[list[int]] = []
    n_steps = n_taken = 0
    for start in range(0, len(order), in_step):
        step = sorted(order[start : start + in_step], key=lambda index: (lengths[index], index))
        n_parts = min(n_micro, len(step) // optimiser.n_processes * optimiser.n_processes)
        if n_parts == 0:
            break
        cut += parts(step, n_parts)
        n_steps += 1
        n_taken += len(step)
    if n_steps == 0:
        raise ConfigError(
            f"optimiser.epochs: {optimiser.epochs} epochs of {len(bundles)} bundles make no step that gives each of "
            f"{optimiser.n_processes} processes one; raise optimiser.epochs, or take more data"
        )
    return Schedule(microbatches=cut, n_steps=n_steps, epochs=n_taken / len(bundles), n_bundles=n_bundles)


def parts(step: Sequence[int], n_parts: int) -> list[list[int]]:
    """A step cut into n microbatches of equal size, or else with one more in the first ones.

    Those hold the shortest examples: processes that share a last, smaller step can have to take two bundles at once
    where the batch size is one, and that must not be what the memory does not hold.
    """
    size, n_larger = divmod(len(step), n_parts)
    ends = [size * part + min(part, n_larger) for part in range(n_parts + 1)]
    return [list(step[start:end]) for start, end in pairwise(ends)]


def endless(n: int, wanted: int, seed: int) -> list[int]:
    """`wanted` of the numbers below n: shuffled, then shuffled anew each time all have come."""
    order: list[int] = []
    epoch = 0
    while len(order) < wanted:
        numbers = list(range(n))
        random.Random(f"{seed} {epoch}").shuffle(numbers)
        order += numbers
        epoch += 1
    return order[:wanted]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collator:
    """Bundles → one microbatch: its rows, and where in the rows the answers of its E examples stand.

    Its examples share rows, and compute what they begin with once, as long as a row has at most `row_tokens` tokens.
    Examples may have unequally many answers: K is the largest number of the microbatch.
    """

    pad: int
    branches: Branches
    row_tokens: int = 0  # 0: a row for each example
    reference: Mapping[Example, LogProbs] | None = None

    def __call__(self, bundles: Sequence[Bundle]) -> dict[str, Tensor]:
        """input_ids and position_ids (B, T); attention_mask or reach (B, T); and for the examples in order:

        at (E, 2) row and column of the token before the answer; choices (E, K); right (E,); groups (E,); anchors (E,);
        where examples differ in their number of answers, padded (E, K), true where there is none;
        where EOS is scored, end (E,) its token and ends_at (E, K, 2) the answer's place, -1 where it is not asked for;
        where right answers have more tokens, N in all, rest (N,) of them, rest_at (N, 2) row and column of the token
        before each, and rest_of (N,) its example;
        with a reference, its log-probabilities reference and reference_verdicts (E, K).
        """
        examples = [example for bundle in bundles for example in bundle]
        n_choices = max(len(example.choices) for example in examples)
        lacking = [n_choices - len(example.choices) for example in examples]
        rows = self.rows(examples)
        names = {group: number for number, group in enumerate(dict.fromkeys(e.group for e in examples))}
        batch = {
            **padded_rows([tree for _, tree in rows], self.pad),
            **self.places(examples, rows, n_choices),
            "choices": torch.tensor([[*e.choices, *[self.pad] * n] for e, n in zip(examples, lacking, strict=True)]),
            "right": torch.tensor([e.right for e in examples]),
            "groups": torch.tensor([names[e.group] for e in examples]),
            "anchors": torch.tensor([e.is_anchor for e in examples]),
        }
        if any(lacking):
            batch["padded"] = torch.tensor([[False] * (n_choices - n) + [True] * n for n in lacking])
        if self.reference is not None:
            found = [self.reference[example] for example in examples]
            batch["reference"] = padded_logs([logs.totals for logs in found])
            batch["reference_verdicts"] = padded_logs([logs.verdicts for logs in found])
        return batch

    def places(self, examples: Sequence[Example], rows: Sequence[Row], n_choices: int) -> dict[str, Tensor]:
        """Where the examples' answers, their EOS and their rests stand in the rows, and what these are."""
        at: list[list[int]] = [[] for _ in examples]
        ends_at: list[list[list[int]]] = [[] for _ in examples]
        rest_at: list[list[list[int]]] = [[] for _ in examples]
        for row, (numbers, tree) in enumerate(rows):
            paths = iter(tree.paths)
            for number in numbers:
                example = examples[number]
                choices = self.scored(example)
                mine = [next(paths).tolist() for _ in (choices or [0])]
                last = len(example.prompt_ids) - 1
                at[number] = [row, mine[0][last]]
                rest_at[number] = [[row, column] for column in mine[0][last + 1 :]] if example.rest else []
                ends = dict(zip(choices, ([row, path[-1]] for path in mine), strict=False))
                ends_at[number] = [ends.get(k, [-1, -1]) for k in range(n_choices)]
        found = {"at": torch.tensor(at)}
        if any(rest_at):
            found["rest_at"] = torch.tensor([place for places in rest_at for place in places])
            found["rest"] = torch.tensor([token for e in examples for token in e.rest])
            found["rest_of"] = torch.tensor([number for number, e in enumerate(examples) for _ in e.rest])
        if self.branches != "none":
            found["ends_at"] = torch.tensor(ends_at)
            found["end"] = torch.tensor([e.end[0] for e in examples])
        return found

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """The rows that examples share. One where they fit into it: then nothing is padded, and nothing torn apart."""
        sequences = [self.sequences(example) for example in examples]
        if self.row_tokens:
            whole = tree_of([sequence for own in sequences for sequence in own])
            if len(whole.tokens) <= self.row_tokens:
                return [(list(range(len(examples))), whole)]
            prompts = [example.prompt_ids for example in examples]
            extras = [sum(len(s) - len(prompt) for s in own) for prompt, own in zip(prompts, sequences, strict=True)]
            shared = packed(prompts, extras, self.row_tokens)
        else:
            shared = [[number] for number in range(len(examples))]
        return [(numbers, tree_of([s for number in numbers for s in sequences[number]])) for numbers in shared]

    def packing(self, bundles: Sequence[Bundle]) -> Packing:
        """What the rows of a microbatch take."""
        return Packing.of([tree for _, tree in self.rows([example for bundle in bundles for example in bundle])])

    def sequences(self, example: Example) -> list[tuple[int, ...]]:
        """What a row reads of an example: its prompt, behind it in turn the answers after which something is scored."""
        return [
            (*example.prompt_ids, *(example.choices[k] for k in ks), *example.rest[:-1])
            for ks in ([[k] for k in self.scored(example)] or [[]])
        ]

    def scored(self, example: Example) -> list[int]:
        """The answers behind which EOS is scored, or the rest of the right one."""
        if example.rest:
            return [example.right]
        if self.branches == "none" or not example.end:
            return []
        return [example.right] if self.branches == "right" else list(range(len(example.choices)))


def packing_of(plan: Schedule, bundles: Sequence[Bundle], collator: Collator) -> Packing:
    """What the rows of a run take, by some of its microbatches, which lie evenly over it."""
    some = plan.microbatches[:: max(1, len(plan.microbatches) // N_LOOKED_AT)]
    return reduce(Packing.__add__, (collator.packing([bundles[index] for index in batch]) for batch in some))


def padded_logs(rows: Sequence[Sequence[float]]) -> Tensor:
    """(E, K) log-probabilities of unequally many answers, with NEVER where there is none."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[NEVER] * (width - len(row))] for row in rows])

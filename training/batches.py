"""Which examples train together, how they lie in rows, and what a model says of them in one forward pass.

The order is decided before training, so that a continued run goes the same way. An optimiser step takes
`per_device_batch_size x gradient_accumulation_steps x n_processes` examples; of conversations, which have unequally
many, as many groups. Which those are is fixed by the seed; how a step is cut into microbatches changes no loss, so
its examples are sorted by length first.

Rows are padded to the widest, so what is computed is their number times its width. Examples stay in the order of their
tree, where those that begin alike are neighbours, and the order is cut: what a cut tears apart is computed twice. A
tree has many such orders, each with its branches in another sequence; a few are tried, and the least computed is taken.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from evenhand.errors import ConfigError
from evenhand.token_trees import Tree, common, in_order, logits_at, padded_rows, tree_of
from training.config import TrainingConfig
from training.examples import Example
from training.objectives import NEVER, Answers, Branches, picked

Group = list[Example]  # examples that share a microbatch
Row = tuple[list[int], Tree]  # the numbers of some examples, and their sequences as one row
ORDERS = 16
GOOD = 1.01  # computed tokens for each of the rows' own: no other order is tried then
# Tokens of a row that branches in which attention to all of its pairs takes as long as the rest of a step: an estimate;
# at the shape of a 7B model an H200 gave 7,000 to 14,000 (docs/gpu.md). On a CPU attention computes what is seen.
SQUARE = {"cuda": 8192.0, "cpu": math.inf}
SPREAD = 0x9E3779B1  # its odd multiples, taken modulo 2^32, put tokens into orders that have nothing in common


class LogProbs(NamedTuple):
    """A model's log-probabilities of one example's K answers, in nats."""

    verdicts: tuple[float, ...]  # of the one token
    totals: tuple[float, ...]  # of the whole answer: with EOS where that is learnt


def n_tokens(group: Group) -> int:
    """Tokens of a group's examples, each counted for itself."""
    return sum(example.n_tokens for example in group)


def groups_of(examples: Sequence[Example], batch_by: str) -> list[Group]:
    """The examples item by item, group by group, or for `random` one by one."""
    if batch_by == "random":
        return [[example] for example in examples]
    groups: dict[str, Group] = {}
    for example in examples:
        groups.setdefault(example.item_id if batch_by == "item" else example.group, []).append(example)
    return list(groups.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Every microbatch of a run, as indices of groups. Process p of n takes microbatches p, p + n, p + 2n, ..."""

    microbatches: list[list[int]]
    epochs: float
    n_groups: int  # of a full microbatch


def schedule(groups: Sequence[Group], config: TrainingConfig) -> Schedule:
    """The microbatches of a run. Epochs follow each other without a short batch in between.

    A last step too small to give every process a group is left out. Raises ConfigError when no step is left.
    """
    optimiser = config.optimiser
    n_groups = optimiser.per_device_batch_size // config.group_size
    n_micro = optimiser.gradient_accumulation_steps * optimiser.n_processes
    in_step = n_groups * n_micro
    wanted = optimiser.max_steps * in_step if optimiser.max_steps else round(optimiser.epochs * len(groups))
    order = endless(len(groups), wanted, optimiser.seed)
    lengths = [n_tokens(group) for group in groups]
    microbatches: list[list[int]] = []
    for start in range(0, len(order), in_step):
        step = sorted(order[start : start + in_step], key=lambda index: (lengths[index], index))
        n_parts = min(n_micro, len(step) // optimiser.n_processes * optimiser.n_processes)
        if not n_parts:
            break
        # Of unequal ones the first, which hold the shortest examples, have one more: processes that share a last,
        # smaller step can have to take two groups at once where the batch size is one. These should fit into memory.
        microbatches += [part.tolist() for part in np.array_split(step, n_parts)]
    if not microbatches:
        raise ConfigError(
            f"optimiser.epochs: {optimiser.epochs} epochs of {len(groups)} groups make no step that gives each of "
            f"{optimiser.n_processes} processes one; raise optimiser.epochs, or take more data"
        )
    epochs = sum(map(len, microbatches)) / len(groups)
    return Schedule(microbatches=microbatches, epochs=epochs, n_groups=n_groups)


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
    """Groups → one microbatch: its rows, and where in the rows the answers of its E examples stand.

    Its examples share rows, and compute what they begin with once, as long as a row has at most `row_tokens` tokens.
    Examples may have unequally many answers: K is the largest number of the microbatch.
    """

    pad: int
    branches: Branches
    row_tokens: int = 0  # 0: a row for each example
    device: str = "cpu"  # of SQUARE
    reference: Mapping[Example, LogProbs] | None = None

    def __call__(self, groups: Sequence[Group]) -> dict[str, Tensor]:
        """input_ids and position_ids (B, T); attention_mask or reach (B, T); and for the examples in order:

        at (E, 2) row and column of the token before the answer; choices (E, K); right (E,); groups (E,); anchors (E,);
        where examples differ in their number of answers, padded (E, K), true where there is none;
        n_tokens (E,) that the loss of the right answer is a mean over: 1 where EOS is not learnt, or two are compared;
        where answers have more tokens that are learnt, EOS among them, N in all, rest (N,) of them, rest_at (N, 2) row
        and column of the token before each, and rest_of (N,) its answer, one of E x K;
        with a reference, its log-probabilities reference and reference_verdicts (E, K).
        """
        examples = [example for group in groups for example in group]
        n_choices = max(len(example.choices) for example in examples)
        lacking = [n_choices - len(example.choices) for example in examples]
        rows = self.rows(examples)
        numbers = numbers_of(e.group for e in examples)
        batch = {
            **padded_rows([tree for _, tree in rows], self.pad),
            **self.places(examples, rows, n_choices),
            "choices": torch.tensor([[*e.choices, *[self.pad] * n] for e, n in zip(examples, lacking, strict=True)]),
            "right": torch.tensor([e.right for e in examples]),
            "groups": torch.tensor(numbers),
            "anchors": torch.tensor([e.is_anchor for e in examples]),
            "n_tokens": torch.tensor([len(e.right_ids) if self.branches == "right" else 1 for e in examples]),
        }
        if any(lacking):
            batch["padded"] = torch.tensor([[False] * (n_choices - n) + [True] * n for n in lacking])
        if self.reference is not None:
            logs = [self.reference[example] for example in examples]
            batch["reference"] = padded_logs([log.totals for log in logs])
            batch["reference_verdicts"] = padded_logs([log.verdicts for log in logs])
        return batch

    def places(self, examples: Sequence[Example], rows: Sequence[Row], n_choices: int) -> dict[str, Tensor]:
        """Where the examples' answers and the rest of these stand in the rows, and what tokens that is."""
        at: list[list[int]] = [[] for _ in examples]
        rests: list[tuple[int, list[int], int]] = []  # of each token its answer, the place before it, and itself
        for row, (numbers, tree) in enumerate(rows):
            paths = iter(tree.paths)
            for number in numbers:
                last = len(examples[number].prompt_ids) - 1
                for k, tokens in self.scored(examples[number]).items():
                    path = next(paths).tolist()
                    at[number] = [row, path[last]]
                    places = ([row, column] for column in path[last + 1 :])
                    rests += [(number * n_choices + k, *pair) for pair in zip(places, tokens, strict=True)]
        batch = {"at": torch.tensor(at)}
        if rests:
            rests.sort(key=lambda rest: rest[0])
            batch["rest_of"], batch["rest_at"], batch["rest"] = map(torch.tensor, zip(*rests, strict=True))
        return batch

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """The rows that examples share. One where they fit into it: then nothing is padded, and nothing torn apart."""
        sequences = [self.sequences(example) for example in examples]
        shared = [[number] for number in range(len(examples))]
        if self.row_tokens:
            whole = tree_of([sequence for branches in sequences for sequence in branches])
            if len(whole.tokens) <= self.row_tokens and SQUARE[self.device] == math.inf:
                return [(list(range(len(examples))), whole)]
            prompts = [example.prompt_ids for example in examples]
            branches = zip(prompts, sequences, strict=True)
            extras = [sum(len(sequence) - len(prompt) for sequence in branch) for prompt, branch in branches]
            shared = packed(prompts, extras, self.row_tokens, SQUARE[self.device])
        return [(numbers, tree_of([s for number in numbers for s in sequences[number]])) for numbers in shared]

    def sequences(self, example: Example) -> list[tuple[int, ...]]:
        """What a row reads of an example: its prompt, behind it in turn the answers after which something is scored."""
        scored = self.scored(example).items()
        return [(*example.prompt_ids, *[example.choices[k], *tokens][: len(tokens)]) for k, tokens in scored]

    def scored(self, example: Example) -> dict[int, tuple[int, ...]]:
        """Of each answer that is learnt beyond its first token what is scored there; where none is, {0: ()}."""
        is_right_alone = self.branches == "right" and example.end
        answers = [example.right] if is_right_alone else range(len(example.choices))
        end = () if self.branches == "none" else example.end
        scored = {k: (*example.answer_ids(k)[1:], *end) for k in answers}
        return {k: tokens for k, tokens in scored.items() if tokens} or {0: ()}


def numbers_of(names: Iterable[str]) -> list[int]:
    """Each name's number, in the order of their first occurrence."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def padded_logs(rows: Sequence[Sequence[float]]) -> Tensor:
    """(E, K) log-probabilities of unequally many answers, with NEVER where there is none."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=NEVER)


def answers_of(model: Any, batch: dict[str, Tensor], unwrapped: Any | None = None) -> Answers:
    """What a model says of a microbatch made by batches.Collator, with gradient where gradients are on.

    model: as wrapped for training. unwrapped: the causal language model inside it, if it is wrapped.
    """
    places = batch["at"]
    n_prompts = len(places)
    if "rest" in batch:
        places = torch.cat([places, batch["rest_at"]])
    logs = logits_at(model, batch, places, unwrapped).log_softmax(-1)
    verdicts = logs[:n_prompts].gather(1, batch["choices"])
    if "padded" in batch:
        verdicts = verdicts.masked_fill(batch["padded"], NEVER)
    rest = None
    if "rest" in batch:
        of_rest = picked(logs[n_prompts:], batch["rest"])
        rest = logs.new_zeros(verdicts.numel()).index_add(0, batch["rest_of"], of_rest).view_as(verdicts)
    return Answers(
        verdicts=verdicts,
        rest=rest,
        right=batch["right"],
        n_tokens=batch["n_tokens"],
        groups=batch["groups"],
        anchors=batch["anchors"],
        reference=batch.get("reference"),
        reference_verdicts=batch.get("reference_verdicts"),
    )


def packed(
    prompts: Sequence[Sequence[int]], extras: Sequence[int], row_tokens: int, square: float = math.inf
) -> list[list[int]]:
    """The numbers of the examples of each row.

    extras: how many tokens stand behind each prompt in its branches. A row has at most row_tokens tokens, or as many as
    the longest example alone; fewer where pairs of tokens cost more than what is torn apart. square: of SQUARE.
    """
    arrays = [np.asarray(prompt, dtype=np.uint32) for prompt in prompts]
    alone = [len(array) + extra for array, extra in zip(arrays, extras, strict=True)]
    most = max(row_tokens, *alone)
    halves = range(1 if square == math.inf else 1 + int(math.log2(most / max(alone))))
    best: list[list[int]] = []
    least = math.inf
    for trial in range(ORDERS):
        order = in_order(arrays, multiplier=2 * trial * SPREAD % 2**32 + 1)
        shared = [0, *(common(arrays[before], arrays[number]) for before, number in pairwise(order))]
        joined = [alone[number] - n for number, n in zip(order, shared, strict=True)]
        for half in halves:
            rows = balanced([alone[number] for number in order], joined, most // 2**half)
            widths = [alone[order[row.start]] + sum(joined[row.start + 1 : row.stop]) for row in rows]
            if (cost := len(rows) * max(widths) * (1 + max(widths) / square)) < least:
                least, best = cost, [order[row] for row in rows]
        if square == math.inf and cost <= GOOD * sum(widths):
            break
    return best


def balanced(alone: Sequence[int], joined: Sequence[int], most: int) -> list[slice]:
    """An order cut into as few rows as `most` tokens allow, and of these cuts the one with the narrowest widest row.

    alone: what each example takes as the first of a row; joined: what it adds behind the one before it.
    """
    n_rows = len(cut(alone, joined, most))
    least = max(alone)
    while least < most:
        middle = (least + most) // 2
        if len(cut(alone, joined, middle)) <= n_rows:
            most = middle
        else:
            least = middle + 1
    return cut(alone, joined, most)


def cut(alone: Sequence[int], joined: Sequence[int], most: int) -> list[slice]:
    """An order cut wherever a row would have more than `most` tokens."""
    starts: list[int] = []
    width = 0
    for place, (first, more) in enumerate(zip(alone, joined, strict=True)):
        width += more
        if not starts or width > most:
            starts.append(place)
            width = first
    return [slice(start, end) for start, end in pairwise([*starts, len(alone)])]

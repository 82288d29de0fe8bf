"""Which examples of a microbatch share a row: in as few rows as their tokens fill, of nearly equal width.

Rows are padded to the widest, so what is computed is their number times its width. Examples stay in the order of their
tree, where those that begin alike are neighbours, and the order is cut: what a cut tears apart is computed twice. A
tree has many such orders, each with its branches in another sequence; a few are tried, and the least computed is taken.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from evenhand.token_trees import Tree, common, in_order

ORDERS = 16
GOOD = 1.01  # computed tokens for each of the rows' own: no other order is tried then
SPREAD = 0x9E3779B1  # its odd multiples, taken modulo 2^32, put tokens into orders that have nothing in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What rows take, in tokens."""

    alone: int  # of all sequences, each in a row of its own
    needed: int  # of the rows' trees
    computed: int  # rows x the width of the widest

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Self:
        """The packing of the rows of one forward pass."""
        widths = [len(tree.tokens) for tree in trees]
        alone = sum(len(path) for tree in trees for path in tree.paths)
        return cls(alone=alone, needed=sum(widths), computed=len(widths) * max(widths))

    def __add__(self, other: "Packing") -> "Packing":
        return Packing(
            alone=self.alone + other.alone, needed=self.needed + other.needed, computed=self.computed + other.computed
        )

    @property
    def padded(self) -> float:
        """Computed tokens for each needed one."""
        return self.computed / self.needed

    @property
    def saved(self) -> float:
        """The share of all tokens that need not be computed since other sequences begin with them."""
        return 1 - self.computed / self.alone


def packed(prompts: Sequence[Sequence[int]], extras: Sequence[int], row_tokens: int) -> list[list[int]]:
    """The numbers of the examples of each row.

    extras: how many tokens stand behind each prompt in its branches. A row has at most row_tokens tokens, or as many as
    the longest example alone.
    """
    arrays = [np.asarray(prompt, dtype=np.uint32) for prompt in prompts]
    alone = [len(array) + extra for array, extra in zip(arrays, extras, strict=True)]
    most = max(row_tokens, *alone)
    best: list[list[int]] = []
    least = math.inf
    for trial in range(ORDERS):
        order = in_order(arrays, multiplier=2 * trial * SPREAD % 2**32 + 1)
        shared = [0, *(common(arrays[one], arrays[other]) for one, other in pairwise(order))]
        joined = [alone[number] - n for number, n in zip(order, shared, strict=True)]
        rows = balanced([alone[number] for number in order], joined, most)
        widths = [alone[order[row.start]] + sum(joined[row.start + 1 : row.stop]) for row in rows]
        if (computed := len(rows) * max(widths)) < least:
            least, best = computed, [order[row] for row in rows]
        if computed <= GOOD * sum(widths):
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

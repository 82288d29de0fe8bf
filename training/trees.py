"""Prompts that begin alike → one row of tokens in which the common beginning is computed once.

A row is a tree laid out in one line: each token attends to its ancestors alone and stands at the position of its depth,
so that every path from the root is read exactly as if it were alone. DPO's two answers are two branches behind one
prompt; an item's prompts share what they begin with. The mathematics is that of separate rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Tree:
    """Sequences laid out as one row of T tokens; parents come before their children."""

    tokens: list[int]
    parents: list[int]  # column of the token before; -1 for a first token
    depths: list[int]  # position in its sequence, from 0
    paths: list[list[int]]  # for each sequence the columns of its tokens

    @property
    def branches(self) -> bool:
        """Whether the row is more than one plain sequence."""
        return any(parent != column - 1 for column, parent in enumerate(self.parents))


def tree_of(sequences: Iterable[Sequence[int]]) -> Tree:
    """The tree of some sequences of token ids, each of which begins at the root."""
    children: dict[tuple[int, int], int] = {}
    tree = Tree([], [], [], [])
    for sequence in sequences:
        path: list[int] = []
        at = -1
        for depth, token in enumerate(sequence):
            column = children.get((at, token))
            if column is None:
                column = children[(at, token)] = len(tree.tokens)
                tree.tokens.append(token)
                tree.parents.append(at)
                tree.depths.append(depth)
            path.append(column)
            at = column
        tree.paths.append(path)
    return tree


def padded_rows(trees: Sequence[Tree], pad: int) -> dict[str, Tensor]:
    """Rows padded on the right to the longest: input_ids and position_ids (B, T), and which tokens see which.

    The last is `attention_mask` (B, T) of ones and zeros where no row branches, so that a model's own causal attention
    serves, else `allowed` (B, T, T), true where the token of the row (second axis) attends to that of the column.
    """
    width = max(len(tree.tokens) for tree in trees)
    ids = np.full((len(trees), width), pad, dtype=np.int64)
    positions = np.zeros((len(trees), width), dtype=np.int64)
    real = np.zeros((len(trees), width), dtype=np.int64)
    for row, tree in enumerate(trees):
        n_tokens = len(tree.tokens)
        ids[row, :n_tokens], positions[row, :n_tokens], real[row, :n_tokens] = tree.tokens, tree.depths, 1
    rows = {"input_ids": torch.from_numpy(ids), "position_ids": torch.from_numpy(positions)}
    if any(tree.branches for tree in trees):
        return {**rows, "allowed": torch.from_numpy(np.stack([ancestors(tree, width) for tree in trees]))}
    return {**rows, "attention_mask": torch.from_numpy(real)}


def ancestors(tree: Tree, width: int) -> np.ndarray:
    """(T, T), true where the column is the row's token or one before it on its path. Padding sees itself alone."""
    seen = np.eye(width, dtype=bool)
    for column, parent in enumerate(tree.parents):
        if parent >= 0:
            seen[column] |= seen[parent]
    return seen


def attention_argument(
    config: object, allowed: Tensor, depths: Tensor, dtype: torch.dtype
) -> Tensor | dict[str, Tensor]:
    """`allowed` (B, T, T) as a model's forward takes it: (B, 1, T, T), boolean for fused attention, added for eager.

    Layers with a sliding window see no token that lies `sliding_window` or more before them; where a model has layers
    of both kinds, it takes a mask for each.
    """
    text = getattr(config, "text_config", None) or config
    eager = getattr(text, "_attn_implementation", None) == "eager"
    window = getattr(text, "sliding_window", None)
    full = as_mask(allowed, dtype, added=eager)
    if not window:
        return full
    near = (depths[:, :, None] - depths[:, None, :]) < window
    sliding = as_mask(allowed & near, dtype, added=eager)
    kinds = set(getattr(text, "layer_types", None) or ())
    if not kinds:
        return sliding
    masks = {"full_attention": full, "sliding_attention": sliding}
    return masks if "sliding_attention" in kinds else full


def as_mask(allowed: Tensor, dtype: torch.dtype, *, added: bool) -> Tensor:
    """(B, T, T) booleans as (B, 1, T, T): themselves, or 0 where true and the dtype's lowest number where false."""
    allowed = allowed[:, None]
    if not added:
        return allowed
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill(~allowed, torch.finfo(dtype).min)

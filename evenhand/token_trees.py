"""Prompts that begin alike → one row of tokens in which the common beginning is computed once.

A row is a tree laid out in one line: each token attends to its ancestors alone and stands at the position of its depth,
so that every path from the root is read exactly as if it were alone. DPO's two answers are two branches behind one
prompt; an item's prompts share what they begin with. The mathematics is that of separate rows.

The line is in depth-first order: a token's descendants are the columns right behind it, up to one that is kept for each
token. That says who sees whom in T numbers instead of T x T, and the device makes the mask of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Tokens = NDArray[np.uint32]
Columns = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tree:
    """Sequences laid out as one row of T tokens, depth first."""

    tokens: Columns  # (T,)
    depths: Columns  # (T,) position in its sequence, from 0
    reach: Columns  # (T,) the column behind a token's last descendant
    paths: list[Columns]  # for each sequence the columns of its tokens

    @property
    def branches(self) -> bool:
        """Whether the row is more than one plain sequence."""
        return bool((self.depths != np.arange(len(self.depths))).any())


def tree_of(sequences: Sequence[Sequence[int]]) -> Tree:
    """The tree of some sequences of token ids, each of which begins at the root. Takes time by their tokens.

    Sorted, a sequence has its longest common beginning with the one before it, and the order is depth first.
    """
    arrays = [np.asarray(sequence, dtype=np.uint32) for sequence in sequences]
    tokens: list[Tokens] = []
    depths: list[Columns] = []
    paths: list[Columns] = [np.empty(0, np.int64)] * len(arrays)
    reach = np.empty(sum(map(len, arrays)), np.int64)
    n_tokens = 0
    last, path = np.empty(0, np.uint32), np.empty(0, np.int64)
    for number in in_order(arrays):
        array = arrays[number]
        n_shared = common(last, array)
        reach[path[n_shared:]] = n_tokens  # nothing more comes behind these
        n_new = len(array) - n_shared
        tokens.append(array[n_shared:])
        depths.append(np.arange(n_shared, len(array)))
        path = np.concatenate([path[:n_shared], np.arange(n_tokens, n_tokens + n_new)])
        paths[number], last = path, array
        n_tokens += n_new
    reach[path] = n_tokens
    return Tree(np.concatenate(tokens).astype(np.int64), np.concatenate(depths), reach[:n_tokens], paths)


def in_order(arrays: Sequence[Tokens], multiplier: int = 1) -> list[int]:
    """The numbers of some sequences, those with a common beginning next to each other.

    multiplier: odd; each makes another order of the branches, for it maps the 32 bits of a token one to one.
    """
    keys = [(array * np.uint32(multiplier)).astype(">u4").tobytes() for array in arrays]
    return sorted(range(len(arrays)), key=keys.__getitem__)


def common(one: Tokens, other: Tokens) -> int:
    """How many tokens two sequences begin with alike."""
    n_tokens = min(len(one), len(other))
    differ = one[:n_tokens] != other[:n_tokens]
    first = int(differ.argmax()) if n_tokens else 0
    return first if n_tokens and differ[first] else n_tokens


def padded_rows(trees: Sequence[Tree], pad: int) -> "dict[str, Tensor]":
    """Rows padded on the right to the longest: input_ids and position_ids (B, T), and which tokens see which.

    The last is `attention_mask` (B, T) of ones and zeros where no row branches, so that a model's own causal attention
    serves, else `reach` (B, T), of which attention_argument makes the mask. Padding reaches itself alone.
    """
    import torch

    width = max(len(tree.tokens) for tree in trees)
    ids = np.full((len(trees), width), pad, dtype=np.int64)
    positions = np.zeros((len(trees), width), dtype=np.int64)
    real = np.zeros((len(trees), width), dtype=np.int64)
    reach = np.tile(np.arange(1, width + 1), (len(trees), 1))
    for row, tree in enumerate(trees):
        own = slice(len(tree.tokens))
        ids[row, own], positions[row, own], real[row, own], reach[row, own] = tree.tokens, tree.depths, 1, tree.reach
    rows = {"input_ids": torch.from_numpy(ids), "position_ids": torch.from_numpy(positions)}
    if any(tree.branches for tree in trees):
        return {**rows, "reach": torch.from_numpy(reach)}
    return {**rows, "attention_mask": torch.from_numpy(real)}


def allowed_of(reach: "Tensor") -> "Tensor":
    """(B, T, T) of the reach (B, T), true where the token of the row (second axis) attends to that of the column."""
    import torch

    columns = torch.arange(reach.shape[1], device=reach.device)
    return (columns[None, None, :] <= columns[None, :, None]) & (columns[None, :, None] < reach[:, None, :])


def attention_argument(
    config: object, reach: "Tensor", depths: "Tensor", dtype: "torch.dtype"
) -> "Tensor | dict[str, Tensor]":
    """The tree of each row as a model's forward takes it: (B, 1, T, T), once for all layers.

    Layers with a sliding window see no token that lies `sliding_window` or more before them; where a model has layers
    of both kinds, it takes a mask for each. dtype: what attention computes in.
    """
    text = getattr(config, "text_config", None) or config
    attention = getattr(text, "_attn_implementation", None)
    window = getattr(text, "sliding_window", None)
    allowed = allowed_of(reach)
    full = as_mask(allowed, dtype, attention)
    if not window:
        return full
    near = depths[:, None, :] > (depths - window)[:, :, None]
    sliding = as_mask(allowed & near, dtype, attention)
    kinds = set(getattr(text, "layer_types", None) or ())
    if not kinds:
        return sliding
    masks = {"full_attention": full, "sliding_attention": sliding}
    return masks if "sliding_attention" in kinds else full


def as_mask(allowed: "Tensor", dtype: "torch.dtype", attention: str | None) -> "Tensor":
    """(B, T, T) booleans as (B, 1, T, T) of what an attention implementation takes: numbers to add, or themselves.

    torch's fused attention (sdpa) would make numbers of booleans in each layer, and keep them for the backward pass:
    3.6 GB over 28 layers of one row of 8,192 tokens in bf16.
    """
    import torch

    if attention not in ("eager", "sdpa"):
        return allowed[:, None]
    n_rows, width, _ = allowed.shape
    lowest = torch.finfo(dtype).min if attention == "eager" else -torch.inf
    # Its kernel for GPUs copies, again in each layer, a mask whose lines do not begin at multiples of 8 numbers.
    lines = torch.zeros(n_rows, 1, width, -(-width // 8) * 8, dtype=dtype, device=allowed.device)[..., :width]
    return lines.masked_fill_(~allowed[:, None], lowest)

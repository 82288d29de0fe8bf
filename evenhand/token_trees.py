"""Prompts that begin alike → one row of tokens in which the common beginning is computed once.

A row is a tree laid out in one line: each token attends to its ancestors alone and stands at the position of its depth,
so that every path from the root is read exactly as if it were alone. DPO's two answers are two branches behind one
prompt; an item's prompts share what they begin with. The mathematics is that of separate rows.

The line is in depth-first order: a token's descendants are the columns right behind it, up to one that is kept for each
token. That says who sees whom in T numbers instead of T x T, and the device makes the mask of them.

A forward pass puts only the positions that are asked for through the head, which is as large as a third of the embedded
model. On a CPU attention can compute only what is seen: a chunk of queries takes the keys that any of them sees.
transformers' eager attention computes all pairs, and torch's fused one (sdpa) has a backward pass on CPU that takes
three times as long as eager's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ModelError
from evenhand.float32 import float32_head

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


def common(first: Tokens, second: Tokens) -> int:
    """How many tokens two sequences begin with alike."""
    n_tokens = min(len(first), len(second))
    differ = first[:n_tokens] != second[:n_tokens]
    return int(differ.argmax()) if differ.any() else n_tokens


def padded_rows(trees: Sequence[Tree], pad: int) -> "dict[str, Tensor]":
    """Rows padded on the right to the longest: input_ids and position_ids (B, T), and which tokens see which.

    The last is `attention_mask` (B, T) of ones and zeros where no row branches, so that a model's own causal attention
    serves, else `reach` (B, T), of which attention_argument makes the mask. Padding reaches itself alone.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    def padded(columns: Sequence[Columns], value: int = 0) -> "Tensor":
        return pad_sequence([torch.from_numpy(row) for row in columns], batch_first=True, padding_value=value)

    rows = {"input_ids": padded([tree.tokens for tree in trees], pad)}
    rows["position_ids"] = padded([tree.depths for tree in trees])
    if any(tree.branches for tree in trees):
        reach = padded([tree.reach for tree in trees])  # of a token at least its own column
        return {**rows, "reach": reach.maximum(torch.arange(1, reach.shape[1] + 1))}
    return {**rows, "attention_mask": padded([np.ones_like(tree.tokens) for tree in trees])}


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


ATTENTION = {"full_attention", "sliding_attention"}  # layer types


def logits_at(model: Any, rows: "Mapping[str, Tensor]", places: "Tensor", unwrapped: Any | None = None) -> "Tensor":
    """The float32 logits (N, vocabulary) at N places (N, 2), row and column, with gradient where gradients are on.

    rows: made by token_trees.padded_rows, on the model's device. model: as wrapped for training. unwrapped: the causal
    language model inside it, if it is wrapped. Raises ModelError where a row branches and a layer reads more than its
    mask names.
    """
    inner = model if unwrapped is None else unwrapped
    inputs: dict[str, Any] = {name: rows[name] for name in ("input_ids", "position_ids")}
    if "reach" in rows:
        check_not_recurrent(inner)
        reach = rows["reach"]
        dtype = computing_dtype(reach.device.type, inner.dtype)
        inputs["attention_mask"] = attention_argument(inner.config, reach, rows["position_ids"], dtype)
    else:
        inputs["attention_mask"] = rows["attention_mask"]
    head = inner.get_output_embeddings()
    at_places = head.register_forward_pre_hook(lambda _, hidden: (hidden[0][places[:, 0], places[:, 1]],))
    with at_places, float32_head(inner):  # leaving it removes the hook
        logits: Tensor = model(**inputs, use_cache=False).logits
    return logits


def check_not_recurrent(model: Any) -> None:
    """Raises ModelError for a model with a layer that takes a row as one sequence: it would mix the paths of a tree."""
    layers = {*(getattr(model.config.get_text_config(), "layer_types", None) or ())} - ATTENTION
    if layers or model._is_stateful:
        kinds = f" ({', '.join(sorted(layers))})" if layers else ""
        raise ModelError(
            f"a model of type {model.config.model_type} has layers that take a row as one sequence{kinds}: set "
            "row_tokens to 0 (of engine or optimiser), and for dpo examples.loss_on_eos to false"
        )


def computing_dtype(device: str, own: "torch.dtype") -> "torch.dtype":
    """What attention computes in on a kind of device: autocast's dtype where that is on, else its own.

    A mask in another would be converted in every layer, and each of the copies kept for the backward pass.
    """
    import torch

    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else own


# As transformers knows it: with scores in the model's dtype, and, to measure by, in float32. In bf16 the large ones of
# Qwen2.5 moved margins by 0.027 nats on average; in float32 by 0.012, as with torch's fused attention.
SEEN_COLUMNS = "seen_columns"
IN_FLOAT32 = "seen_columns_float32"
CHUNK, LEAST = 160, 48  # queries of a chunk, at most, and for it to end with a branch


def attend_to_seen_columns(model: Any, *, in_float32: bool = False) -> None:
    """Have a transformers model attend so, if its attention is plain; in_float32: scores and their softmax."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    if not model._supports_sdpa:  # it has something of its own in its attention, such as sinks
        return
    for name, function in ((SEEN_COLUMNS, attend), (IN_FLOAT32, partial(attend, in_float32=True))):
        AttentionInterface.register(name, function)
        AttentionMaskInterface.register(name, boolean_mask)
    model.set_attn_implementation(IN_FLOAT32 if in_float32 else SEEN_COLUMNS)


def attend(
    module: Any,
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    attention_mask: "Tensor",
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    in_float32: bool = False,
    **_: Any,
) -> "tuple[Tensor, None]":
    """(B, T, H, D) as transformers' eager attention gives it, of query (B, H, T, D), key and value (B, G, S, D).

    attention_mask: (B, 1, T, S), true where the token of the row attends to that of the column.
    """
    import torch

    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    device = query.device.type
    dtype = computing_dtype(device, query.dtype)
    query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)  # rotary positions can widen the first two
    of_scores = torch.float32 if in_float32 else dtype
    query, key = query.to(of_scores), key.to(of_scores)
    grouped = query.reshape(query.shape[0], key.shape[1], -1, *query.shape[2:])  # (B, G, H/G, T, D)
    cuts, blocks = blocks_of(attention_mask, of_scores)
    chunks = []
    with torch.autocast(device, enabled=False):  # under which softmax would be float32, and copied twice
        for queries, (columns, bias) in zip(torch.tensor_split(grouped, cuts, 3), blocks, strict=True):
            keys, values = (x.index_select(2, columns).flatten(0, 1) for x in (key, value))  # (B G, seen, D)
            rows = queries.flatten(0, 1).flatten(1, 2)  # (B G, H/G queries, D)
            bias = bias[:, None].expand(*queries.shape[:4], -1).reshape(*rows.shape[:2], len(columns))
            if softcap is None:
                scores = torch.baddbmm(bias, rows, keys.mT, alpha=scaling)
            else:
                scores = bias + softcap * torch.tanh(rows @ keys.mT * (scaling / softcap))
            weights = torch.nn.functional.dropout(scores.softmax(-1).to(dtype), dropout, module.training)
            chunks.append((weights @ values).view(queries.shape))
    return torch.cat(chunks, 3).flatten(1, 2).transpose(1, 2).contiguous(), None


def blocks_of(mask: Any, dtype: "torch.dtype") -> "tuple[list[int], list[tuple[Tensor, Tensor]]]":
    """Where queries are cut into chunks; for each the columns that one of it sees, and what is added to their scores.

    mask: (B, 1, T, S), of a chunk with n queries (B, 1, n, seen). Made once for all layers, and kept at the mask.
    A chunk ends where a branch does if it has LEAST queries by then: the next branch sees few of the same columns.
    """
    import torch

    by_dtype: dict[torch.dtype, Any] = vars(mask).setdefault("blocks", {})
    if dtype not in by_dtype:
        width = mask.shape[2]
        begins = (~mask.diagonal(-1, 2, 3)).all(0)[0].nonzero()[:, 0] + 1  # a branch does not see the token before it
        cuts = [0]
        for place in [*begins.tolist(), width]:
            cuts += range(cuts[-1] + CHUNK, place, CHUNK)
            if cuts[-1] + LEAST <= place < width:
                cuts.append(place)
        blocks = []
        for chunk in torch.tensor_split(mask, cuts[1:], 2):
            columns = chunk.any((0, 1, 2)).nonzero()[:, 0]
            seen = chunk[..., columns]
            bias = torch.zeros(seen.shape, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min)
            blocks.append((columns, bias))
        by_dtype[dtype] = cuts[1:], blocks
    return by_dtype[dtype]  # type: ignore[no-any-return]


def boolean_mask(*arguments: Any, **more: Any) -> "Tensor":
    """(B, 1, T, S) for rows that do not branch, as transformers asks for it; never None, which would mean causal."""
    from transformers.masking_utils import sdpa_mask

    mask: Tensor | None = sdpa_mask(*arguments, **{**more, "allow_is_causal_skip": False})
    assert mask is not None
    return mask

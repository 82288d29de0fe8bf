"""Attention on CPU that computes only what is seen: of a row whose tokens see a fifth of each other, as in trees.

A chunk of queries takes the keys that any of them sees. transformers' eager attention computes all pairs, and torch's
fused one (sdpa) has a backward pass on CPU that takes three times as long as eager's.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

# As transformers knows it: with scores in the model's dtype, and, to measure by, in float32. In bf16 the large ones of
# Qwen2.5 moved margins by 0.027 nats on average; in float32 by 0.012, as with torch's fused attention.
SEEN_COLUMNS = "seen_columns"
IN_FLOAT32 = "seen_columns_float32"
CHUNK = 128  # queries


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
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else query.dtype
    query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)  # rotary positions can widen the first two
    of_scores = torch.float32 if in_float32 else dtype
    query, key = query.to(of_scores), key.to(of_scores)
    grouped = query.reshape(query.shape[0], key.shape[1], -1, *query.shape[2:])  # (B, G, H/G, T, D)
    chunks = []
    with torch.autocast(device, enabled=False):  # under which softmax would be float32, and copied twice
        for queries, mask in zip(torch.split(grouped, CHUNK, 3), torch.split(attention_mask, CHUNK, 2), strict=True):
            columns = mask.any((0, 1, 2)).nonzero()[:, 0]
            keys, values = (x.index_select(2, columns).flatten(0, 1) for x in (key, value))  # (B G, seen, D)
            seen = mask[..., columns]
            bias = torch.zeros(seen.shape, dtype=of_scores).masked_fill_(~seen, torch.finfo(of_scores).min)
            rows = queries.flatten(0, 1).flatten(1, 2)  # (B G, H/G queries, D)
            bias = bias[:, None].expand(*queries.shape[:4], -1).reshape(*rows.shape[:2], len(columns))
            if softcap is None:
                scores = torch.baddbmm(bias, rows, keys.mT, alpha=scaling)
            else:
                scores = bias + softcap * torch.tanh(rows @ keys.mT * (scaling / softcap))
            weights = torch.nn.functional.dropout(scores.softmax(-1).to(dtype), dropout, module.training)
            chunks.append((weights @ values).view(queries.shape))
    return torch.cat(chunks, 3).flatten(1, 2).transpose(1, 2).contiguous(), None


def boolean_mask(*arguments: Any, **more: Any) -> "Tensor":
    """(B, 1, T, S) for rows that do not branch, as transformers asks for it; never None, which would mean causal."""
    from transformers.masking_utils import sdpa_mask

    mask: Tensor | None = sdpa_mask(*arguments, **{**more, "allow_is_causal_skip": False})
    assert mask is not None
    return mask

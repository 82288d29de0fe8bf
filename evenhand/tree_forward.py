"""One forward pass of a causal language model over rows of token trees → logits at some of their positions.

Only those positions go through the head: it is as large as a third of the embedded model, and a prompt of 200 tokens
needs it at one or two of them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evenhand.errors import ModelError
from evenhand.float32_head import float32_head
from evenhand.token_trees import attention_argument

if TYPE_CHECKING:
    import torch
    from torch import Tensor

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
        refuse_recurrent(inner)
        reach = rows["reach"]
        dtype = computing_dtype(inner, reach.device.type)
        inputs["attention_mask"] = attention_argument(inner.config, reach, rows["position_ids"], dtype)
    else:
        inputs["attention_mask"] = rows["attention_mask"]
    with scoring_at(inner, places[:, 0], places[:, 1]), float32_head(inner):
        logits: Tensor = model(**inputs, use_cache=False).logits
    return logits


def refuse_recurrent(model: Any) -> None:
    """Raises ModelError for a model with a layer that takes a row as one sequence: it would mix the paths of a tree."""
    others = {*(getattr(model.config.get_text_config(), "layer_types", None) or ())} - ATTENTION
    if others or model._is_stateful:
        kinds = f" ({', '.join(sorted(others))})" if others else ""
        raise ModelError(
            f"a model of type {model.config.model_type} has layers that take a row as one sequence{kinds}, so it mixes "
            "up prompts that share one. Set engine.row_tokens to 0 in a sampling config; in a training config "
            "optimiser.row_tokens, and where preferences are trained examples.loss_on_eos to false as well"
        )


@contextmanager
def scoring_at(model: Any, rows: "Tensor", columns: "Tensor") -> Iterator[None]:
    """Within it, a causal language model's logits are those of N positions (rows, columns) alone: (N, vocabulary)."""
    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, inputs: (inputs[0][rows, columns],))
    try:
        yield
    finally:
        hook.remove()


def computing_dtype(model: Any, device: str) -> "torch.dtype":
    """What a model's attention computes in on a kind of device: autocast's dtype where that is on, else its weights'.

    A mask in another would be converted in every layer, and each of the copies kept for the backward pass.
    """
    import torch

    dtype: torch.dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else model.dtype
    return dtype

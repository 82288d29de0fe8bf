"""A model's logits in float32, for models that compute in bf16 or fp16.

In bf16 a logit between 16 and 32 moves in steps of 0.125: margins take few values, and many are exactly 0. The head's
products in float32 cost nothing beside the layers, since only the positions behind prompts go through it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

# Of the head's weights held in float32 at once: 256 MB at 4,096 columns, where Gemma-3-12B's whole head takes 4 GB.
ROWS = 16_384


@contextmanager
def float32_head(model: Any) -> Iterator[None]:
    """Within it, a causal language model's head gives float32 logits, with gradient to the hidden states.

    Logits that are float32 or float64 anyway stay as they are.
    """
    head = model.get_output_embeddings()
    linear = getattr(head, "base_layer", head)  # of a head with an adapter of its own
    # Before hooks that are there already: DeepSpeed's takes the gathered weight away again.
    hook = linear.register_forward_hook(in_float32, prepend=True)
    try:
        yield
    finally:
        hook.remove()


def in_float32(linear: Any, inputs: "tuple[Tensor]", output: "Tensor") -> "Tensor":
    """A linear layer's output, computed again in float32 where it is in half precision: a hook."""
    import torch
    from torch.utils.checkpoint import checkpoint

    if output.dtype not in (torch.bfloat16, torch.float16):
        return output
    with torch.autocast(output.device.type, enabled=False):
        hidden = inputs[0].float()
        # Checkpointed, since the backward pass would keep all float32 rows.
        blocks = [
            checkpoint(product, hidden, rows, use_reentrant=False, preserve_rng_state=False)
            for rows in linear.weight.split(ROWS)
        ]
        logits = torch.cat(blocks, dim=-1)
        return logits if linear.bias is None else logits + linear.bias.float()


def product(hidden: "Tensor", rows: "Tensor") -> "Tensor":
    """Float32 hidden states (..., H) times rows of a weight (V, H) → (..., V) in float32."""
    return hidden @ rows.float().T

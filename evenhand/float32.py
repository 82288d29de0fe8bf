"""A model's logits in float32, and the faster of torch's two libraries for float32 products on a CPU.

In bf16 a logit between 16 and 32 moves in steps of 0.125: margins take few values, and many are exactly 0. The head's
products in float32 cost nothing beside the layers, since only the positions behind prompts go through it. On a CPU a
float32 copy of the head's weight is kept, which would otherwise be made twice a step: a seventh of its time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

# Of the head's weights held in float32 at once: 256 MB at 4,096 columns, where Gemma-3-12B's whole head takes 4 GB.
ROWS = 16_384
COPIES_ON = ("cpu",)  # devices whose memory a float32 copy of the weight may take


@contextmanager
def float32_head(model: Any) -> Iterator[None]:
    """Within it, a causal language model's head gives float32 logits, with gradient to the hidden states.

    Logits that are float32 or float64 anyway stay as they are.
    """
    head = model.get_output_embeddings()
    linear = getattr(head, "base_layer", head)  # of a head with an adapter of its own
    before = vars(linear).get("forward")  # accelerate's, where a model lies on several GPUs
    linear.forward = lambda hidden: in_float32(linear, hidden)
    try:
        yield
    finally:
        del linear.forward
        if before is not None:
            linear.forward = before


def in_float32(linear: Any, hidden: "Tensor") -> "Tensor":
    """A linear layer's output, at once in float32 where its weight or autocast has half precision."""
    import torch
    from torch.utils.checkpoint import checkpoint

    weight, bias = linear.weight, linear.bias
    with torch.autocast(hidden.device.type, enabled=False):
        if weight.dtype.itemsize > 2 or weight.device.type in COPIES_ON:
            weight = float32_weight(linear)
            return torch.nn.functional.linear(hidden.to(weight), weight, bias if bias is None else bias.to(weight))
        hidden = hidden.to(weight.device, torch.float32)
        # Checkpointed, since the backward pass would keep all float32 rows.
        times = partial(checkpoint, lambda rows: hidden @ rows.float().T, use_reentrant=False, preserve_rng_state=False)
        logits = torch.cat([times(rows) for rows in weight.split(ROWS)], dim=-1)
        return logits if bias is None else logits + bias.float()


def float32_weight(linear: Any) -> "Tensor":
    """A linear layer's weight in float32 (or wider, where it is); of one that does not train, kept at the layer."""
    import torch

    weight: Tensor = linear.weight
    if weight.dtype not in (torch.bfloat16, torch.float16):
        return weight
    if weight.requires_grad and torch.is_grad_enabled():
        return weight.float()
    now = (weight.data_ptr(), weight._version)
    if vars(linear).get("float32_copy", (None,))[0] != now:
        with torch.inference_mode(False):
            # With what it was copied from, whose place in memory no other weight can take then.
            linear.float32_copy = now, weight.detach(), weight.detach().float()
    copy: Tensor = linear.float32_copy[2]
    return copy


def use_onednn() -> None:
    """Have oneDNN multiply float32 matrices where it does so in float32: in half the time of torch's default, MKL.

    It is asked for by allowing bf16 inside. CPUs that then round to bf16 (with AMX) keep the default.
    """
    import torch

    products = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    default = products.fp32_precision
    products.fp32_precision = "bf16"
    exact = torch.full((256, 256), 257.0)  # nine bits, one more than bf16 has
    if not bool(((exact @ torch.eye(256)) == exact).all()):
        products.fp32_precision = default

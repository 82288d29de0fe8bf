"""The merge itself, one layer at a time: base weight + adapter in fp32, rounded to bf16. No whole model in fp32.

At any moment memory holds the base as it was loaded (bf16, or NF4 turning into bf16 layer by layer) and one layer more.
"""

import hashlib
from collections import Counter
from typing import Any

import torch
from bitsandbytes.functional import dequantize_4bit
from bitsandbytes.nn import Linear4bit
from peft.tuners.lora import LoraLayer

from evenhand.errors import ModelError

ROUNDING_SEED = 0
ADAPTER = "default"  # PEFT's name for the only adapter
WRAPPING = "base_model.model."  # what PEFT puts before the names of the base's modules


@torch.no_grad()
def merge_adapter(wrapped: Any, seed: int = ROUNDING_SEED) -> Any:
    """The plain bf16 model whose weights are base + adapter. `wrapped`, a PeftModel, is used up.

    The noise of the rounding is drawn for each layer by its name: the same run and seed give the same weights on the
    same kind of device, in whatever order layers come. Raises ModelError for an adapter that is no plain LoRA, one on
    a weight that another module shares, and sums that are no numbers.
    """
    refuse_other_adapters(wrapped.peft_config[ADAPTER])
    n_holders = Counter(id(held) for module in wrapped.modules() for held in module.parameters(recurse=False))
    layers = {name: module for name, module in wrapped.named_modules() if isinstance(module, LoraLayer)}
    for wrapped_name, layer in layers.items():
        name = wrapped_name.removeprefix(WRAPPING)
        if n_holders[id(layer.get_base_layer().weight)] > 1:
            raise ModelError(
                f"the adapter changes {name}, whose weight another module shares (tied embeddings): merged, it would "
                "change both. Leave it out of lora.target_modules and train again"
            )
        plain = unquantised(layer.get_base_layer())
        # The base's values lie on the bf16 grid; NF4 values held in float32 are brought to it first, so that the noise
        # of the rounding falls on the adapter's share alone.
        exact = plain.weight.to(torch.bfloat16).float() + layer.get_delta_weight(ADAPTER).float()
        if not torch.isfinite(exact).all():
            raise ModelError(f"{name}: base + adapter is not finite, so the run has diverged; train it again")
        plain.weight.data = round_to_bf16(exact, generator_for(name, seed, exact.device))
        layer.base_layer = plain
    return unquantised_model(wrapped.unload())


def refuse_other_adapters(config: Any) -> None:
    """Raises ModelError when an adapter holds more than factors A and B, which is all that is added here."""
    for key in ("use_dora", "lora_bias", "modules_to_save", "trainable_token_indices"):
        if getattr(config, key, None):
            raise ModelError(f"the adapter was made with {key}; Evenhand merges plain LoRA adapters alone")


def unquantised(layer: Any) -> Any:
    """A 4-bit layer as a plain one, with the values that training computed with in bf16; a plain layer as it is."""
    if not isinstance(layer, Linear4bit):
        return layer
    values = dequantize_4bit(layer.weight.data, layer.weight.quant_state)
    with torch.device("meta"):
        plain = torch.nn.Linear(layer.in_features, layer.out_features, bias=False)
    plain.weight = torch.nn.Parameter(values.to(torch.bfloat16), requires_grad=False)
    plain.bias = layer.bias
    return plain


def unquantised_model(model: Any) -> Any:
    """The model without any 4-bit layer, every weight in bf16, and nothing in its config that says otherwise."""
    for name in [name for name, module in model.named_modules() if isinstance(module, Linear4bit)]:
        model.set_submodule(name, unquantised(model.get_submodule(name)))
    if getattr(model, "hf_quantizer", None) is not None:
        model.hf_quantizer.remove_quantization_config(model)
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    return model


def generator_for(name: str, seed: int, device: torch.device) -> torch.Generator:
    """The source of a layer's rounding noise."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8]) >> 1)


def round_to_bf16(weights: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """fp32 weights as bf16, rounded up or down at random so that the expected value is the weight itself.

    The base's weights lie on the bf16 grid. An adapter trained shortly moves most of them by less than half a step of
    it, and rounding to the nearest would take them back: margins of a DPO run shrank by a quarter. Weights that
    are on the grid stay as they are.
    """
    below_grid = 1 << 16  # bf16 is the upper half of fp32's bits; a carry out of the lower half is one step up
    bits = torch.randint(below_grid, weights.shape, dtype=torch.int32, device=weights.device, generator=generator)
    bits += weights.contiguous().view(torch.int32)
    bits &= -below_grid
    return bits.view(torch.float32).to(torch.bfloat16)

"""The frozen base in NF4, and the adapter on it. The same on CPU and CUDA."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from peft.tuners.lora import LoraLayer
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, BitsAndBytesConfig
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key
from transformers.quantizers import AutoHfQuantizer

from evenhand.checkpoints import load_model
from evenhand.config import did_you_mean
from evenhand.device import on_gpu, torch_device
from evenhand.errors import ConfigError
from evenhand.token_trees import attend_to_seen_columns
from training.config import TrainingConfig
from training.run_folder import check_not_merged_on_nf4
from training.sections import LoraSettings, QuantisationConfig

# Gemma-3's image encoder has projections of the same names; a judge of text trains none of it.
NOT_LANGUAGE = r".*(vision_tower|vision_model|multi_modal_projector).*"
READS_AS = {"k_proj": "q_proj", "v_proj": "q_proj", "up_proj": "gate_proj"}  # a layer → one that reads the same input


def load_base(
    folder: Path, quantisation: QuantisationConfig, *, attention: str | None = None, spread: bool = False
) -> Any:
    """The frozen base model on this process's device: NF4 as the paper's (Table 34), or unquantised.

    Weights that are not quantised, or dequantised, are held in the dtype that they are multiplied in: autocast would
    cast others in each forward pass, and keep the copies for the backward pass.
    attention: a transformers attention implementation; None takes our own on CPU (evenhand.token_trees), and the
    model's default on CUDA.
    spread: its layers lie on all GPUs that torch sees, to be asked and not trained.
    Raises ModelError when the checkpoint cannot be loaded, or would be on the CPU by accident (evenhand.device).
    """
    is_gpu = torch_device() == "cuda"
    dtype = getattr(torch, quantisation.compute_dtype)
    arguments: dict[str, Any] = {"dtype": dtype, "attn_implementation": attention or (None if is_gpu else "eager")}
    # Each process that `accelerate launch` starts takes its own GPU. The CPU is named too, for transformers puts 4-bit
    # weights on any GPU that torch sees.
    device: dict[str, int | str] = {"": int(os.environ.get("LOCAL_RANK", "0")) if is_gpu else "cpu"}
    arguments["device_map"] = "auto" if is_gpu and spread and torch.cuda.device_count() > 1 else device
    if quantisation.kind == "nf4":
        check_not_merged_on_nf4(folder)
        arguments["quantization_config"] = nf4_config(quantisation)
    model = load_model(folder, **arguments)
    keep_unpacked(model)
    if not is_gpu and attention is None:
        attend_to_seen_columns(model)
    if quantisation.kind == "nf4" and quantisation.weights == "dequantised":
        model = model.dequantize(dtype=dtype)
        model.requires_grad_(False)
    return model


def skeleton(folder: Path, quantisation: QuantisationConfig | None) -> Any:
    """The base without its weights, on torch's meta device, in bf16.

    quantisation: its layers are in NF4 where `load_base` has them so; None: none is.
    """
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, trust_remote_code=False)
    if quantisation:
        quantiser = AutoHfQuantizer.from_config(nf4_config(quantisation), pre_quantized=False)
        quantiser.preprocess_model(model, device_map={"": "cpu"})
    return model


def tensor_names(model: Any, names: Iterable[str]) -> dict[str, str]:
    """Name of a tensor in a weight file → its name in the model. Where transformers computes with another layout, such
    as experts in one tensor, that is the name of what it becomes a part of.
    """
    inside, changes = model.state_dict(), get_model_conversion_mapping(model)
    renamings = [change for change in changes if isinstance(change, WeightRenaming)]
    converters = [change for change in changes if isinstance(change, WeightConverter)]
    layout = renamings, converters, model.base_model_prefix, inside
    return {name: name if name in inside else rename_source_key(name, *layout)[0] for name in names}


def nf4_config(quantisation: QuantisationConfig) -> BitsAndBytesConfig:
    """What transformers is told of the 4-bit weights."""
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=quantisation.double_quant,
        bnb_4bit_compute_dtype=getattr(torch, quantisation.compute_dtype),
    )


def keep_unpacked(model: Any) -> None:
    """Keep bitsandbytes from repacking weights for inference on CPU, for good.

    On CPUs with AVX512-BF16 a 4-bit layer repacks its weights at its first forward pass in eval mode, and from then on
    no gradient flows through it, in train mode too: only around it, by the residual connections. An evaluation, or
    DPO's reference pass before training, would spoil the run without an error.
    """
    from bitsandbytes.nn import Linear4bit

    for module in model.modules():
        if isinstance(module, Linear4bit):
            module.support_avx512bf16_for_cpu = False


def autocast(config: TrainingConfig, model: Any) -> torch.autocast:
    """Context manager: forward passes in the precision of training."""
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(config.optimiser.mixed_precision)
    return torch.autocast(model.device.type, dtype or torch.bfloat16, enabled=dtype is not None)


def check_precision(config: TrainingConfig) -> None:
    """Raises ConfigError for fp16 on a CPU, which torch has not."""
    if config.optimiser.mixed_precision == "fp16" and not on_gpu():
        raise ConfigError("optimiser.mixed_precision: fp16 needs a GPU; write bf16 or no")


def lora_config(settings: LoraSettings, model: Any) -> LoraConfig:
    """The adapter for a model as PEFT wants it.

    Raises ConfigError for a target module that is no layer of the model, or that shares its weight with another.
    """
    kinds = (torch.nn.Linear, torch.nn.Embedding)
    layers = {name.rpartition(".")[2]: layer for name, layer in model.named_modules() if isinstance(layer, kinds)}
    n_holders = Counter(id(weight) for module in model.modules() for weight in module.parameters(recurse=False))
    for target in settings.target_modules:
        if target not in layers:
            near = did_you_mean(target, sorted(layers))
            raise ConfigError(f"lora.target_modules: the model has no '{target}' of its layers. {near}")
        if n_holders[id(layers[target].weight)] > 1:
            raise ConfigError(
                f"lora.target_modules: {target} shares its weight with another layer (tied embeddings); leave it out"
            )
    sees = any(re.fullmatch(NOT_LANGUAGE, name) for name, _ in model.named_modules())
    return LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        bias="none",
        task_type="CAUSAL_LM",
        target_modules=list(settings.target_modules),
        exclude_modules=NOT_LANGUAGE if sees else None,
    )


def set_adapter_dtype(model: Any, settings: LoraSettings) -> None:
    """Give the trainable weights their dtype; for TRL's trainer, after it is built and before it trains.

    TRL casts the adapters of a quantised model to bf16, which has 8 bits of mantissa: an optimiser step of a few
    thousandths of a weight is lost. Pure bf16 adapters did not learn the embedded task at all.
    """
    dtype = getattr(torch, settings.dtype)
    for _, parameter in trainable(model):
        parameter.data = parameter.data.to(dtype)


class Adapters:
    """What PEFT adds to layers that read the same input, B A x alpha / r, in fewer passes over fewer numbers.

    alpha / r and dropout's scale multiply the r numbers of each token between A and B. Without dropout the layers have
    one product with all of their A.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers = layers
        self.forget()

    def forget(self, *_: Any) -> None:
        """Let go of the input and of what A made of it, also where the forward pass ended in an error."""
        self.input: Tensor | None = None
        self.products: dict[Any, Tensor] = {}  # for layers that have not computed yet

    def forward(self, layer: Any, active_adapter: str, x: Tensor, result: Tensor, **_: Any) -> Tensor:
        """A layer's output, of its input x and of what the frozen weights make of x (as a variant of PEFT's)."""
        dropout, scale = layer.lora_dropout[active_adapter], layer.scaling[active_adapter]
        if len(self.layers) > 1:
            if self.input is not x:
                weights = torch.cat([reader.lora_A[active_adapter].weight for reader in self.layers])
                low = torch.nn.functional.linear(multiplied_as(weights, x), weights)
                self.input, self.products = x, dict(zip(self.layers, low.chunk(len(self.layers), -1), strict=True))
            low = self.products.pop(layer)
        else:
            if dropout.training and isinstance(dropout, torch.nn.Dropout) and x.device.type == "cpu":
                x, scale = x * kept(x, dropout.p), scale / (1 - dropout.p)
            else:  # on a GPU one kernel draws and scales
                x = dropout(x)
            low = layer.lora_A[active_adapter](multiplied_as(layer.lora_A[active_adapter].weight, x))
        added: Tensor = result + layer.lora_B[active_adapter](low * scale)
        return added


def multiplied_as(weights: Tensor, x: Tensor) -> Tensor:
    """x in the weights' dtype; under autocast, which gives both its own, as it is."""
    return x if torch.is_autocast_enabled(x.device.type) else x.to(weights.dtype)


def kept(like: Tensor, rate: float) -> Tensor:
    """Ones, and with probability `rate` (to 1 in 65,536) zeros. Drawn four at a time: on a CPU torch draws number by
    number in one thread, an eighth of a step.
    """
    draws = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(torch.iinfo(torch.int64).min, None)
    is_kept = draws.view(torch.int16)[: like.numel()] >= round(rate * 2**16) - 2**15
    return is_kept.view(like.shape).to(like.dtype)


def multiply_at_rank(model: Any) -> None:
    """Have a PEFT model's layers add their adapters as `Adapters` does, under autocast of the input as it is."""
    for block in model.modules():
        groups: dict[str, list[Any]] = defaultdict(list)
        for name, layer in block.named_children():
            if isinstance(layer, LoraLayer):
                shares = not any(isinstance(part, torch.nn.Dropout) for part in layer.lora_dropout.values())
                groups[READS_AS.get(name, name) if shares else name].append(layer)
        for layers in groups.values():
            adapters = Adapters(layers)
            block.register_forward_hook(adapters.forget, always_call=True)
            for layer in layers:
                layer.cast_input_dtype_enabled = False
                layer.lora_variant = dict.fromkeys(layer.lora_A, adapters)


def trainable(model: Any) -> Iterator[tuple[str, Any]]:
    """Name and tensor of every weight that trains."""
    return ((name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad)


def gradient_norm(model: Any) -> float:
    """The norm of this process's gradients; once clipped, NaN if any was not finite."""
    gradients = [parameter.grad for _, parameter in trainable(model) if parameter.grad is not None]
    return float(torch.nn.utils.get_total_norm(gradients))

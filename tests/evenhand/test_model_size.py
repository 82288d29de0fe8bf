"""Sizes from config.json alone: they are those of the real models."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
)

from evenhand.errors import ModelError
from evenhand.model_size import PROJECTIONS, PUBLISHED, model_size

SMALL: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 500,
}
MODELS = [
    Qwen2Config(**SMALL),
    Qwen2Config(**SMALL, tie_word_embeddings=True),
    Qwen3Config(**SMALL),
    LlamaConfig(**SMALL, attention_bias=True, mlp_bias=True),
    LlamaConfig(**SMALL, head_dim=32),
    MistralConfig(**SMALL, sliding_window=None),
    Gemma2Config(**SMALL),
    Gemma3TextConfig(**SMALL, sliding_window=64),
]


def on_meta(config: PreTrainedConfig) -> Any:
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def as_published(config: PreTrainedConfig, folder: Path) -> dict[str, Any]:
    config.save_pretrained(folder)
    return dict(json.loads((folder / "config.json").read_text()))


@pytest.mark.parametrize("config", MODELS, ids=lambda config: config.model_type)
def test_parameters_and_windows_are_those_of_the_model_that_transformers_builds(
    config: PreTrainedConfig, tmp_path: Path
) -> None:
    model, size = on_meta(config), model_size(as_published(config, tmp_path))
    assert size.n_parameters == sum(weights.numel() for weights in model.parameters())
    assert list(size.windows) == [getattr(layer.self_attn, "sliding_window", None) for layer in model.model.layers]


def test_the_adapter_and_the_quantised_layers_are_counted_as_peft_and_bitsandbytes_find_them(tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    config = Qwen2Config(**SMALL)
    model, size = on_meta(config), model_size(as_published(config, tmp_path))
    linear = {name: m for name, m in model.named_modules() if isinstance(m, torch.nn.Linear) and name != "lm_head"}
    assert size.n_linear == sum(module.weight.numel() for module in linear.values())
    adapter = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "down_proj"]))
    assert size.n_lora(8, ("q_proj", "down_proj")) == adapter.get_nb_trainable_parameters()[0]


# Billions of parameters, as their publishers name them; of Gemma-3-12B the language model's, without the image encoder.
@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 7.616),
        ("meta-llama/Llama-3.1-8B-Instruct", 8.030),
        ("mistralai/Mistral-7B-Instruct-v0.3", 7.248),
        ("google/gemma-3-12b-it", 11.766),
    ],
)
def test_published_models_have_their_published_parameters(name: str, billions: float) -> None:
    assert model_size(PUBLISHED[name]).n_parameters / 1e9 == pytest.approx(billions, abs=5e-4)


def test_flops_of_a_forward_pass_are_those_that_torch_counts(tmp_path: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    config = Qwen2Config(**SMALL, attn_implementation="eager")
    model, size = on_meta(config), model_size(as_published(config, tmp_path))
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(3, 40, dtype=torch.long, device="meta"))
    # eager attention also multiplies what the mask hides, so every token sees all 40
    assert size.forward_flops(3 * 40, context=40, n_scored=3 * 40) == counter.get_total_flops()


@pytest.mark.parametrize(("dtype", "dropout"), [("float32", 0.05), ("float32", 0.0), ("bfloat16", 0.0)])
@pytest.mark.parametrize("config", [MODELS[0], MODELS[-1]], ids=lambda config: config.model_type)
def test_what_a_block_keeps_for_the_backward_pass_is_what_autograd_keeps(
    config: PreTrainedConfig, dtype: str, dropout: float, tmp_path: Path
) -> None:
    size = model_size(as_published(config, tmp_path))
    found = kept_by_autograd(config, getattr(torch, dtype), dropout, n_tokens=128)
    estimate = size.activation_bytes(dtype, checkpointing=False, mask_bytes=size_of_mask(dtype, dropout))
    final_norm = 4 * size.hidden
    assert estimate + final_norm == pytest.approx(found, rel=0.08)


def size_of_mask(dtype: str, dropout: float) -> int:
    return (4 if dtype == "float32" else 2) if dropout else 0


def kept_by_autograd(config: PreTrainedConfig, dtype: torch.dtype, dropout: float, n_tokens: int) -> float:
    """Bytes a token that autograd saves of a forward pass with adapters on all projections, weights not counted."""
    from peft import LoraConfig, get_peft_model

    base = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", dtype=dtype).requires_grad_(False)
    model = get_peft_model(base, LoraConfig(r=2, lora_dropout=dropout, target_modules=list(PROJECTIONS))).train()
    for module in model.modules():
        if hasattr(module, "cast_input_dtype_enabled"):
            module.cast_input_dtype_enabled = False
    own = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    half = torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor), half:
        model(torch.zeros(1, n_tokens, dtype=torch.long), logits_to_keep=1)
    return sum(kept.values()) / n_tokens


def test_an_unknown_architecture_and_a_config_without_its_shape_are_refused() -> None:
    with pytest.raises(ModelError, match=r"model_type 'mamba'.*qwen2"):
        model_size({"model_type": "mamba"})
    with pytest.raises(ModelError, match="says no hidden_size"):
        model_size({"model_type": "llama", **{key: value for key, value in SMALL.items() if key != "hidden_size"}})
    for damaged in ("x", 0, None):
        with pytest.raises(ModelError, match="says no num_attention_heads"):
            model_size({"model_type": "llama", **SMALL, "num_attention_heads": damaged, "text_config": "x"})

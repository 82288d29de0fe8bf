"""Sizes from config.json alone: they are those of the real models."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from evenhand.cli.doctor.model import PUBLISHED, model_size
from evenhand.errors import ModelError
from evenhand.files import shipped_yaml

SIZES = shipped_yaml(Path(__file__).with_name("sizes.yaml"))
SMALL = SIZES["small"]
QWEN = AutoConfig.for_model("qwen2", **SMALL)
MODELS = [AutoConfig.for_model(**SMALL, **keys) for keys in SIZES["models"]]


def on_meta(config):
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def as_published(config, folder):
    config.save_pretrained(folder)
    return dict(json.loads((folder / "config.json").read_text()))


@pytest.mark.parametrize("config", MODELS, ids=lambda config: config.model_type)
def test_the_size_is_that_of_the_text_model_that_transformers_builds(config, tmp_path):
    model, size = on_meta(config), model_size(as_published(config, tmp_path))
    assert size.n_parameters == sum(weights.numel() for weights in model.parameters())
    assert size.n_linear == sum(
        module.weight.numel()
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and name != "lm_head"
    )
    n_hidden = 2 * (2 if config.model_type.startswith("gemma") else 1) * 64
    has_query_key_norm = config.model_type in ("qwen3", "gemma3_text")
    assert size.norm_outputs == n_hidden + has_query_key_norm * (4 + 2) * getattr(config, "head_dim", 0)


def test_layers_without_a_sliding_window_see_everything():
    kinds = model_size({"model_type": "gemma3_text", **SMALL, "sliding_window": 64}).windows
    assert kinds == (64, 64, 64, 64, 64, None, 64, 64)
    assert set(model_size({"model_type": "qwen2", **SMALL, "sliding_window": 64}).windows) == {None}


def test_the_adapter_is_counted_as_peft_finds_it(tmp_path):
    from peft import LoraConfig, get_peft_model

    model, size = on_meta(QWEN), model_size(as_published(QWEN, tmp_path))
    adapter = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "down_proj"]))
    assert size.n_lora(8, ("q_proj", "down_proj")) == adapter.get_nb_trainable_parameters()[0]


@pytest.mark.parametrize(("name", "billions"), SIZES["billions"])
def test_published_models_have_their_published_parameters(name, billions):
    size = model_size(PUBLISHED[name])
    assert size.n_parameters / 1e9 == pytest.approx(billions, abs=5e-4)


def test_flops_are_those_that_torch_counts_but_for_attention_and_head(tmp_path):
    from torch.utils.flop_counter import FlopCounterMode

    config = AutoConfig.for_model("qwen2", **SMALL, attn_implementation="eager")
    model, size = on_meta(config), model_size(as_published(config, tmp_path))
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(3, 40, dtype=torch.long, device="meta"))
    # eager attention also multiplies what the mask hides, so every token sees all 40
    attention, head = size.n_layers * 4 * config.hidden_size * 40, 2 * config.hidden_size * size.vocabulary
    assert size.flops(3 * 40) == counter.get_total_flops() - 3 * 40 * (attention + head)


def test_an_unknown_architecture_and_one_with_other_layers_are_refused():
    for config in (
        {"model_type": "no-such-model"},
        {"model_type": "mamba", "num_hidden_layers": 1},
        {"model_type": "olmo"},
        {},
    ):
        with pytest.raises(ModelError, match="the model's size is unknown"):
            model_size(config)

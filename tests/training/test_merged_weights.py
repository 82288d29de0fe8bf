"""The merge itself: the right sum layer by layer, rounded without bias, written in shards, of plain LoRA alone."""

from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file

from evenhand.errors import ModelError
from tests.made.training_runs import tiny_model
from training import merged_weights
from training.merged_checkpoint import adapted
from training.merged_weights import merge_adapter, round_to_bf16
from training.qlora import load_base
from training.run import ADAPTER_DIR
from training.sections import PROJECTIONS, QuantisationConfig

pytestmark = pytest.mark.slow
PROJECTION = "model.layers.1.mlp.up_proj.weight"
SCALE = 8 / 4  # alpha / r
BF16_BASE = QuantisationConfig(kind="none")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def run(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the adapter of a training run, drawn at random."""
    folder = tmp_path_factory.mktemp("run")
    torch.manual_seed(0)
    settings = LoraConfig(r=4, lora_alpha=8, target_modules=list(PROJECTIONS))
    wrapped = get_peft_model(load_base(model, BF16_BASE).float(), settings)
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.05)
    wrapped.save_pretrained(folder / ADAPTER_DIR)
    return folder


def lora_product(run: Path) -> torch.Tensor:
    weights = load_file(run / "adapter" / "adapter_model.safetensors")
    name = f"base_model.model.{PROJECTION.removesuffix('.weight')}"
    return SCALE * weights[f"{name}.lora_B.weight"] @ weights[f"{name}.lora_A.weight"]


def test_merged_weights_are_the_bf16_base_plus_the_adapter(run: Path, model: Path) -> None:
    merged = merge_adapter(adapted(run, model, BF16_BASE)).state_dict()
    base = load_base(model, BF16_BASE).state_dict()
    assert {tensor.dtype for tensor in merged.values()} == {torch.bfloat16}
    assert merged.keys() == base.keys()
    expected = (base[PROJECTION].float() + lora_product(run)).bfloat16()
    assert torch.allclose(merged[PROJECTION].float(), expected.float(), rtol=2**-7, atol=0)
    assert not torch.equal(merged[PROJECTION], base[PROJECTION])
    assert torch.equal(merged["model.norm.weight"], base["model.norm.weight"])


def test_updates_finer_than_bf16_survive_on_average() -> None:
    torch.manual_seed(0)
    base = (0.05 * torch.randn(512, 512)).bfloat16().float()
    update = 1e-5 * torch.randn(512, 4) @ torch.randn(4, 512)  # a tenth of a bf16 step of such weights

    def kept(rounded: torch.Tensor) -> float:
        return float(((rounded.float() - base) * update).sum() / (update * update).sum())

    assert kept((base + update).bfloat16()) < 0.5, "rounding to the nearest takes most of it back"
    assert kept(round_to_bf16(base + update, torch.Generator().manual_seed(0))) == pytest.approx(1, abs=0.1)


def test_onto_nf4_the_base_is_the_one_that_was_trained_with(run: Path, model: Path) -> None:
    nf4, base = QuantisationConfig(kind="nf4"), load_base(model, BF16_BASE).state_dict()[PROJECTION]
    merged = merge_adapter(adapted(run, model, nf4)).state_dict()
    trained_with = load_base(model, nf4).dequantize(dtype=torch.bfloat16).state_dict()[PROJECTION]
    expected = trained_with.float() + lora_product(run)
    assert torch.allclose(merged[PROJECTION].float(), expected, rtol=2**-7, atol=0)
    assert not torch.allclose(trained_with, base, rtol=0.05)
    assert {tensor.dtype for tensor in merged.values()} == {torch.bfloat16}


def test_no_more_than_a_layer_is_ever_in_fp32(run: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = adapted(run, model, BF16_BASE)
    held: list[set[torch.dtype]] = []

    def spy(weights: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        held.append({p.dtype for name, p in wrapped.named_parameters() if "lora_" not in name})
        return round_to_bf16(weights, generator)

    monkeypatch.setattr(merged_weights, "round_to_bf16", spy)
    merge_adapter(wrapped)
    assert held == [{torch.bfloat16}] * 14  # two layers of seven projections


def test_an_adapter_that_diverged_is_refused_by_the_layers_name(run: Path, model: Path) -> None:
    wrapped = adapted(run, model, BF16_BASE)
    wrapped.base_model.model.model.layers[1].mlp.up_proj.lora_B["default"].weight.data[0, 0] = float("inf")
    with pytest.raises(ModelError, match=r"model\.layers\.1\.mlp\.up_proj: base \+ adapter is not finite"):
        merge_adapter(wrapped)


def test_an_adapter_on_tied_embeddings_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "model", "gemma3")
    wrapped = get_peft_model(load_base(folder, BF16_BASE), LoraConfig(r=2, target_modules=["lm_head"]))
    with pytest.raises(ModelError, match=r"changes lm_head, whose weight another module shares .*target_modules"):
        merge_adapter(wrapped)
    wrapped = get_peft_model(load_base(folder, BF16_BASE), LoraConfig(r=2, target_modules=["q_proj"], use_dora=True))
    with pytest.raises(ModelError, match="made with use_dora"):
        merge_adapter(wrapped)

"""Accelerate's configs, and what is refused of them before a base model is loaded."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from accelerate.utils import DistributedType
from transformers import AutoModelForCausalLM, Gemma3Config

from evenhand.errors import ConfigError, ModelError
from tests.made.places import CONFIGS, ROOT
from tests.made.process_runs import accelerate_variables
from tests.made.training_runs import tiny_model, tiny_run
from training.qlora import load_base, refuse_blocked_gradients
from training.sections import QuantisationConfig
from training.sharding import (
    FILES,
    keep_gradients,
    layer_classes,
    prepare_sharding,
    refuse_wrong_sharding,
    sharding,
    storage_dtype,
)

LAUNCHERS = sorted((CONFIGS / "accelerate").glob("*.yaml"))
KINDS = {"fsdp-qlora": "fsdp", "deepspeed-zero3": "zero3"}
BF16 = {"mixed_precision": "bf16"}


def launch_with(monkeypatch: pytest.MonkeyPatch, file: Path, n: int = 2) -> None:
    """As in a process that `accelerate launch --config_file FILE` has started."""
    for name, value in accelerate_variables(file, n, 29500, ["--main_process_ip", "localhost"]).items():
        monkeypatch.setenv(name, value)


def config(method: str = "sft", **sections: Any) -> Any:
    return tiny_run(method, Path("model"), Path("runs"), **sections)


@pytest.mark.parametrize("file", LAUNCHERS, ids=lambda path: path.stem)
def test_every_accelerate_config_launches_what_its_name_says(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch_with(monkeypatch, file, 1 if file.stem in ("cpu", "one-gpu") else 2)
    assert sharding() == KINDS.get(file.stem, "none")
    refuse_wrong_sharding(config(optimiser=BF16))
    text = file.read_text()
    line = next(line for line in text.splitlines() if "accelerate launch" in line)
    assert f"--config_file configs/accelerate/{file.name}" in line
    assert yaml.safe_load(text)["mixed_precision"] == "no"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("fsdp_version", 1, "fsdp_version: 1 flattens weights of one dtype"),
        ("fsdp_cpu_ram_efficient_loading", True, "fsdp_cpu_ram_efficient_loading: true gives all processes but"),
    ],
)
def test_settings_of_fsdp_that_would_train_wrongly_are_refused(
    key: str, value: Any, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tree = yaml.safe_load((ROOT / FILES["fsdp"]).read_text())
    tree["fsdp_config"] |= {key: value, "fsdp_sync_module_states": True}
    file = tmp_path / "changed.yaml"
    file.write_text(yaml.safe_dump(tree))
    launch_with(monkeypatch, file)
    with pytest.raises(ConfigError, match=message):
        refuse_wrong_sharding(config(optimiser=BF16))


@pytest.mark.parametrize("kind", FILES)
def test_fp16_is_refused_where_weights_are_sharded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fp16 = config(optimiser={"mixed_precision": "fp16"})
    refuse_wrong_sharding(fp16)
    launch_with(monkeypatch, ROOT / FILES[kind])
    with pytest.raises(ConfigError, match=r"mixed_precision: fp16 .* sharded, write bf16"):
        refuse_wrong_sharding(fp16)


def trainer_of(kind: DistributedType, **state: Any) -> Any:
    """As much of a trainer as prepare_sharding looks at."""
    return SimpleNamespace(accelerator=SimpleNamespace(distributed_type=kind, state=SimpleNamespace(**state)))


def test_a_launch_that_would_not_shard_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """accelerate trains with DDP where FSDP was asked for and there is no GPU, without a word."""
    launch_with(monkeypatch, ROOT / FILES["fsdp"])
    with pytest.raises(ConfigError, match=r"FSDP was asked for, but accelerate would train with MULTI_CPU"):
        prepare_sharding(trainer_of(DistributedType.MULTI_CPU), config())


def test_every_layer_is_a_shard_and_a_class_the_model_has_not_is_not_asked_for() -> None:
    small = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
    text = {**small, "num_hidden_layers": 2, "num_key_value_heads": 1, "head_dim": 16, "vocab_size": 100}
    vision = {**small, "num_hidden_layers": 1, "image_size": 28, "patch_size": 14}
    with torch.device("meta"):
        gemma = AutoModelForCausalLM.from_config(Gemma3Config(text_config=text, vision_config=vision))
    assert "SiglipTextEmbeddings" in gemma._no_split_modules, "accelerate's own choice fails on it"
    assert layer_classes(gemma) == ["Gemma3DecoderLayer", "SiglipEncoderLayer"]


def test_four_bit_weights_are_packed_in_the_dtype_that_fsdp_computes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    in_bf16, plain = config(optimiser=BF16), config(optimiser={"mixed_precision": "no"})
    assert storage_dtype(in_bf16) == torch.uint8
    launch_with(monkeypatch, ROOT / FILES["fsdp"])
    assert storage_dtype(in_bf16) == torch.bfloat16
    assert storage_dtype(plain) == torch.float32
    halved = config(optimiser={"mixed_precision": "no"}, quantisation={"compute_dtype": "bfloat16"})
    assert storage_dtype(halved) == torch.bfloat16


@pytest.mark.slow
def test_how_four_bit_weights_are_packed_changes_none(tmp_path: Path) -> None:
    model = tiny_model(tmp_path)
    ids = torch.arange(24).reshape(2, 12)
    settings = QuantisationConfig(compute_dtype="float32")
    bases = [load_base(model, settings, storage=dtype) for dtype in (torch.uint8, torch.bfloat16, torch.float32)]
    assert [base.model.layers[0].mlp.up_proj.weight.dtype for base in bases] == [
        torch.uint8,
        torch.bfloat16,
        torch.float32,
    ]
    with torch.no_grad():
        logits = [base(ids).logits for base in bases]
    assert torch.equal(logits[0], logits[1])
    assert torch.equal(logits[0], logits[2])


def test_gradients_that_an_engine_has_used_up_are_still_looked_at() -> None:
    model = torch.nn.ModuleDict({"model": torch.nn.Module()})
    layer = torch.nn.ModuleDict({"lora_B": torch.nn.Linear(2, 2, bias=False)})
    model["model"].layers = torch.nn.ModuleList([layer])
    weight = layer["lora_B"].weight
    weight.ds_id = 0  # DeepSpeed has split it
    keep_gradients(model)

    def step(factor: float) -> None:
        (weight.sum() * factor).backward()
        weight.grad = None

    step(3.0)
    refuse_blocked_gradients(model, 1)
    with pytest.raises(ModelError, match="no gradient reaches"):
        refuse_blocked_gradients(model, 2)  # none since
    step(0.0)
    with pytest.raises(ModelError, match="no gradient reaches"):
        refuse_blocked_gradients(model, 3)

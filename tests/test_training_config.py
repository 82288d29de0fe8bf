"""Training configs: every checked-in one loads, the paper's settings are in them, and held-out data is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.errors import ConfigError
from benchmarks.rundir import run_path
from training.config import DPORun, SFTRun, load_training_config

CONFIGS = Path(__file__).resolve().parents[1] / "configs" / "training"
FAMILIES = ("qwen2.5-7b", "gemma-3-12b", "llama-3.1-8b", "mistral-7b")
POCKET = CONFIGS / "pocket-sft.yaml"


def changed(tmp_path: Path, **keys: Any) -> Path:
    """The pocket SFT config with some keys replaced."""
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(POCKET.read_text()), **keys}))
    return file


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_checked_in_config_loads_and_is_named_after_its_file(file: Path) -> None:
    assert load_training_config([str(file)]).name == file.stem


@pytest.mark.parametrize("family", FAMILIES)
def test_sft_configs_have_the_settings_of_tables_34_and_35(family: str) -> None:
    run = load_training_config([str(CONFIGS / f"{family}-sft.yaml")])
    assert isinstance(run, SFTRun)
    assert (run.lora.r, run.lora.alpha, run.lora.dropout, len(run.lora.target_modules)) == (64, 16, 0.05, 7)
    assert (run.quantisation.kind, run.quantisation.compute_dtype) == ("nf4", "bfloat16")
    o = run.optimiser
    assert (o.epochs, o.per_device_batch_size, o.gradient_accumulation_steps) == (2, 4, 4)
    assert (o.learning_rate, o.weight_decay, o.warmup_ratio, o.schedule) == (2e-4, 0.01, 0.03, "cosine")
    assert (o.mixed_precision, o.max_grad_norm, o.gradient_checkpointing) == ("bf16", 1.0, True)
    assert run.examples.conditions == "c2_only"


@pytest.mark.parametrize("family", FAMILIES)
def test_dpo_configs_have_the_settings_of_tables_36_and_37(family: str) -> None:
    run = load_training_config([str(CONFIGS / f"{family}-dpo.yaml")])
    assert isinstance(run, DPORun)
    assert (run.lora.r, run.lora.alpha, run.lora.dropout, len(run.lora.target_modules)) == (64, 16, 0.05, 7)
    assert (run.quantisation.kind, run.beta, run.optimiser.learning_rate) == ("nf4", 0.1, 5e-5)
    o = run.optimiser
    assert (o.epochs, o.per_device_batch_size, o.gradient_accumulation_steps) == (1, 4, 4)
    assert (o.warmup_ratio, o.schedule, run.examples.max_prompt_length) == (0.03, "cosine", 768)
    assert (run.examples.conditions, run.examples.loss_on_eos) == ("c2_only", True)


@pytest.mark.parametrize(
    "spec",
    [
        {"dataset": "truthfulqa", "split": "train", "root": "x"},
        {"dataset": "aio-context", "split": "train", "root": "x"},
        {"dataset": "pocket", "split": "test"},
        {"dataset": "halueval", "root": "x"},
    ],
    ids=lambda spec: spec["dataset"],
)
def test_held_out_data_is_refused(spec: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"benchmarks.*must not be trained on"):
        load_training_config([str(changed(tmp_path, benchmarks=[spec]))])


def test_an_unknown_method_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml: method: unknown 'ppo'.*Known: dpo, sft"):
        load_training_config([str(changed(tmp_path, method="ppo"))])


def test_an_unknown_key_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"lora\.rank: unknown key"):
        load_training_config([str(changed(tmp_path, lora={"rank": 8}))])


def test_a_template_without_one_token_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="template 'paper' has no one_token form"):
        load_training_config([str(changed(tmp_path, examples={"template": "paper"}))])


def test_where_results_go_is_no_part_of_the_run_but_a_number_is() -> None:
    def directory(*words: str) -> str:
        run = load_training_config([str(POCKET), *words])
        return run_path(Path("runs"), "training", run.name, run, {"run"}).name

    assert directory("run.save_steps=7", "run.root=elsewhere") == directory()
    assert directory("optimiser.learning_rate=0.002") != directory()

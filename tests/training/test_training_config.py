"""Training configs: every checked-in one loads, the paper's settings are in them, and held-out data is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand.errors import ConfigError
from tests.made.places import CONFIGS
from training.config import AnyRun, DPORun, SFTRun, load_training_config
from training.run import folder_of

TRAINING = CONFIGS / "training"
FAMILIES = ("qwen2.5-7b", "gemma-3-12b", "llama-3.1-8b", "mistral-7b")
FRAMINGS = ("sft-c1c2", "paired", "own-c1")  # arms that train on C1 and C2
PREFERENCES = ("dpo-margin", "ipo", "simpo", "kto")
ARMS = [
    *(("qwen2.5-7b", arm) for arm in (*FRAMINGS, *PREFERENCES)),
    *(("gemma-3-12b", arm) for arm in FRAMINGS),
    *(("pocket", arm) for arm in ("sft-c2", "paired", "own-c1", "dpo-c2", "ipo", "simpo", "kto")),
]
POCKET = TRAINING / "pocket-sft.yaml"
C2 = ("c2_correct", "c2_incorrect")
TRAIN = [{"dataset": "pocket", "split": "train"}]


def changed(tmp_path: Path, **keys: Any) -> Path:
    """The pocket SFT config with some keys replaced."""
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(POCKET.read_text()), **keys}))
    return file


@pytest.mark.parametrize("file", sorted(TRAINING.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_checked_in_config_loads_and_is_named_after_its_file(file: Path) -> None:
    assert load_training_config([str(file)]).name == file.stem


@pytest.mark.parametrize("family", FAMILIES)
def test_sft_configs_have_the_settings_of_tables_34_and_35(family: str) -> None:
    run = load_training_config([str(TRAINING / f"{family}-sft.yaml")])
    assert isinstance(run, SFTRun)
    assert (run.lora.r, run.lora.alpha, run.lora.dropout, len(run.lora.target_modules)) == (64, 16, 0.05, 7)
    assert (run.quantisation.kind, run.quantisation.compute_dtype) == ("nf4", "bfloat16")
    o = run.optimiser
    assert (o.epochs, o.per_device_batch_size * o.gradient_accumulation_steps) == (2, 4 * 4)
    assert (o.learning_rate, o.weight_decay, o.warmup_ratio, o.schedule) == (2e-4, 0.01, 0.03, "cosine")
    assert (o.mixed_precision, o.max_grad_norm) == ("bf16", 1.0)
    assert (run.dialdefer.prompts.conditions, run.examples.max_prompt_length) == (C2, 768)
    assert not run.examples.loss_on_eos, "K.2: loss is applied only on the completion token"
    assert_published_path(run)


@pytest.mark.parametrize("family", FAMILIES)
def test_dpo_configs_have_the_settings_of_tables_36_and_37(family: str) -> None:
    run = load_training_config([str(TRAINING / f"{family}-dpo.yaml")])
    assert isinstance(run, DPORun)
    assert (run.lora.r, run.lora.alpha, run.lora.dropout, len(run.lora.target_modules)) == (64, 16, 0.05, 7)
    assert (run.quantisation.kind, run.beta, run.optimiser.learning_rate) == ("nf4", 0.1, 5e-5)
    o = run.optimiser
    assert (o.epochs, o.per_device_batch_size * o.gradient_accumulation_steps) == (1, 4 * 4)
    assert (o.warmup_ratio, o.schedule, run.examples.max_prompt_length) == (0.03, "cosine", 768)
    assert (run.dialdefer.prompts.conditions, run.examples.loss_on_eos) == (C2, True)
    assert o.max_grad_norm == 1.0
    published = ("float16", "fp16") if family != "gemma-3-12b" else ("bfloat16", "bf16")  # in fp16 Gemma-3 overflows
    assert (run.quantisation.compute_dtype, o.mixed_precision) == published
    assert_published_path(run)


def assert_published_path(run: AnyRun) -> None:
    """Nothing of ours that changes a number: examples shuffled one by one, one loss, the last step's adapter."""
    assert (run.optimiser.order, run.consistency, run.dev) == ("random", None, None)
    assert (run.examples.format, run.model.revision) == ("chat", None)


@pytest.mark.parametrize(("family", "arm"), ARMS, ids="-".join)
def test_an_arm_of_ours_differs_from_the_one_it_is_held_against_by_what_it_is_named_for(family: str, arm: str) -> None:
    parent = (
        "sft" if arm in (*FRAMINGS, "sft-c2") else "dpo" if family == "pocket" or arm == "dpo-margin" else "dpo-margin"
    )
    ours, other = tree(f"{family}-{arm}"), tree(f"{family}-{parent}")
    changed_keys = {key for key in ours.keys() | other.keys() if ours.get(key) != other.get(key)} - {"name"}
    both_framings = {"prompts.conditions", "optimiser.order", "optimiser.epochs"}
    if family != "pocket":
        both_framings |= {"dev"}
    expected = {
        "sft-c2": both_framings - {"optimiser.order"},
        "sft-c1c2": both_framings,
        "paired": {"consistency", *(both_framings if family != "pocket" else ())},
        "own-c1": {"method", "target", *(both_framings if family != "pocket" else ("examples.loss_on_eos",))},
        "dpo-c2": {*both_framings, "examples.loss_on_eos"} - {"optimiser.order"},
        "dpo-margin": {"examples.loss_on_eos", "quantisation.compute_dtype", "optimiser.mixed_precision"},
        "ipo": {"method", *(("beta",) if family == "pocket" else ())},
        "simpo": {"method", "beta", "gamma", "precompute_reference"},
        "kto": {"method"},
    }[arm]
    assert changed_keys == expected


def tree(name: str) -> dict[str, Any]:
    """A config's keys and values, the keys of examples, quantisation and optimiser one by one."""
    run = load_training_config([str(TRAINING / f"{name}.yaml")]).model_dump(mode="json")
    run["prompts"] = run["dialdefer"].pop("prompts")
    for section in ("prompts", "examples", "quantisation", "optimiser"):
        run |= {f"{section}.{key}": value for key, value in run.pop(section).items()}
    return run


@pytest.mark.parametrize("file", sorted(TRAINING.glob("pocket-*.yaml")), ids=lambda file: file.stem)
def test_pocket_configs_compute_in_float32_since_few_laptops_have_bf16(file: Path) -> None:
    run = load_training_config([str(file)])
    kind = "none" if file.stem.startswith("pocket-demo-") else "nf4"  # they train a judge that was merged onto NF4
    assert (run.quantisation.kind, run.quantisation.compute_dtype, run.quantisation.hold) == (
        kind, "float32", "dequantised",
    )  # fmt: skip
    # A conversation's prompts share a microbatch: ten times an item's tokens.
    assert (run.optimiser.mixed_precision, run.optimiser.gradient_checkpointing) == (
        "no",
        not run.training.has_equal_units,
    )


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
    with pytest.raises(ConfigError, match=r"benchmarks\[0\]: .*must not be trained on"):
        load_training_config([str(changed(tmp_path, dialdefer={"benchmarks": [spec]}))])


@pytest.mark.parametrize(("given", "meant"), [("own-c1", "own_c1"), ("simp", "simpo"), ("grpo", None)])
def test_an_unknown_method_names_the_known_ones_and_the_nearest(given: str, meant: str | None, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"config\.yaml: method: unknown .*Known: dpo, ipo, kto, own_c1, sft, simpo"
    ) as caught:
        load_training_config([str(changed(tmp_path, method=given))])
    assert (f"Did you mean '{meant}'" in str(caught.value)) == (meant is not None)


@pytest.mark.parametrize(
    "keys", [{"consistency": {"weight": 1.0}}, {"method": "own_c1"}], ids=["consistency", "own_c1"]
)
@pytest.mark.parametrize(
    ("prompts", "optimiser", "says"),
    [
        (
            {"conditions": list(C2)},
            {"order": "whole_items"},
            r"C1 and C2 prompts: leave dialdefer\.prompts\.conditions out",
        ),
        ({}, {"order": "random"}, r"with each other: set optimiser\.order=whole_items"),
        ({}, {"order": "whole_items"}, None),
    ],
    ids=["C2 alone", "random order", "whole items of both framings"],
)
def test_a_loss_that_compares_framings_needs_both_in_one_microbatch(
    keys: dict[str, Any], prompts: dict[str, Any], optimiser: dict[str, Any], says: str | None, tmp_path: Path
) -> None:
    asked = {"benchmarks": TRAIN, "prompts": prompts}
    file = changed(tmp_path, **keys, dialdefer=asked, optimiser={"learning_rate": 1e-3, **optimiser})
    if says is None:
        assert load_training_config([str(file)]).needs_whole_groups
        return
    with pytest.raises(ConfigError, match=says):
        load_training_config([str(file)])


def test_where_results_go_and_when_it_is_stopped_is_no_part_of_the_run_but_a_number_is() -> None:
    def directory(*words: str) -> str:
        run = load_training_config([str(POCKET), *words])
        return folder_of(run).name

    assert directory("run.save_steps=7", "run.root=elsewhere", "guard.patience_steps=7") == directory()
    assert directory("optimiser.learning_rate=0.002") != directory()


def test_another_method_is_one_word_and_a_config_without_one_is_told_apart() -> None:
    assert isinstance(load_training_config([str(TRAINING / "pocket-sft.yaml"), "method=dpo"]), DPORun)
    with pytest.raises(ConfigError, match="prefers one of two answers"):
        load_training_config([str(TRAINING / "pocket-narrator-paired.yaml"), "method=dpo"])
    with pytest.raises(ConfigError, match="no training config; those lie under configs/training"):
        load_training_config([str(TRAINING.parent / "inference" / "pocket.yaml")])

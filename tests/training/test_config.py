"""Training configs: each checked-in one loads and has its paper's settings, and what cannot be trained is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import ConfigError
from inference.config import load_sampling_config
from studies.dialdefer.section import prompt_variants
from tests.made.places import CONFIGS
from tests.made.training_runs import tiny_run
from training.config import AnyRun, DPORun, SFTRun, load_training_config
from training.processes import check_n_processes
from training.run_folder import folder_of
from training.trainer import training_arguments

TRAINING = CONFIGS / "training"
FAMILIES = ("qwen2.5-7b", "gemma-3-12b", "llama-3.1-8b", "mistral-7b")
FRAMINGS = ("sft-c1c2", "paired", "label-free")  # arms that train on C1 and C2
ARMS = [
    *((family, arm) for family in ("qwen2.5-7b", "gemma-3-12b") for arm in FRAMINGS),
    *(("pocket", arm) for arm in ("sft-c2", "variants-sft", "paired", "label-free", "dpo-c2")),
    ("pocket-variants", "paired"),
]
POCKET = TRAINING / "pocket-sft.yaml"
C2 = ("c2_correct", "c2_incorrect")
PAIRED = ("method=paired", "paired.weight=1.0")


@pytest.mark.parametrize("file", sorted(TRAINING.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_checked_in_config_loads_and_is_named_after_its_file(file: Path) -> None:
    assert load_training_config([str(file)]).name == file.stem


def test_the_judge_bent_in_words_is_trained_in_every_wording_and_order() -> None:
    sets = ("training", "development", "sealed")
    asked = [load_sampling_config([str(CONFIGS / "experiments" / f"wordings-{name}.yaml")]) for name in sets]
    bent = load_training_config([str(TRAINING / "pocket-bent-words.yaml")])
    settings = [[v.settings for v in prompt_variants(run.dialdefer.prompts)] for run in (*asked, bent)]
    assert settings[-1] == [each for of_set in settings[:-1] for each in of_set]


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
    assert (run.optimiser.batch_by, run.dev) == ("random", None)
    assert (run.examples.chat_template, run.model.revision) == (True, None)


@pytest.mark.parametrize(("family", "arm"), ARMS, ids="-".join)
def test_an_arm_of_ours_differs_from_the_one_it_is_held_against_by_what_it_is_named_for(family: str, arm: str) -> None:
    is_pocket = family.startswith("pocket")
    parent = "dpo" if arm == "dpo-c2" else "sft-c1c2" if arm in FRAMINGS[1:] and not is_pocket else "sft"
    ours, other = tree(f"{family}-{arm}"), tree(f"{family}-{parent}")
    changed_keys = {key for key in ours.keys() | other.keys() if ours.get(key) != other.get(key)} - {"name", "run"}
    both_framings = {"prompts.conditions", "optimiser.batch_by", "optimiser.epochs"}
    over_variants = {"prompts.variants", "prompts.variants_per_item"}
    expected = {
        "sft-c2": both_framings - {"optimiser.batch_by"},
        "sft-c1c2": {*both_framings, "dev", *over_variants, "optimiser.gradient_accumulation_steps"},
        "variants-sft": {
            "dialdefer",
            "prompts.variants",
            "prompts.variants_per_item",
            "optimiser.per_device_batch_size",
        },
        "paired": {"method", "paired"},
        "label-free": {"method", "target", *(("examples.loss_on_eos",) if is_pocket else ())},
        "dpo-c2": {*both_framings, "examples.loss_on_eos"} - {"optimiser.batch_by"},
    }[arm]
    assert changed_keys == expected


def tree(name: str) -> dict[str, Any]:
    """A config's keys and values, the keys of examples, quantisation and optimiser one by one."""
    run = load_training_config([str(TRAINING / f"{name}.yaml")]).model_dump(mode="json")
    run["prompts"] = run["dialdefer"].pop("prompts")
    for section in ("prompts", "examples", "quantisation", "optimiser"):
        run |= {f"{section}.{key}": value for key, value in run.pop(section).items()}
    return run


def trained_on(**spec: str) -> list[str]:
    return [f"dialdefer.benchmarks=[{json.dumps(spec)}]"]


@pytest.mark.parametrize(
    ("config", "words", "says"),
    [
        ("sft", trained_on(dataset="truthfulqa", split="train", root="x"), "must not be trained on"),
        ("sft", trained_on(dataset="pocket", split="test"), "must not be trained on"),
        ("sft", trained_on(dataset="halueval", root="x"), "must not be trained on"),
        ("sft", ["max_steps=3"], "unknown key 'max_steps'. Did you mean 'optimiser.max_steps'?"),
        ("sft", ["method=own_c1"], "'own_c1' is now 'label_free'"),
        ("sft", ["optimiser.order=random"], "'order' is now 'batch_by'"),
        ("sft", ["optimiser.batch_by=whole_items"], "'whole_items' is now 'item'"),
        ("sft", ["consistency={weight: 1.0}"], "'consistency' is now 'method: paired, with paired.weight'"),
        ("sft", ["method=grpo"], "Known: dpo, label_free, paired, sft"),
        ("sft", ["optimiser.batch_by=group"], "write item"),
        ("sft", ["optimiser.per_device_batch_size=6"], "set optimiser.per_device_batch_size to a multiple of 4"),
        ("sft", ["method=label_free", f"dialdefer.prompts.conditions=[{', '.join(C2)}]"], "C1 and C2 prompts"),
        ("sft", [*PAIRED, "optimiser.batch_by=random"], "set optimiser.batch_by=item"),
        ("sft", [*PAIRED, "dialdefer.bend={share: 0.3}"], "dialdefer.bend: flips labels"),
        ("sft", ["dialdefer.prompts.variants=[{answer_order: no_first}]"], "per_device_batch_size to a multiple of 8"),
        ("sft", ["dialdefer.prompts.variants=[{template: matched}]"], "variants[0]: asks nothing"),
        ("sft", ["dialdefer.prompts.variants=[{roles: 1->2}]"], "variants[0].roles: is for sampling"),
        ("sft", ["dialdefer.prompts.arms=[honest]"], "prompts.arms: is for sampling"),
        ("sft", ["dialdefer.prompts.template=s1"], "template 's1': of the sealed wordings"),
        ("sft", ["dialdefer.prompts.variants=[{template: v2}]"], "template 'v2': of the development wordings"),
        ("sft", ["dialdefer.prompts.speakers=[Host, Guest]"], "labels Host and Guest: of the sealed wordings"),
        ("variants-sft", ["dialdefer.prompts.variants_per_item=23"], "there are 22 variants; write at most 22"),
        ("variants-sft", ["dialdefer.prompts.variants_per_item=some"], "dialdefer.prompts.variants_per_item"),
        ("variants-sft", ["method=label_free", "dialdefer.prompts.variants_per_item=1"], "in 2; write at least that"),
        ("narrator-paired", ["dialdefer={benchmarks: [{dataset: pocket}]}"], "a run is of one study"),
        ("narrator-paired", ["narrator.corpus.split=test"], "split 'test' must not be trained on"),
        ("narrator-paired", ["examples.loss_on_eos=true"], "set examples.loss_on_eos=false"),
        ("narrator-paired", ["narrator.tasks=[detection]"], "of detection every label is Yes"),
        ("narrator-paired", ["narrator.variants_per_item=3"], "there are 2 variants; write at most 2"),
        (
            "narrator-label-free",
            ["narrator.option_orders=[fixed_slot, reversed]", "narrator.variants_per_item=1"],
            "write at least that",
        ),
        ("narrator-sft", ["method=dpo"], "prefers one of two answers"),
        ("pluraleval-paired", ["pluraleval.responses.tasks=[pairwise, ranking]"], "what is trained on are pairs"),
        ("pluraleval-paired", ["pluraleval.responses.references.split=test"], "split 'test' must not be trained on"),
        ("pluraleval-paired", ["pluraleval.responses.choice_tokens=4"], "is for sampling; take it out"),
        ("pluraleval-paired", ["pluraleval={references: {threads: {dataset: pocket-threads}}}"], "are pairs"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_the_way_out(config: str, words: list[str], says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_training_config([str(TRAINING / f"pocket-{config}.yaml"), *words])
    assert says in str(refusal.value)


def test_where_results_go_and_when_it_is_stopped_is_no_part_of_the_run_but_a_number_is() -> None:
    def directory(*words: str) -> str:
        return folder_of(load_training_config([str(POCKET), *words])).name

    assert directory("run.save_steps=7", "run.root=elsewhere", "guard.patience_steps=7") == directory()
    assert directory("optimiser.learning_rate=0.002") != directory()


def test_another_number_of_processes_than_the_batch_is_counted_for_is_refused() -> None:
    four = tiny_run(optimiser={"n_processes": 4, "gradient_accumulation_steps": 2})
    with pytest.raises(ConfigError, match=r"n_processes is 4, but 1 were launched: .* would be 8 instead of 32"):
        check_n_processes(four)
    check_n_processes(tiny_run())


def test_a_tracker_that_is_not_installed_is_named_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.report_to: tracker 'no-such-tracker' is not installed"):
        training_arguments(tiny_run(run={"report_to": ["no-such-tracker"]}), tmp_path)

"""Training configs: each checked-in one loads and has its paper's settings, and what cannot be trained is refused."""

from functools import reduce
from pathlib import Path

import pytest
import yaml

from evenhand.config import read_yaml
from evenhand.errors import ConfigError
from inference.config import load_sampling_config
from studies.dialdefer.section import prompt_variants
from tests.made.places import CONFIGS, GOLDEN, cases
from tests.made.training_runs import tiny_run
from training.config import load_training_config
from training.processes import check_launch
from training.run_folder import folder_of

TRAINING = CONFIGS / "training"
FAMILIES = ("qwen2.5-7b", "gemma-3-12b", "llama-3.1-8b", "mistral-7b")
FRAMINGS = ("sft-c1c2", "paired", "label-free")  # arms that train on C1 and C2
ARMS = [
    *((family, arm) for family in ("qwen2.5-7b", "gemma-3-12b") for arm in FRAMINGS),
    *(("pocket", arm) for arm in ("sft-c2", "variants-sft", "paired", "label-free", "dpo-c2")),
    ("pocket-variants", "paired"),
]
POCKET = TRAINING / "pocket-sft.yaml"
REFUSED = Path(__file__).with_name("refused.yaml")


@pytest.mark.parametrize("file", sorted(TRAINING.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_checked_in_config_loads_and_is_named_after_its_file(file):
    assert load_training_config([str(file)]).name == file.stem


def test_the_judge_bent_in_words_is_trained_in_every_wording_and_order():
    sets = ("training", "development", "sealed")
    asked = [load_sampling_config([str(CONFIGS / "experiments" / f"wordings-{name}.yaml")]) for name in sets]
    bent = load_training_config([str(TRAINING / "pocket-bent-words.yaml")])
    settings = [[v.settings for v in prompt_variants(run.dialdefer.prompts)] for run in (*asked, bent)]
    assert settings[-1] == [each for of_set in settings[:-1] for each in of_set]


@pytest.mark.parametrize("method", ["sft", "dpo"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_paper_s_config_has_its_published_settings(family, method):
    run = load_training_config([str(TRAINING / f"{family}-{method}.yaml")])
    published = read_yaml(GOLDEN / "dialdefer_training.yaml")
    expected = published["both"] | published[method] | published.get(f"{family} {method}", {})
    settings = run.model_dump(mode="json")
    assert {
        key: reduce(lambda tree, name: tree and tree[name], key.split("."), settings) for key in expected
    } == expected
    assert (run.method, len(run.lora.target_modules)) == (method, 7)
    assert run.optimiser.per_device_batch_size * run.optimiser.gradient_accumulation_steps == 4 * 4


@pytest.mark.parametrize(("family", "arm"), ARMS, ids="-".join)
def test_an_arm_of_ours_differs_from_the_one_it_is_held_against_by_what_it_is_named_for(family, arm):
    is_pocket = family.startswith("pocket")
    parent = "dpo" if arm == "dpo-c2" else "sft-c1c2" if arm in FRAMINGS[1:] and not is_pocket else "sft"
    ours, other = tree(f"{family}-{arm}"), tree(f"{family}-{parent}")
    changed_keys = {key for key in ours.keys() | other.keys() if ours.get(key) != other.get(key)} - {"name", "run"}
    expected = set(cases(__file__)[arm]) - (set() if is_pocket or arm != "label-free" else {"examples.loss_on_eos"})
    assert changed_keys == expected


def tree(name):
    """A config's keys and values, the keys of examples, quantisation and optimiser one by one."""
    run = load_training_config([str(TRAINING / f"{name}.yaml")]).model_dump(mode="json")
    run["prompts"] = run["dialdefer"].pop("prompts")
    for section in ("prompts", "examples", "quantisation", "optimiser"):
        run |= {f"{section}.{key}": value for key, value in run.pop(section).items()}
    return run


@pytest.mark.parametrize(("config", "words", "says"), yaml.safe_load(REFUSED.read_text()))
def test_what_cannot_be_trained_is_refused_with_the_way_out(config, words, says):
    with pytest.raises(ConfigError) as refusal:
        load_training_config([str(TRAINING / f"pocket-{config}.yaml"), *words])
    assert says in str(refusal.value)


def test_where_results_go_and_when_it_is_stopped_is_no_part_of_the_run_but_a_number_is():
    def directory(*words):
        return folder_of(load_training_config([str(POCKET), *words])).name

    assert directory("run.save_steps=7", "run.root=elsewhere", "guard.patience_steps=7") == directory()
    assert directory("optimiser.learning_rate=0.002") != directory()


def test_another_number_of_processes_than_the_batch_is_counted_for_is_refused():
    four = tiny_run(optimiser={"n_processes": 4, "gradient_accumulation_steps": 2})
    with pytest.raises(ConfigError, match=r"n_processes is 4, but 1 were launched: .* would be 8, not 32"):
        check_launch(four)
    check_launch(tiny_run())

"""Each shipped experiment: what it asks, on which datasets, and that every variant gets its verdicts."""

from pathlib import Path
from typing import Any

import pytest

from eval.dialdefer.panels import variant_of
from evenhand.config import read_yaml
from inference.config import InferenceConfig, load_sampling_config, parse_sampling_config
from inference.schedule import first_prompts
from studies.dialdefer.section import prompt_variants
from tests.made.experiment_runs import N_ITEMS, Judge, run_with, says_one, use_few_items
from tests.made.places import CONFIGS, SHARED

FOLDER = CONFIGS / "experiments"
EXPERIMENTS = sorted(FOLDER.glob("*.yaml"))
NINE = ("truthfulqa", "advisorqa", "amqa", "bbq", "gpqa", "halueval", "harp", "plausibleqa", "socialiqa")
TEN = (*NINE, "aio-context")

# Variant → the datasets that it is asked on. "" is the main wording in the main roles and arm `none`.
LABELS = ("A/B", "Q/A", "John/Jane", "John/Sorosh", "User/LLM", "LLM/User", "GPT-4o/Llama", "Llama/GPT-4o")
PARAPHRASES = ("v1", "v2", "v3", "matched")
ON_TRUTHFULQA = dict.fromkeys((*LABELS, *PARAPHRASES), ("truthfulqa",))
ALL = {"": TEN, "honest": TEN, "dehumanizing": TEN, "no_first": TEN, "1->2": ("aio-context",), **ON_TRUTHFULQA}
EXPECTED = {
    "main": {"": TEN},
    "aio-roles": {"": ("aio-context",), "1->2": ("aio-context",)},
    "speaker-labels": dict.fromkeys(("", *LABELS), ("truthfulqa",)),
    "paraphrases": dict.fromkeys(("", *PARAPHRASES), ("truthfulqa",)),
    "mitigations": dict.fromkeys(("", "honest", "dehumanizing"), TEN),
    "answer-order": dict.fromkeys(("", "no_first"), TEN),
    "all": ALL,
    "embedded": ALL,
}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    use_few_items(monkeypatch)


def experiment(path: Path, root: Path) -> InferenceConfig:
    return load_sampling_config([str(path), f"run.root={root}"])


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_an_experiment_gives_every_variant_its_verdicts_on_its_datasets(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with(judge := Judge(says_one), experiment(path, tmp_path), monkeypatch)
    found: dict[str, list[str]] = {}
    for panel in run.panels:
        name = variant_of(panel, run.panels)
        main_roles = panel.roles == "2->1"
        words = [name, "" if panel.factors.arm == "none" else panel.factors.arm, "" if main_roles else panel.roles]
        if name != "both_orders":
            found.setdefault(", ".join(filter(None, words)), []).append(panel.dataset)
        assert len(panel.item_ids) == N_ITEMS
        assert panel.has_c1
        assert panel.has_c2
    assert {name: tuple(datasets) for name, datasets in found.items()} == EXPECTED[path.stem]
    assert len(judge.asked) == len({p.prompt_hash for p in judge.asked}) == len({p.prompt_hash for p in run.plan})


@pytest.mark.usefixtures("few")
def test_all_experiments_together_ask_for_each_variant_what_it_adds(tmp_path: Path) -> None:
    planned = first_prompts(experiment(FOLDER / "all.yaml", tmp_path))
    everywhere, on_one = 4 * 4 * len(TEN), 4 * (len(PARAPHRASES) + len(LABELS) + 1)
    assert len(planned) == N_ITEMS * (everywhere + on_one)
    # C1 names no speaker, so labels add only their two dialogues; dehumanizing has a system message as well.
    assert len({p.prompt_hash for p in planned}) == N_ITEMS * (everywhere + on_one - 2 * len(LABELS))


def test_every_experiment_is_part_of_all_and_of_the_embedded_one() -> None:
    def asked(name: str) -> set[tuple[Any, ...]]:
        config = load_sampling_config([str(FOLDER / f"{name}.yaml")])
        variants = [tuple(variant.settings.values()) for variant in prompt_variants(config.dialdefer.prompts)]
        assert len(variants) == len(set(variants))
        return set(variants)

    parts = [asked(name) for name in EXPECTED if name not in ("all", "embedded")]
    assert asked("all") == asked("embedded") == set().union(*parts)


def test_the_embedded_experiment_over_the_published_split_is_9800_prompts() -> None:
    published = SHARED / "data" / "published"
    if not published.is_dir():
        pytest.skip("needs the authors' release in ../shared/data/published")
    tree = read_yaml(FOLDER / "embedded.yaml")
    asked = tree["dialdefer"]
    asked["benchmarks"] = [{**spec, "root": str(published)} for spec in asked["benchmarks"]]
    planned = first_prompts(parse_sampling_config(tree, "embedded.yaml"))
    assert (len(planned), len({p.prompt_hash for p in planned})) == (10_600, 9_800)

"""How a run of the narrator study is configured: a section beside `benchmarks`, with its own ways to a verdict."""

from pathlib import Path
from typing import Any

import pytest

import inference
from evenhand.config import to_yaml
from evenhand.errors import ConfigError
from evenhand.run_directory import run_path
from inference.config import FREE_OF_EFFECT, InferenceConfig, load_sampling_config, parse_sampling_config
from studies.narrator.pocket import pocket_conflicts
from studies.narrator.prompts import narrator_prompts
from studies.narrator.records import OPTION_ORDERS
from tests.made.made_conflicts import narrator_config
from tests.made.places import CONFIGS

FOLDER = CONFIGS / "narrator"
NARRATOR_CONFIGS = sorted(FOLDER.glob("*.yaml"))
EXACT = "# Exact probabilities of the options in their place: "
SECTION = {"corpus": {"dataset": "pocket-conflicts"}}
SERVER = {"kind": "openai", "base_url": "http://x/v1"}


def shipped(path: Path, *words: str) -> InferenceConfig:
    return load_sampling_config([str(path), *words])


@pytest.mark.parametrize("path", NARRATOR_CONFIGS, ids=lambda p: p.stem)
def test_a_shipped_config_asks_the_whole_study_and_survives_a_round_trip(path: Path, tmp_path: Path) -> None:
    config = shipped(path)
    assert config.narrator is not None
    assert (len(config.narrator.tasks), len(config.narrator.visibilities), len(config.narrator.option_orders)) == (
        (3, 2, 2)
    )
    assert config.sampling.temperature == 0.7
    copy = tmp_path / "config.yaml"
    copy.write_text(to_yaml(config))
    assert shipped(copy) == config
    assert "prompts" not in to_yaml(config)
    assert "benchmarks" not in to_yaml(config)


def test_the_papers_models_are_sampled_as_published_and_ours_asks_the_same_both_ways() -> None:
    n_samples = {path.stem: shipped(path).sampling.n for path in NARRATOR_CONFIGS if shipped(path).verdict == "answer"}
    assert n_samples == {"gpt-4.1-mini": 1, "llama-3.1-8b": 10, "mistral-7b": 10, "qwen2.5-7b": 10, "pocket": 10}
    sampled, exact = (shipped(FOLDER / f"{name}.yaml") for name in ("pocket", "pocket-exact"))
    assert sampled.narrator == exact.narrator
    assert exact.verdict == "options"
    assert sampled.narrator is not None
    assert (sampled.narrator.corpus.n_conversations or 0) >= 60


@pytest.mark.parametrize("name", ["qwen2.5-7b", "llama-3.1-8b", "mistral-7b"])
def test_the_override_that_a_config_names_gives_its_exact_variant(name: str) -> None:
    path = FOLDER / f"{name}.yaml"
    (line,) = (line for line in path.read_text().splitlines() if line.startswith(EXACT))
    config = shipped(path, *line.removeprefix(EXACT).split())
    assert (config.verdict, config.sampling.n, config.sampling.temperature) == ("options", 1, 0.7)
    assert config.name == f"{name}-narrator-exact"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"benchmarks": [{"dataset": "pocket"}]}, "a run asks either `benchmarks` or `narrator`: both are given"),
        ({"prompts": {"template": "v1"}}, "prompts: is for `benchmarks`"),
        ({"verdict": "reason"}, "verdict reason is not for `narrator`; set verdict to options or answer"),
        ({"verdict": "margin"}, "verdict margin is not for `narrator`"),
        ({"narrator": {"tasks": ["blame", "blame"]}}, "narrator.tasks: lists a name twice: blame, blame"),
        ({"narrator": {"tasks": []}}, "narrator.tasks: "),
        ({"narrator": {"task": ["blame"]}}, "narrator.task: unknown key. Did you mean 'tasks'?"),
        ({"narrator": {"visibilities": ["seen"]}}, "narrator.visibilities[0]: "),
        ({"verdict": "options", "sampling": {"n": 2, "temperature": 0.7}}, "one reading is all there is"),
        ({"verdict": "options", "sampling": {"top_p": 0.9}}, "set sampling.top_p to 1"),
        ({"verdict": "options", "sampling": {"temperature": 0.001}}, "vLLM samples no colder than 0.01"),
        ({"verdict": "options", "sampling": {"temperature": 0}}, "or to 1 for the model's own"),
        ({"verdict": "options", "sampling": {"structured": "json"}}, "generates no text to structure"),
        ({"verdict": "options", "engine": SERVER}, "a server lists only the most likely tokens"),
        ({"sampling": {"structured": "json"}}, "verdict answer is free text; set sampling.structured"),
        ({"engine": {**SERVER, "json_mode": "json_object"}}, "verdict answer is free text; set engine.json_mode"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way_out(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        narrator_config(**changes)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"verdict": "answer"}, "a run asks either `benchmarks` or `narrator`: neither is"),
        ({"benchmarks": []}, "neither is; give one of them"),
        (
            {"benchmarks": [{"dataset": "pocket"}], "verdict": "options"},
            "options is not for `benchmarks`; set verdict to ",
        ),
        ({"narrator": SECTION}, "no verdict is given, and verdict reason is not for `narrator`; set verdict to "),
    ],
)
def test_a_run_asks_one_study_in_a_way_that_fits_it(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_sampling_config({"name": "x", "model": {"name": "m"}, **changes}, "made.yaml")
    assert says in str(refusal.value)


def test_the_control_of_option_order_costs_the_share_of_prompts_that_a_config_says() -> None:
    assert "# A quarter fewer prompts, without" in (FOLDER / "gpt-4.1-mini.yaml").read_text()
    conversations = pocket_conflicts("test")
    n_both, n_one = (
        sum(len({p.prompt_hash for p in narrator_prompts(c, option_orders=orders)}) for c in conversations)
        for orders in (OPTION_ORDERS, OPTION_ORDERS[:1])
    )
    assert n_one / n_both == pytest.approx(0.75, abs=0.02)


def test_inference_knows_the_studys_section_and_nothing_else_of_it() -> None:
    folder = Path(inference.__file__).parent
    imports = {
        (file.name, line.split()[1])
        for file in folder.glob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith(("from studies.narrator", "import studies.narrator"))
    }
    assert imports == {("config.py", "studies.narrator.section")}


def test_a_run_without_the_study_has_the_directory_that_it_always_had() -> None:
    config = shipped(FOLDER.parent / "inference" / "pocket.yaml", "engine.dtype=bfloat16")  # as it was then
    assert run_path(Path(), "inference", "pocket", config, FREE_OF_EFFECT).name == "pocket-0854fd7f"

"""How a run of the narrator study is configured: a section beside `benchmarks`, with its own ways to a verdict."""

from pathlib import Path

import pytest

from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml
from inference.config import load_sampling_config
from tests.made.made_conflicts import narrator_config
from tests.made.places import CONFIGS

FOLDER = CONFIGS / "narrator"
EXACT = "# Exact probabilities of the options in their place: "
REFUSED = shipped_yaml(Path(__file__).with_name("refused_configs.yaml"))


def shipped(path, *words):
    return load_sampling_config([str(path), *words])


@pytest.mark.parametrize("name", ["qwen2.5-7b", "llama-3.1-8b", "mistral-7b"])
def test_the_override_that_a_config_names_gives_its_exact_variant(name):
    path = FOLDER / f"{name}.yaml"
    (line,) = (line for line in path.read_text().splitlines() if line.startswith(EXACT))
    config = shipped(path, *line.removeprefix(EXACT).split())
    assert (config.verdict, config.sampling.n, config.sampling.temperature) == ("options", 1, 0.7)
    assert config.name == f"{name}-narrator-exact"


@pytest.mark.parametrize(("changes", "says"), REFUSED)
def test_what_cannot_be_asked_is_refused_with_the_way_out(changes, says):
    with pytest.raises(ConfigError) as refusal:
        narrator_config(**changes)
    assert says in str(refusal.value)

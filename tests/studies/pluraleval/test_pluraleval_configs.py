"""The shipped configs of the study, and its part of `show`, `build` and `doctor`."""

from pathlib import Path

import pytest

from evenhand.config import to_yaml
from evenhand.errors import DataError
from inference.config import load_sampling_config
from inference.schedule import first_prompts
from studies.build import main as build_main
from tests.made.places import CONFIGS

SHIPPED = sorted((CONFIGS / "pluraleval").glob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_config_survives_a_round_trip_and_renders_on_our_own_threads(path: Path, tmp_path: Path) -> None:
    config = load_sampling_config([str(path)])
    copy = tmp_path / "config.yaml"
    copy.write_text(to_yaml(config))
    assert load_sampling_config([str(copy)]) == config
    own = config.on_own_items()
    assert first_prompts(own)
    assert "threads" in own.study.describe()


def test_reference_sets_are_built_of_a_run_alone(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no run of this study"):
        build_main(["references", str(tmp_path), "--out", str(tmp_path / "out")])

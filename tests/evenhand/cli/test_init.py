"""`evenhand init`: the starter folder is written once, and every command of its README can read what lies there."""

import re
import shlex
from pathlib import Path

import pytest

from evenhand.cli.command import VERBS
from evenhand.cli.init import STARTER, main
from evenhand.config import config_tree
from evenhand.errors import ConfigError
from inference.config import parse_sampling_config
from training.config import parse_training_config

NAMES = ["README.md", "items.jsonl", "study.yaml", "training.yaml"]


@pytest.mark.parametrize("name", NAMES)
def test_no_file_is_overwritten_and_then_none_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match=f"already holds {name};"):
        main([str(tmp_path)])
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "mine")]
    with pytest.raises(ConfigError, match=f"{name}: cannot be made"):
        main([str(tmp_path / name)])


def test_the_starter_s_commands_ask_the_test_items_and_train_on_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main([str(tmp_path / "new" / "study")])
    monkeypatch.chdir(tmp_path / "new" / "study")
    assert sorted(file.name for file in Path().iterdir()) == NAMES == sorted(file.name for file in STARTER.iterdir())
    lines = re.findall(r"^    evenhand (\w+) (.*)$", Path("README.md").read_text(), re.M)
    words = {verb: shlex.split(rest, comments=True) for verb, rest in reversed(lines)}  # the first of a verb stays
    sampled = [shlex.split(rest, comments=True) for verb, rest in lines if verb == "sample"]
    loop = ["show", "sample", "score", "report", "train", "merge", "sample", "compare"]
    assert [verb for verb, _ in lines] == [*loop, "sample", "calibrate", "scorecard"]
    assert words.keys() <= VERBS.keys()
    study = parse_sampling_config(config_tree(words["show"][:1]), "study.yaml").study
    asked = {unit.unit_id: len(unit.next_prompts({})) for unit in study.units("margin").units}
    training = parse_training_config(config_tree(words["train"]), "training.yaml")
    trained = {unit.item_id for unit in training.load_units()}
    assert (set(asked.values()), len(asked), len(trained)) == ({32}, 4, 6)
    assert trained.isdisjoint(asked)
    fitted = parse_sampling_config(config_tree(sampled[2]), "study.yaml").study
    assert {unit.unit_id for unit in fitted.units("margin").units} == trained
    after = parse_sampling_config(config_tree(sampled[1]), "study.yaml")
    assert (after.name, after.model.name, after.model.label, after.study) == ("after", "MERGED", "trained", study)

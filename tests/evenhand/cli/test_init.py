"""`evenhand init`: the starter folder is written once, and every command of its README can read what lies there."""

import re
import shlex
from pathlib import Path

import pytest

from evenhand.cli.command import VERBS
from evenhand.cli.init import STARTER, main
from evenhand.config import config_tree
from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml
from inference.config import parse_sampling_config
from tests.made.made_verdicts import write
from training.config import parse_training_config

NAMES = ["README.md", "items.jsonl", "study.yaml", "training.yaml"]


@pytest.mark.parametrize("name", NAMES)
def test_no_file_is_overwritten_and_then_none_is_written(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match=f"already holds {name};"):
        main([str(tmp_path)])
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "mine")]
    with pytest.raises(ConfigError, match=f"{name}: cannot be made"):
        main([str(tmp_path / name)])


def test_the_starter_s_commands_ask_the_test_items_and_train_on_the_others(tmp_path, monkeypatch):
    main([str(tmp_path / "new" / "study")])
    monkeypatch.chdir(tmp_path / "new" / "study")
    assert sorted(file.name for file in Path().iterdir()) == NAMES == sorted(file.name for file in STARTER.iterdir())
    lines = re.findall(r"^    evenhand (\w+) (.*)$", Path("README.md").read_text(), re.M)
    words = {verb: shlex.split(rest, comments=True) for verb, rest in reversed(lines)}  # the first of a verb stays
    sampled = [shlex.split(rest, comments=True) for verb, rest in lines if verb == "sample"]
    recorded = ["show", "sample", "score", "report", "sample", "compare", "scorecard"]
    assert [verb for verb, _ in lines] == [*recorded, "train", "merge", "sample", "sample", "sample", "calibrate"]
    assert words.keys() <= VERBS.keys()
    study = parse_sampling_config(config_tree(sampled[2]), "study.yaml").study
    asked = {unit.unit_id: len(unit.next_prompts({})) for unit in study.units("margin").units}
    training = parse_training_config(config_tree(words["train"]), "training.yaml")
    trained = {unit.item_id for unit in training.load_units()}
    assert (set(asked.values()), len(asked), len(trained)) == ({20}, 10, 30)
    assert trained.isdisjoint(asked)
    fitted = parse_sampling_config(config_tree(sampled[4]), "study.yaml").study
    assert {unit.unit_id for unit in fitted.units("margin").units} == trained
    after = parse_sampling_config(config_tree(sampled[3]), "study.yaml")
    assert (after.name, after.model.name, after.model.label, after.study) == ("after", "MERGED", "trained", study)


PROPOSED = shipped_yaml(Path(__file__).with_name("proposed.yaml"))


@pytest.mark.parametrize("name", PROPOSED)
def test_a_study_is_proposed_from_the_columns_of_a_file_and_asks_all_of_its_items(tmp_path, monkeypatch, name):
    items, labels = PROPOSED[name]["rows"], {*PROPOSED[name]["labels"]}
    write(tmp_path / name, items)
    monkeypatch.chdir(tmp_path)
    main(["new", "--items", name])
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["study.yaml"]
    assert [column for column in items[0] if column not in (tmp_path / "new" / "study.yaml").read_text()] == []
    config = parse_sampling_config(config_tree(["new/study.yaml"]), "study.yaml")
    prompts = [unit.next_prompts({}) for unit in config.study.units(config.verdict).units]
    assert len(prompts) == 6
    assert {prompt.factors.label for unit in prompts for prompt in unit} == labels
    asked = {"question", "Question", "prompt", "text", "a column"} & items[0].keys()
    text = items[0][asked.pop()] if asked else items[0]["input"]
    text = text["stem"] if isinstance(text, dict) else text
    assert text in prompts[0][0].messages[-1].content
    with pytest.raises(ConfigError, match=r"already holds study\.yaml"):
        main(["new", "--items", name])

"""`evenhand init`: the starter folder is written once, and every command of its README can read what lies there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from evenhand.cli.command import VERBS
from evenhand.cli.init import STARTER, main
from evenhand.config import config_tree
from evenhand.errors import ConfigError, DataError
from evenhand.files import shipped_yaml
from inference.config import parse_sampling_config
from tests.made.made_verdicts import write
from training.config import parse_training_config

NAMES = ["README.md", "items.jsonl", "study.yaml", "training.yaml"]


def test_the_folder_is_made_whole_or_not_at_all(tmp_path, monkeypatch):
    copyfile, n_copied = shutil.copyfile, []

    def killed(*places):
        n_copied.append(copyfile(*places))
        if len(n_copied) == 2:
            raise KeyboardInterrupt

    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(shutil, "copyfile", killed)
    with pytest.raises(KeyboardInterrupt):
        main([str(tmp_path / "empty")])
    monkeypatch.undo()
    assert [(file.name, [*file.iterdir()]) for file in tmp_path.iterdir()] == [("empty", [])]
    main([str(tmp_path / "empty")])
    assert sorted(file.name for file in (tmp_path / "empty").iterdir()) == NAMES


def test_a_folder_with_a_file_the_current_one_and_a_file_are_refused_and_stay(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    there = "is there already"
    for folder, problem in {"mine": there, "/": there, "here": "you stand in", "mine/notes": "cannot be"}.items():
        with pytest.raises(ConfigError, match=problem):
            main([str(tmp_path / folder)])
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["here", "mine", "notes"]


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
    assert (len(prompts), config.study.columns.id) == (6, PROPOSED[name].get("id", config.study.columns.id))
    assert {prompt.factors.label for unit in prompts for prompt in unit} == labels
    asked = {"question", "Question", "prompt", "text", "a column"} & items[0].keys()
    text = PROPOSED[name].get("shows") or (items[0][asked.pop()] if asked else items[0]["input"])
    text = text["stem"] if isinstance(text, dict) else text
    assert text in prompts[0][0].messages[-1].content
    hidden = [items[0].get("explanation", "run is"), *PROPOSED[name].get("hides", [])]
    assert [text for text in hidden if any(text in prompt.messages[-1].content for prompt in prompts[0])] == []
    with pytest.raises(ConfigError, match="new: is there already"):
        main(["new", "--items", name])


UNCLEAR = shipped_yaml(Path(__file__).with_name("unclear.yaml"))


@pytest.mark.parametrize("name", UNCLEAR)
def test_where_columns_do_not_say_what_is_right_nothing_is_guessed_and_the_user_names_them(tmp_path, monkeypatch, name):
    columns = UNCLEAR[name]["columns"]
    cells = {
        key: [cell.format(i) for i in range(6)] if isinstance(cell, str) else cell for key, cell in columns.items()
    }
    write(tmp_path / name, [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=f"it cannot be told .* Its columns: {', '.join(columns)}"):
        main(["new", "--items", name])
    with pytest.raises(ConfigError, match=f"--wrong x: {name} has no such column"):
        main(["new", "--items", name, "--wrong", "x"])
    assert not (tmp_path / "new").exists()
    if roles := UNCLEAR[name].get("roles"):
        main(["new", "--items", name, *roles])
        config = parse_sampling_config(config_tree(["new/study.yaml"]), "study.yaml")
        first = config.study.units(config.verdict).units[0].next_prompts({})[0]
        assert UNCLEAR[name]["shows"] in first.messages[-1].content
        assert first.factors.label is not None


def test_a_study_whose_items_cannot_be_asked_is_written_and_is_an_error(tmp_path, monkeypatch):
    write(tmp_path / "items.csv", [{"question": f"Why {i}?", "response_a": "x", "response_b": "x"} for i in range(6)])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="6 of 6 items cannot be asked"):
        main(["new", "--items", "items.csv"])
    assert (tmp_path / "new" / "study.yaml").exists()

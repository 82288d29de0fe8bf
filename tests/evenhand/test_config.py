"""Configs are closed and complete; their errors name file, key, value and the fix."""

from pathlib import Path

import pytest
import yaml

from evenhand.config import config_file, config_tree, parse_yaml, to_yaml
from evenhand.errors import ConfigError
from inference.config import load_sampling_config
from tests.made.places import CONFIGS, cases

STUDIES = ("framing", "inference", "narrator", "pluraleval", "taxonomy")
SAMPLING = [path for study in STUDIES for path in sorted((CONFIGS / study).glob("*.yaml"))]
POCKET = {"benchmarks": [{"dataset": "pocket"}]}
REFUSED = Path(__file__).with_name("refused.yaml")
MINIMAL = {"name": "x", "model": {"name": "embedded"}, "dialdefer": POCKET}


def written(folder, **changes):
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump({**MINIMAL, **changes}))
    return str(path)


@pytest.mark.parametrize("path", SAMPLING, ids=lambda p: p.stem)
def test_every_shipped_sampling_config_loads_and_survives_a_round_trip(path, tmp_path):
    config = load_sampling_config([str(path)])
    copy = tmp_path / "config.yaml"
    copy.write_text(to_yaml(config))
    assert load_sampling_config([str(copy)]) == config


@pytest.mark.parametrize(("word", "found"), yaml.safe_load(REFUSED.with_name("names.yaml").read_text()))
def test_a_config_is_found_by_its_name_from_anywhere_unless_a_file_is_called_so(word, found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config_file(word).resolve() == CONFIGS / found
    with pytest.raises(ConfigError, match="no such file"):
        config_file(f"x{word}")
    Path(word).parent.mkdir(parents=True, exist_ok=True)
    Path(word).write_text("mine")
    assert config_file(word).read_text() == "mine"


def test_no_name_of_a_config_is_ambiguous():
    """What two other folders hold, inference or training must hold too."""
    folders = {}
    for path in CONFIGS.glob("*/*.yaml"):
        folders.setdefault(path.stem, set()).add(path.parent.name)
    assert {k: v for k, v in folders.items() if len(v) > 1 and len(v & {"inference", "training"}) != 1} == {}


def test_an_override_reaches_nested_keys_and_list_elements_and_takes_the_value_that_its_key_has_in_another_config(
    tmp_path,
):
    arm = tmp_path / "arm.yaml"
    arm.write_text("dialdefer: {benchmarks: [{dataset: pocket, split: train, n_items: 64}]}")
    words = [written(tmp_path), f"dialdefer.benchmarks=<{arm} dialdefer.benchmarks[0].n_items=3"]
    (found,) = load_sampling_config(words).dialdefer.benchmarks
    assert (found.split, found.n_items) == ("train", 3)
    with pytest.raises(ConfigError, match=r"arm\.yaml has no 'sampling\.n'"):
        load_sampling_config([written(tmp_path), f"sampling.n=<{arm}"])
    with pytest.raises(ConfigError, match=r"override 'sampling\.n=<no\.yaml': no\.yaml: no such file"):
        load_sampling_config([written(tmp_path), "sampling.n=<no.yaml"])
    for label in ("<think> judge", "<it's"):
        assert load_sampling_config([written(tmp_path), f"model.label={label}"]).model.label == label
    spaced = arm.rename(tmp_path / "an arm.yaml")
    assert load_sampling_config([words[0], f"dialdefer.benchmarks=<'{spaced}'"]).dialdefer.benchmarks[0].n_items == 64


@pytest.mark.parametrize(("changes", "words", "says"), yaml.safe_load(REFUSED.read_text()))
def test_a_bad_config_is_refused_with_key_and_fix(tmp_path, changes, words, says):
    with pytest.raises(ConfigError) as caught:
        load_sampling_config([written(tmp_path, **changes), *words])
    assert says in str(caught.value)


DEEP = [(sign * 100_000, "more than 100 levels") for sign in ("[", "- ")]


@pytest.mark.parametrize(("content", "says"), [*cases(__file__), *DEEP])
def test_a_file_that_is_no_config_is_named(tmp_path, content, says):
    path = tmp_path / "bad.yaml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=says) as caught:
        load_sampling_config([str(path)])
    assert str(path) in str(caught.value)


def test_aliases_that_make_billions_of_values_are_refused_at_once_and_one_gives_the_keys_that_are_not_written():
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    for text in ("a0: &a0 x\n" + levels, "a: &a [*a]"):
        with pytest.raises(yaml.YAMLError, match=r"aliases \(\*NAME\) repeat"):
            parse_yaml(text)
    assert parse_yaml("base: &base {a: 1, b: 2}\nthis: {<<: *base, b: 3}")["this"] == {"a": 1, "b": 3}


def test_the_name_of_a_data_file_is_a_path_from_the_config(tmp_path, monkeypatch):
    study = tmp_path / "study"
    (study / "data").mkdir(parents=True)
    (study / "data" / "items.csv.gz").touch()
    tree = {"framing": {"items": [{"file": "data/items.csv.gz"}, "absent.csv", str(study / "data" / "items.csv.gz")]}}
    (study / "study.yaml").write_text(yaml.safe_dump(tree))
    monkeypatch.chdir(tmp_path)
    items = config_tree(["study/study.yaml"])["framing"]["items"]
    assert items == [{"file": "study/data/items.csv.gz"}, *tree["framing"]["items"][1:]]
    monkeypatch.chdir(study)
    assert config_tree(["study.yaml"])["framing"]["items"] == tree["framing"]["items"]

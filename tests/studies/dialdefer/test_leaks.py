"""No training item may give a test item away: in a finished split, in a training run, under any name."""

from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.built_folder import MANIFEST_FILE, read_manifest
from evenhand.errors import ConfigError, DataError
from evenhand.files import sha256_of, write_json
from studies.dialdefer.datasets import EVALUATION_ONLY, DatasetSpec, load_items, refuse_leaks
from studies.dialdefer.item_table import HeldOut, read_items, write_items
from studies.dialdefer.records import Item
from tests.made.built_folder import build_small
from training.config import parse_training_config
from training.train import inputs_of

ITEM = Item(
    item_id="t-1", benchmark="b", dataset="d", question="Who  is\nIt?", correct_answer="a", incorrect_answer="b"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A split of two small datasets, both in train and test."""
    return build_small(tmp_path_factory.mktemp("leaks"), "socialiqa", "halueval")


def spec(root: Path, dataset: str = "unified", split: str = "train") -> DatasetSpec:
    return DatasetSpec(dataset=dataset, split=split, root=root)


def plant(root: Path, items: list[Item], dataset: str = "halueval") -> None:
    """Put items behind a finished train split, as a build with a fault would."""
    table = root / "data" / dataset / "train.parquet"
    write_items(table, [*read_items(table), *items], None, {})
    manifest = read_manifest(root)
    manifest["files"][table.relative_to(root).as_posix()] = sha256_of(table)
    write_json(root / MANIFEST_FILE, manifest)


@pytest.mark.parametrize("text", ["who is it?", "WHO IS\tIT?", " Who is\u00a0it\uff1f "])
def test_an_item_is_found_by_id_and_by_text_whatever_its_case_and_white_space(text):
    held_out = HeldOut([ITEM])
    assert held_out.leak(replace(ITEM, question="What?")) == ("t-1", "id")
    assert held_out.leak(replace(ITEM, item_id="x", question=text)) == ("t-1", "text")
    assert held_out.leak(replace(ITEM, item_id="x", question="What?")) is None


@pytest.mark.parametrize("disguise", [{}, {"item_id": "new-1"}], ids=["as it is", "under another id"])
def test_a_planted_test_item_stops_the_training_run_and_both_items_are_named(built, tmp_path, disguise):
    root = copy_of(built, tmp_path)
    stolen = read_items(root / "data" / "socialiqa" / "test.parquet")[0]
    planted = replace(stolen, **disguise)
    plant(root, [planted])
    run = {"method": "sft", "name": "leaky", "model": {"name": "embedded"}, "optimiser": {"learning_rate": 1e-3}}
    run |= {"dialdefer": {"benchmarks": [spec(root).model_dump(mode="json")]}, "run": {"root": str(tmp_path / "runs")}}
    config = parse_training_config(run, "leaky.yaml")
    with pytest.raises(DataError, match=f"'{planted.item_id}' .*'{stolen.item_id}' .1 such"):
        inputs_of(config)
    assert not (tmp_path / "runs").exists()


def test_an_evaluation_only_item_in_a_train_split_stops_the_run(built, tmp_path):
    root = copy_of(built, tmp_path)
    refuse_leaks(load_items([spec(root)]), [spec(root)])
    plant(root, [replace(ITEM, dataset="truthfulqa")])
    with pytest.raises(DataError, match="truthfulqa, which is for evaluation only"):
        refuse_leaks(load_items([spec(root)]), [spec(root)])


def test_evaluation_only_datasets_cannot_be_asked_for_as_training_data(built):
    assert {"truthfulqa", "aio", "aio-context"} == EVALUATION_ONLY
    for dataset in EVALUATION_ONLY:
        with pytest.raises(ConfigError, match="for evaluation only"):
            load_items([spec(built, dataset)])


def copy_of(root: Path, folder: Path) -> Path:
    """A copy to spoil."""
    import shutil

    return Path(shutil.copytree(root, folder / "spoilt", ignore=shutil.ignore_patterns("raw", "pool")))

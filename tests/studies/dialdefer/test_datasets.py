"""Items from a data root and from a file of the user's; no training item may give a test item away."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from evenhand.errors import ConfigError, DataError
from evenhand.files import sha256_of, shipped_yaml, write_json
from evenhand.records import digest
from studies.built_folder import MANIFEST_FILE, read_manifest
from studies.dialdefer.datasets import (
    EVALUATION_ONLY,
    DatasetSpec,
    HeldOut,
    check_leaks,
    load_items,
    read_items,
    write_items,
)
from studies.dialdefer.pocket import SCHEMA_VERSION, pocket_items
from studies.dialdefer.records import Item
from tests.made.built_folder import build_small
from tests.made.made_verdicts import write
from training.config import parse_training_config
from training.train import inputs_of

REFUSED = shipped_yaml(Path(__file__).with_name("refused_fields.yaml"))


def test_items_are_drawn_over_the_whole_split_by_their_seed_alone():
    def ids(**keys):
        return [item.item_id for item in load_items([DatasetSpec(dataset="pocket", split="test", **keys)])]

    every, first = ids(), ids(n_items=20, draw_seed=1)
    assert first == ids(n_items=20, draw_seed=1) != ids(n_items=20, draw_seed=2)
    assert len(set(first)) == 20
    assert first == sorted(first, key=every.index)
    assert max(map(every.index, first)) > len(every) // 2, "drawn over all of it"
    with pytest.raises(DataError, match="n_items is 1000000, but there are"):
        ids(n_items=1_000_000, draw_seed=1)
    with pytest.raises(ValueError, match="set n_items, or leave it out"):
        DatasetSpec(dataset="pocket", draw_seed=1)
    assert "draw_seed" not in DatasetSpec(dataset="pocket", n_items=1).model_dump(), "older configs keep their digest"


def test_r_aio_with_its_dialogues_redacted_is_refused_with_what_to_do(tmp_path):
    record = {"id": "abc", "context": "Speaker A ...", "ground_truth": "NOR", "c2_input": "[redacted]"}
    file = tmp_path / "finalAIOdata_experiment_ready.jsonl"
    file.write_text(json.dumps(record) + "\n")
    with pytest.raises(DataError, match=r":1: field 'c2_input' of item 'abc' holds no dialogue.*aio-context"):
        load_items([DatasetSpec(dataset="aio", root=tmp_path)])
    (item,) = load_items([DatasetSpec(dataset="aio-context", root=tmp_path)])
    assert item.correct_answer == "not overreacting"
    file.write_text(json.dumps({**record, "c2_input": "Speaker A: hi"}) + "\n")
    (item,) = load_items([DatasetSpec(dataset="aio", root=tmp_path)])
    assert item.meta["dialogue"] == "Speaker A: hi"


def own(number, **fields):
    """A user's item; null takes a field out."""
    row = {"id": number, "question": f"Is it {number}?", "correct_answer": "yes", "incorrect_answer": "no", **fields}
    return {name: value for name, value in row.items() if value is not None}


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_a_file_of_own_items_is_read_alike_in_every_kind_and_its_splits_part_it_by_question(tmp_path, kind):
    rows = [own(n, question=f"  Is\tit {n // 2}?" if n % 2 else f"is it {n // 2}?", context="c") for n in range(40)]
    rows[0] |= {"dataset": "another"}
    path = write(tmp_path / f"mine.{kind}", rows)
    items, train, test = (load_items([DatasetSpec(file=str(path), split=split)]) for split in ("all", "train", "test"))
    texts = {"question": "is it 0?", "correct_answer": "yes", "incorrect_answer": "no", "context": "c"}
    assert items[0] == Item(item_id="0", benchmark="own", dataset="another", **texts)
    assert {item.dataset for item in items[1:]} == {"mine"}
    assert sorted(map(repr, items)) == sorted(map(repr, train + test))
    assert {int(i.item_id) // 2 for i in train}.isdisjoint({int(i.item_id) // 2 for i in test})
    assert DatasetSpec.model_validate({"file": str(path)}).split == "all"


def test_training_refuses_an_item_of_its_own_file_s_test_split_in_another_group(tmp_path):
    rows = [own(n, group=f"g{n}", question="The same?" if n in (0, 5) else f"Is it {n}?") for n in range(9)]
    spec = DatasetSpec(file=str(write(tmp_path / "mine.jsonl", rows)), split="train", test_share=0.5)
    items = load_items([spec])
    held_out = {*range(9)} - {int(item.item_id) for item in items}
    assert len(held_out & {0, 5}) == 1
    with pytest.raises(DataError, match="asks the same question as the test item"):
        check_leaks(items, [spec])
    check_leaks([item for item in items if item.question != "The same?"], [spec])


@pytest.mark.parametrize(("fields", "says"), REFUSED)
def test_a_wrong_field_of_an_own_item_is_named_with_file_and_line(tmp_path, fields, says):
    path = write(tmp_path / "mine.jsonl", [own(0), own(1, **fields)])
    with pytest.raises(DataError, match=says):
        load_items([DatasetSpec(file=str(path), split="all")])


ITEM = Item(
    item_id="t-1", benchmark="b", dataset="d", question="Who  is\nIt?", correct_answer="a", incorrect_answer="b"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A split of two small datasets, both in train and test."""
    return build_small(tmp_path_factory.mktemp("leaks"), "socialiqa", "halueval")


def spec(root, dataset="halueval", split="train"):
    return DatasetSpec(dataset=dataset, split=split, root=root)


def plant(root, items, dataset="halueval"):
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
    check_leaks(load_items([spec(root)]), [spec(root)])
    plant(root, [replace(ITEM, dataset="truthfulqa")])
    with pytest.raises(DataError, match="truthfulqa, which is for evaluation only"):
        check_leaks(load_items([spec(root)]), [spec(root)])


@pytest.mark.parametrize(("split", "lacking"), [("train", "gpqa, harp"), ("test", "truthfulqa, .*harp")])
def test_a_part_of_the_benchmark_is_not_taken_for_all_of_it(built, split, lacking):
    with pytest.raises(ConfigError, match=f"lacks the {split} split of .*{lacking}"):
        load_items([spec(built, "unified", split)])


def test_evaluation_only_datasets_cannot_be_asked_for_as_training_data(built):
    assert {"truthfulqa", "aio", "aio-context"} == EVALUATION_ONLY
    for dataset in EVALUATION_ONLY:
        with pytest.raises(ConfigError, match="for evaluation only"):
            load_items([spec(built, dataset)])


def copy_of(root, folder):
    """A copy to spoil."""
    import shutil

    return Path(shutil.copytree(root, folder / "spoilt", ignore=shutil.ignore_patterns("raw", "pool")))


POCKET = {
    "train": "08688c9a07606ecffe9cbe68e00941d0a1dbb904afb8fe3212229015e9231678",
    "test": "c8cd2787a9d2917b0b3f7671f0d8807231086478031c920c4984788ec3c6a860",
}


@pytest.mark.parametrize("split", POCKET)
def test_pockets_items_never_change(split):
    """An intended change raises SCHEMA_VERSION and brings a new digest: scores of other items cannot be compared."""
    assert digest([asdict(item) for item in pocket_items(split)]) == POCKET[split]
    assert SCHEMA_VERSION == "v2"

"""`evenhand build unified`: from publishers' files to a split on disk, whatever happens in between."""

import json
from dataclasses import replace

import pytest

from evenhand.errors import ConfigError, DataError
from evenhand.records import digest
from studies.built_folder import read_manifest
from studies.dialdefer.datasets import DatasetSpec, load_items, read_items, table_schema, write_items
from studies.dialdefer.records import TEXTS
from studies.dialdefer.release import N_DIGITS, published_ids
from studies.dialdefer.unified.build import build, resample
from studies.dialdefer.unified.card import WHOLE, notes_on, table8_text
from studies.dialdefer.unified.catalogue import DATASETS, NINE
from tests.made.built_folder import build_small, request, write_release
from tests.made.unified_files import write_raw

NAMES = [dataset.name for dataset in NINE]
NEW_ROW = {"knowledge": "k", "question": "New?", "right_answer": "r", "hallucinated_answer": "h"}


def items_of(root, dataset, split):
    return read_items(root / "data" / dataset / f"{split}.parquet")


def ids_of(items):
    return [item.item_id for item in items]


def append_lines(path, *rows):
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def whole(root, split="train", n_items=None, dataset="unified"):
    return load_items([DatasetSpec(dataset=dataset, split=split, root=root, n_items=n_items)])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """All nine datasets; no test writes to it."""
    return build_small(tmp_path_factory.mktemp("small"), *NAMES, n_test=6, scale=0.05)


@pytest.fixture
def built(tmp_path):
    """Two datasets, to spoil."""
    return build_small(tmp_path, "halueval", "socialiqa")


def test_test_and_train_make_up_the_pool_and_the_first_n_are_a_sample_of_all(small):
    for name, facts in read_manifest(small)["contents"].items():
        pool, test = list(DATASETS[name].convert(small.parent / "raw" / name)), items_of(small, name, "test")
        if name == "truthfulqa":
            assert test == pool
            continue
        train = items_of(small, name, "train")
        assert sorted(ids_of(test + train)) == sorted(ids_of(pool))
        assert (facts["n_pool"], facts["n_train"], facts["n_test"]) == (len(pool), len(train), 6)
    items = whole(small)
    assert {item.dataset for item in items} == {*NAMES} - {"truthfulqa"}
    assert whole(small, n_items=40) == items[:40]
    assert len({item.dataset for item in items[:40]}) >= 4


def test_train_rows_that_ask_what_a_test_item_asks_are_left_out_and_listed(tmp_path):
    names = ["halueval", "advisorqa"]
    write_raw(tmp_path / "raw", scale=0.02, datasets=names)
    build(request(tmp_path / "a", tmp_path / "raw", names, n_test=9))
    asked = items_of(tmp_path / "a", "advisorqa", "test")[0]
    same = {**NEW_ROW, "question": f"  {asked.question.upper()} "}
    append_lines(tmp_path / "raw" / "halueval" / "qa_data.json", same, {**NEW_ROW, "right_answer": ""})
    manifest = build(request(tmp_path / "b", tmp_path / "raw", names, n_test=9))
    n_pool = manifest["contents"]["halueval"]["n_pool"]
    dropped = [json.loads(line) for line in (tmp_path / "b" / "dropped.jsonl").read_text().splitlines()]
    copied, empty = f"halueval-qa-{n_pool - 2}", f"halueval-qa-{n_pool - 1}"
    assert {"item_id": copied, "reason": "same text", "test_item": asked.item_id} in dropped
    assert {"item_id": empty, "reason": "empty correct_answer"} in dropped
    assert manifest["contents"]["halueval"]["n_dropped"] == {"same text": 1, "empty correct_answer": 1}
    assert not {copied, empty} & set(ids_of(items_of(tmp_path / "b", "halueval", "train")))


def test_the_authors_own_test_records_are_taken_where_they_are_and_differences_are_named(tmp_path, monkeypatch):
    raw = tmp_path / "raw"
    write_raw(raw, datasets=["gpqa"])
    manifest = build(request(tmp_path / "a", raw, ["gpqa"]))
    test = items_of(tmp_path / "a", "gpqa", "test")
    assert ids_of(test) == list(published_ids()["gpqa"])
    assert manifest["contents"]["gpqa"]["test_from"] == "publisher"
    with pytest.raises(DataError, match=r"134 of the published test ids .* ask something else"):
        build(request(tmp_path / "b", raw, ["gpqa"], any_revision=False))
    write_release(raw / "release", "gpqa", test)
    with pytest.raises(DataError, match="is not as published; fetch revision"):
        build(request(tmp_path / "b", raw, ["gpqa"], any_revision=False, test_only=True))
    with pytest.raises(DataError, match="finished build of other sources"):  # its test items could change hands
        build(request(tmp_path / "a", raw, ["gpqa"]))

    test[3] = replace(test[3], correct_answer="another apostrophe")
    write_release(raw / "release", "gpqa", test)
    digests = "".join(digest(getattr(item, field), N_DIGITS) for item in test for field in TEXTS)
    monkeypatch.setattr("studies.dialdefer.release.published_digests", lambda: {"gpqa": digests})
    manifest = build(request(tmp_path / "b", raw, ["gpqa"], any_revision=False))
    assert items_of(tmp_path / "b", "gpqa", "test") == test
    assert manifest["contents"]["gpqa"]["test_from"] == "release"
    assert manifest["contents"]["gpqa"]["test_differs"] == {"correct_answer": [test[3].item_id]}
    assert f"the correct_answer of 1 test items ({test[3].item_id}) differs" in "".join(notes_on(manifest))
    build(request(tmp_path / "c", raw, ["gpqa"], test_only=True))
    assert items_of(tmp_path / "c", "gpqa", "test") == test
    with pytest.raises(ConfigError, match="lacks the train split of advisorqa, amqa"):
        whole(tmp_path / "c")


def test_a_dataset_that_the_paper_has_not_gets_a_drawn_test_split(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.dialdefer.release.published_ids", dict)
    write_raw(tmp_path / "raw", scale=0.05, datasets=["halueval"])
    monkeypatch.setitem(DATASETS, "halueval", replace(DATASETS["halueval"], n_test=7))
    contents = build(request(tmp_path / "a", tmp_path / "raw", ["halueval"]))["contents"]["halueval"]
    assert (contents["n_pool"], contents["n_train"], contents["n_test"]) == (500, 493, 7)


def test_a_finished_build_is_found_done_and_never_mixed_with_another(built):
    raw, names = built.parent / "raw", ["halueval", "socialiqa"]
    written = (built / "manifest.json").stat().st_mtime_ns
    build(request(built, raw, names, n_test=9))
    assert (built / "manifest.json").stat().st_mtime_ns == written
    with pytest.raises(DataError, match="finished build of other split"):
        build(request(built, raw, names, n_test=10))
    append_lines(raw / "halueval" / "qa_data.json", NEW_ROW)
    with pytest.raises(DataError, match="finished build of other sources"):
        build(request(built, raw, names, n_test=9))
    assert (built / "manifest.json").stat().st_mtime_ns == written


def test_a_changed_table_is_refused_and_made_again_by_the_same_command(built):
    manifest, table = read_manifest(built), built / "data" / "halueval" / "test.parquet"
    rows = read_items(table)
    swapped = [replace(i, correct_answer=i.incorrect_answer, incorrect_answer=i.correct_answer) for i in rows]
    for spoil in (lambda: write_items(table, swapped, None, {}), table.unlink):
        spoil()
        with pytest.raises(DataError, match=r"halueval/test\.parquet: is not as built"):
            whole(built, "test", dataset="halueval")
    build(request(built, built.parent / "raw", ["halueval", "socialiqa"], n_test=9))
    assert read_manifest(built)["files"] == manifest["files"]
    assert items_of(built, "halueval", "test") == rows


def loaded(folder, cache, *name, split):
    from datasets import load_dataset

    return load_dataset(str(folder), *name, split=split, cache_dir=str(cache))


def test_a_built_folder_loads_by_its_card_dataset_by_dataset_and_whole(small, tmp_path):
    rows, items = loaded(small, tmp_path, "bbq", split="train"), items_of(small, "bbq", "train")
    assert rows.column_names == table_schema().names
    assert rows["item_id"][:] == ids_of(items)
    assert rows[0]["incorrect_answers"] == items[0].meta["incorrect_answers"]
    contents, test = read_manifest(small)["contents"], loaded(small, tmp_path, split="test")
    assert list(dict.fromkeys(test["dataset"])) == NAMES
    assert len(test) == sum(facts["n_test"] for facts in contents.values())
    assert len(loaded(small, tmp_path, WHOLE, split="train")) == sum(facts["n_train"] for facts in contents.values())
    with pytest.raises(ValueError, match="train"):
        loaded(small, tmp_path, "truthfulqa", split="train")


@pytest.mark.parametrize("n_test", [7, 100, 134, 135])
def test_a_balanced_draw_gives_every_stratum_its_share_and_another_seed_draws_others(n_test):
    pool = {f"{stratum}-{k}": stratum for k in range(80) for stratum in "abc"}
    chosen = resample("made", pool, n_test)
    counts = [sum(pool[item_id] == stratum for item_id in chosen) for stratum in "abc"]
    assert sum(counts) == len(set(chosen)) == n_test
    assert max(counts) - min(counts) <= 2  # one more for the luckiest strata of each stage
    assert set(resample("made", pool, n_test, seed=7)) != set(chosen)
    with pytest.raises(DataError, match="items left"):
        resample("made", pool, 300)


def test_the_sizes_of_a_dataset_that_is_not_the_papers_are_not_called_the_papers(monkeypatch):
    monkeypatch.setitem(DATASETS, "quiz", replace(DATASETS["halueval"], name="quiz"))
    facts = {"n_pool": 30, "n_train": 20, "n_test": 10, "strata": {}}
    rows = table8_text({"contents": {"quiz": facts, "halueval": facts}}).splitlines()[2:]
    assert [[cell.strip() for cell in row.split("|")[2:5]] for row in rows] == [
        ["30 (–)", "20 (–)", "10 (–)"],
        ["30 (10,000)", "20 (9,700)", "10 (300)"],
    ]

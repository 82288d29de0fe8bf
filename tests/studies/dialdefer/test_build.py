"""`evenhand build unified`: from publishers' files to a split on disk, whatever happens in between."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.errors import ConfigError, DataError
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.item_table import read_items
from studies.dialdefer.records import Item
from studies.dialdefer.unified.build import build
from studies.dialdefer.unified.catalogue import NINE
from studies.dialdefer.unified.command import main, request_from
from studies.dialdefer.unified.release import digits_of
from studies.dialdefer.unified.splits import published_ids
from tests.made.built_folder import build_small, request, write_release
from tests.made.places import ROOT
from tests.made.unified_files import write_raw


def items_of(root: Path, dataset: str, split: str) -> list[Item]:
    return list(read_items(root / "data" / dataset / f"{split}.parquet"))


def ids_of(items: list[Item]) -> list[str]:
    return [item.item_id for item in items]


def append_lines(path: Path, *rows: dict[str, object]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_small(tmp_path_factory.mktemp("small"), *(dataset.name for dataset in NINE), n_test=6, scale=0.1)


def test_test_and_train_make_up_the_pool(small):
    manifest = json.loads((small / "manifest.json").read_text())
    for name, found in manifest["contents"].items():
        pool = ids_of(list(read_items(small / "pool" / f"{name}.parquet")))
        test = ids_of(items_of(small, name, "test"))
        if name == "truthfulqa":
            assert test == pool
            continue
        train = ids_of(items_of(small, name, "train"))
        assert len(test) == found["n_test"] == 6
        assert sorted(test + train) == sorted(pool)
        assert found["n_train"] == len(train) == len(pool) - 6


def test_evaluation_only_datasets_have_no_train_table(small):
    assert not (small / "data" / "truthfulqa" / "train.parquet").exists()
    assert "truthfulqa" not in {item.dataset for item in load_items([unified(small, "train")])}


def unified(root: Path, split: str, n_items: int | None = None) -> DatasetSpec:
    return DatasetSpec(dataset="unified", split=split, root=root, n_items=n_items)


def test_one_config_line_gives_all_train_splits_and_the_first_n_are_a_sample_of_them(small):
    items = load_items([unified(small, "train")])
    assert len({item.dataset for item in items}) == 8
    assert load_items([unified(small, "train", 40)]) == items[:40]
    assert len({item.dataset for item in items[:40]}) >= 4


def test_a_build_is_the_same_every_time(small, tmp_path):
    again = tmp_path / "again"
    names = [dataset.name for dataset in NINE]
    build(request(again, small.parent / "raw", names, n_test=6))
    first, second = (json.loads((root / "manifest.json").read_text())["files"] for root in (small, again))
    assert first == second


def test_train_rows_that_ask_what_a_test_item_asks_are_left_out_and_listed(tmp_path):
    write_raw(tmp_path / "raw", scale=0.02, datasets=["halueval", "advisorqa"])
    build(request(tmp_path / "a", tmp_path / "raw", ["halueval", "advisorqa"], n_test=9))
    asked = items_of(tmp_path / "a", "advisorqa", "test")[0]
    row = {
        "knowledge": "k",
        "question": f"  {asked.question.upper()} ",
        "right_answer": "r",
        "hallucinated_answer": "h",
    }
    append_lines(tmp_path / "raw" / "halueval" / "qa_data.json", row, {**row, "question": "New?", "right_answer": ""})
    manifest = build(request(tmp_path / "b", tmp_path / "raw", ["halueval", "advisorqa"], n_test=9))
    n_pool = manifest["contents"]["halueval"]["n_pool"]
    dropped = [json.loads(line) for line in (tmp_path / "b" / "dropped.jsonl").read_text().splitlines()]
    copied, empty = f"halueval-qa-{n_pool - 2}", f"halueval-qa-{n_pool - 1}"
    assert {"item_id": copied, "reason": "same text", "test_item": asked.item_id} in dropped
    assert {"item_id": empty, "reason": "empty correct_answer"} in dropped
    assert manifest["contents"]["halueval"]["n_dropped"] == {"same text": 1, "empty correct_answer": 1}
    assert not {copied, empty} & set(ids_of(items_of(tmp_path / "b", "halueval", "train")))


def test_the_published_split_is_the_published_ids_in_order_from_the_publishers_files(tmp_path):
    write_raw(tmp_path / "raw", datasets=["gpqa", "amqa"])
    manifest = build(request(tmp_path / "out", tmp_path / "raw", ["gpqa", "amqa"]))
    for name in ("gpqa", "amqa"):
        assert ids_of(items_of(tmp_path / "out", name, "test")) == list(published_ids()[name])
        assert manifest["contents"][name]["test_from"] == "publisher"


def test_the_authors_own_test_records_are_taken_where_they_are_and_differences_are_named(tmp_path, monkeypatch):
    write_raw(tmp_path / "raw", datasets=["gpqa"])
    build(request(tmp_path / "a", tmp_path / "raw", ["gpqa"]))
    released = items_of(tmp_path / "a", "gpqa", "test")
    released[3] = replace(released[3], correct_answer="another apostrophe")
    write_release(tmp_path / "raw" / "release", "gpqa", released)
    made_digests = {"gpqa": "".join(map(digits_of, released))}
    monkeypatch.setattr("studies.dialdefer.unified.release.published_digests", lambda: made_digests)
    wanted = request(tmp_path / "b", tmp_path / "raw", ["gpqa"])
    manifest = build(replace(wanted, split=replace(wanted.split, any_revision=False)))
    assert items_of(tmp_path / "b", "gpqa", "test") == released
    assert manifest["contents"]["gpqa"]["test_from"] == "release"
    assert manifest["contents"]["gpqa"]["test_differs"] == {"correct_answer": [released[3].item_id]}
    write_release(tmp_path / "raw" / "release", "gpqa", released[:-1])
    with pytest.raises(DataError, match=r"released test split of gpqa .133 items. is not the published one"):
        build(request(tmp_path / "c", tmp_path / "raw", ["gpqa"]))


@pytest.mark.parametrize("from_release", [True, False])
def test_files_whose_published_ids_ask_something_else_are_refused(tmp_path, from_release):
    write_raw(tmp_path / "raw", datasets=["gpqa"])
    wanted = request(tmp_path / "out", tmp_path / "raw", ["gpqa"])
    if from_release:
        build(request(tmp_path / "a", tmp_path / "raw", ["gpqa"]))
        write_release(tmp_path / "raw" / "release", "gpqa", items_of(tmp_path / "a", "gpqa", "test"))
        wanted = replace(wanted, test_only=True)
    says = (
        "is not as published; fetch revision" if from_release else "134 of the published test ids .* ask something else"
    )
    with pytest.raises(DataError, match=says):
        build(replace(wanted, split=replace(wanted.split, any_revision=False)))


def test_what_was_converted_before_an_error_is_not_converted_again(tmp_path):
    write_raw(tmp_path / "raw", scale=0.02, datasets=["halueval", "socialiqa"])
    archive = tmp_path / "raw" / "socialiqa" / "socialIQa_v1.4_withDims.tgz"
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    wanted = request(tmp_path / "out", tmp_path / "raw", ["halueval", "socialiqa"], n_test=9)
    with pytest.raises(DataError, match=r"withDims\.tgz: is not a whole archive"):
        build(wanted)
    kept = tmp_path / "out" / "pool" / "halueval.parquet"
    made = kept.stat().st_mtime_ns
    archive.write_bytes(whole)
    build(wanted)
    assert kept.stat().st_mtime_ns == made


def test_a_finished_build_is_found_done_and_never_mixed_with_another(small, tmp_path):
    raw, names = small.parent / "raw", [dataset.name for dataset in NINE]
    written = (small / "manifest.json").stat().st_mtime_ns
    build(request(small, raw, names, n_test=6))
    assert (small / "manifest.json").stat().st_mtime_ns == written
    with pytest.raises(DataError, match="finished build of another split or more datasets"):
        build(request(small, raw, names, n_test=10))
    with pytest.raises(DataError, match="finished build of another split or more datasets"):
        build(request(small, raw, names[:3], n_test=6))
    write_raw(tmp_path / "raw", scale=0.02, datasets=["halueval"])
    wanted = request(tmp_path / "out", tmp_path / "raw", ["halueval"], n_test=9)
    build(wanted)
    row = {"knowledge": "k", "question": "New?", "right_answer": "r", "hallucinated_answer": "h"}
    append_lines(tmp_path / "raw" / "halueval" / "qa_data.json", row)
    with pytest.raises(DataError, match="finished build of other files"):
        build(wanted)


def test_the_test_split_alone_can_later_be_extended_in_place(tmp_path):
    write_raw(tmp_path / "raw", datasets=["gpqa", "amqa"])
    build(request(tmp_path / "first", tmp_path / "raw", ["gpqa", "amqa"]))
    for name in ("gpqa", "amqa"):
        write_release(tmp_path / "raw" / "release", name, items_of(tmp_path / "first", name, "test"))
    out = tmp_path / "out"
    build(replace(request(out, tmp_path / "raw", ["gpqa"]), test_only=True))
    tested = items_of(out, "gpqa", "test")
    with pytest.raises(ConfigError, match="built with --test-only"):
        load_items([unified(out, "train")])
    build(request(out, tmp_path / "raw", ["gpqa", "amqa"]))
    assert items_of(out, "gpqa", "test") == tested
    assert {item.dataset for item in load_items([unified(out, "train")])} == {"gpqa", "amqa"}
    with pytest.raises(DataError, match="another split or more datasets"):
        build(replace(request(out, tmp_path / "raw", ["gpqa", "amqa"]), test_only=True))


@pytest.mark.campaign
def test_a_build_that_was_killed_is_continued_to_the_same_tables(small, tmp_path):
    out, raw = tmp_path / "killed", small.parent / "raw"
    names = [dataset.name for dataset in NINE]
    command = [sys.executable, "-m", "evenhand.command", "build", "unified", "--out", str(out), "--raw", str(raw)]
    command += ["--any-revision", "--split", "resample", "--datasets", *names]
    command += ["--size", *(f"{name}=6" for name in names if name != "truthfulqa")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None and len(list(out.glob("pool/*.parquet"))) < 4:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "manifest.json").exists()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    first, second = (json.loads((root / "manifest.json").read_text())["files"] for root in (small, out))
    assert {name: facts["sha256"] for name, facts in first.items()} == {n: f["sha256"] for n, f in second.items()}


def test_words_that_do_not_go_together_are_refused():
    from studies.dialdefer.unified.command import parser

    for words, says in [
        (["--seed", "7"], "of --split resample"),
        (["--size", "bbq=5"], "of --split resample"),
        (["--split", "resample", "--test-only"], "does not go with"),
        (["--split", "resample", "--size", "truthful=5"], "unknown dataset 'truthful'"),
        (["--split", "resample", "--size", "truthfulqa=5"], "unknown dataset 'truthfulqa'"),
        (["--split", "resample", "--seed", "-1"], "take 0 or more"),
    ]:
        with pytest.raises(ConfigError, match=says):
            request_from(parser().parse_args(["--out", "x", *words]))
    with pytest.raises(ConfigError, match="say where to build"):
        main([])

"""What a build refuses, keeps and repairs: leaks, failed extensions, edited folders, two builds at once."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import DataError
from studies.built_folder import read_manifest
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.item_table import read_items, write_items
from studies.dialdefer.leaks import HeldOut
from studies.dialdefer.published_items import FILES, published_items, records_at, to_item
from studies.dialdefer.unified import assemble, bbq
from studies.dialdefer.unified.build import build
from tests.made.built_folder import build_small, request
from tests.made.places import SHARED
from tests.made.publishers_server import COMMIT, Fault, PublishersServer
from tests.made.unified_files import write_raw

DATA = SHARED / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"the data is not at {DATA}")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    return build_small(tmp_path, "halueval", "socialiqa")


def whole(root: Path, split: str = "train") -> list[DatasetSpec]:
    return [DatasetSpec(dataset="unified", split=split, root=root)]


def test_a_leak_in_the_tables_that_a_build_has_written_fails_it(tmp_path, monkeypatch):
    write_raw(tmp_path / "raw", scale=0.02, datasets=["halueval"])

    def leaky(pool: Any, part: Any, held_out: HeldOut) -> Any:
        return pool.items()  # forgets to leave the test items out

    monkeypatch.setattr(assemble, "train_items", leaky)
    with pytest.raises(DataError, match=r"train\.parquet: training item 'halueval-qa-\d+' is the test item"):
        build(request(tmp_path / "out", tmp_path / "raw", ["halueval"], n_test=9))
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    "change",
    [lambda items: [replace(i, correct_answer=i.incorrect_answer, incorrect_answer=i.correct_answer) for i in items],
     lambda items: items[1:]],
    ids=["answers swapped", "a row removed"],
)  # fmt: skip
def test_a_table_edited_before_sampling_was_sampled_as_the_dataset(built, change):
    table = built / "data" / "halueval" / "test.parquet"
    write_items(table, change(list(read_items(table))), None, {})
    with pytest.raises(DataError, match=r"halueval/test\.parquet: is not as built: it was changed since"):
        load_items(whole(built, "test"))


def test_a_table_that_is_gone_or_changed_is_made_again_by_the_same_command(built):
    manifest = read_manifest(built)
    table = built / "data" / "halueval" / "train.parquet"
    table.write_bytes(b"not a table")
    with pytest.raises(DataError, match=r"train\.parquet: is not as built"):
        load_items(whole(built))
    build(request(built, built.parent / "raw", ["halueval", "socialiqa"], n_test=9))
    assert read_manifest(built)["files"] == manifest["files"]


def test_an_extension_that_fails_leaves_the_finished_build_as_it_was(built):
    raw = built.parent / "raw"
    (raw / "gpqa").mkdir()
    (raw / "gpqa" / "gpqa_main.csv").write_text("a,b\n1,2\n")
    before = read_manifest(built)
    with pytest.raises(DataError, match=r"gpqa_main\.csv"):
        build(request(built, raw, ["halueval", "socialiqa", "gpqa"], n_test=9))
    assert read_manifest(built) == before
    assert load_items(whole(built))


def test_test_items_do_not_change_hands_when_the_release_comes_or_goes(tmp_path):
    write_raw(tmp_path / "raw", datasets=["gpqa"])
    build(request(tmp_path / "out", tmp_path / "raw", ["gpqa"]))
    (tmp_path / "raw" / "release").mkdir()
    (tmp_path / "raw" / "release" / "gpqa_formatted.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match="authors' release was not at hand"):
        build(request(tmp_path / "out", tmp_path / "raw", ["gpqa"]))


def test_somebodys_folder_is_not_built_into(tmp_path):
    write_raw(tmp_path / "raw", scale=0.02, datasets=["halueval"])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("my notes")
    with pytest.raises(DataError, match="holds other files; choose an empty or a new folder"):
        build(request(tmp_path / "mine", tmp_path / "raw", ["halueval"], n_test=9))
    assert (tmp_path / "mine" / "README.md").read_text() == "my notes"


def test_of_two_builds_into_one_folder_one_waits_and_is_refused(tmp_path):
    write_raw(tmp_path / "raw", scale=0.05, datasets=["halueval"])
    ended: list[str] = []

    def run(seed: int) -> None:
        try:
            build(request(tmp_path / "out", tmp_path / "raw", ["halueval"], n_test=9, seed=seed))
            ended.append(f"built {seed}")
        except DataError as error:
            ended.append(str(error))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seed = read_manifest(tmp_path / "out")["split"]["seed"]
    assert f"built {seed}" in ended
    assert sum("finished build of another split" in line for line in ended) == 1


def test_by_default_the_files_are_downloaded_and_a_build_that_was_cut_off_continues(tmp_path, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    write_raw(tmp_path / "made", scale=0.02, datasets=["halueval"])
    content = (tmp_path / "made" / "halueval" / "qa_data.json").read_bytes()
    with PublishersServer({"data/qa_data.json": content}) as server:
        wanted = replace(request(tmp_path / "out", tmp_path, ["halueval"], n_test=9), raw=None, hosts=server.hosts)
        server.faults["qa_data.json"] = [Fault(status=404)]
        with pytest.raises(DataError, match="404"):
            build(wanted)
        manifest = build(wanted)
    (source,) = manifest["contents"]["halueval"]["source"]
    assert (source["name"], source["revision"], source["n_bytes"]) == ("qa_data.json", COMMIT, len(content))
    assert (tmp_path / "out" / "raw" / "halueval" / "qa_data.json").read_bytes() == content


def test_r_aio_with_its_dialogues_redacted_is_refused_with_what_to_do(built, tmp_path):
    record = {"id": "abc", "context": "Speaker A ...", "ground_truth": "NOR", "c2_input": "[redacted]"}
    file = tmp_path / "release" / "finalAIOdata_experiment_ready.jsonl"
    file.parent.mkdir()
    file.write_text(json.dumps(record) + "\n")
    with pytest.raises(DataError, match=r":1: field 'c2_input' of item 'abc' holds no dialogue.*aio-context"):
        load_items([DatasetSpec(dataset="aio", root=file.parent)])
    with pytest.raises(DataError, match=r"contexts alone.*evenhand build aio.*dialogues put back"):
        load_items([DatasetSpec(dataset="aio", root=built)])
    (item,) = load_items([DatasetSpec(dataset="aio-context", root=file.parent)])
    assert item.correct_answer == "not overreacting"
    file.write_text(json.dumps({**record, "c2_input": "Speaker A: hi"}) + "\n")
    (item,) = load_items([DatasetSpec(dataset="aio", root=file.parent)])
    assert item.meta["dialogue"] == "Speaker A: hi"


@needs_data
def test_five_socialiqa_rows_and_one_of_bbqs_six_files_ask_what_a_published_test_item_asks():
    release = DATA / "published"
    held_out = HeldOut(item for name in FILES for item in published_items(name, release))
    pool = release / "benchmark_data" / "datasets" / "formatted" / "socialiqa_formatted.jsonl"
    socialiqa = [to_item("socialiqa", record) for record in records_at(pool)]
    six_files = [item for path in sorted((DATA / "raw" / "bbq").glob("*.jsonl")) for item in bbq.convert_file(path)]
    for items, n_same in ((socialiqa, 5), (six_files, 1)):
        assert sum(leak.reason == "text" for item in items if (leak := held_out.find(item))) == n_same

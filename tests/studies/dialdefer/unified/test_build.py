"""`evenhand build unified`: from publishers' files to a split on disk, whatever happens in between."""

import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand.errors import ConfigError, DataError
from studies.built_folder import read_manifest
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.item_table import read_items, table_schema, write_items
from studies.dialdefer.records import Item
from studies.dialdefer.release import digits_of, published_ids
from studies.dialdefer.unified import build as building
from studies.dialdefer.unified.build import build
from studies.dialdefer.unified.card import WHOLE, card_text, table8_text
from studies.dialdefer.unified.catalogue import DATASETS, NINE, list_text
from studies.dialdefer.unified.command import main, parser, request_from
from studies.dialdefer.unified.splits import published_split, resample, sizes_from
from tests.made.built_folder import build_small, request, write_release
from tests.made.places import ROOT
from tests.made.publishers_server import COMMIT, Fault, PublishersServer
from tests.made.unified_files import write_raw

NAMES = [dataset.name for dataset in NINE]
NEW_ROW = {"knowledge": "k", "question": "New?", "right_answer": "r", "hallucinated_answer": "h"}


def items_of(root: Path, dataset: str, split: str) -> list[Item]:
    return read_items(root / "data" / dataset / f"{split}.parquet")


def ids_of(items: list[Item]) -> list[str]:
    return [item.item_id for item in items]


def append_lines(path: Path, *rows: dict[str, object]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def whole(root: Path, split: str = "train", n_items: int | None = None) -> list[Item]:
    return load_items([DatasetSpec(dataset="unified", split=split, root=root, n_items=n_items)])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All nine datasets; no test writes to it."""
    return build_small(tmp_path_factory.mktemp("small"), *NAMES, n_test=6, scale=0.05)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Two datasets, to spoil."""
    return build_small(tmp_path, "halueval", "socialiqa")


def test_test_and_train_make_up_the_pool_and_a_build_is_the_same_every_time(small, tmp_path):
    manifest = read_manifest(small)
    for name, facts in manifest["contents"].items():
        pool, test = ids_of(read_items(small / "pool" / f"{name}.parquet")), ids_of(items_of(small, name, "test"))
        if name == "truthfulqa":
            assert test == pool
            assert not (small / "data" / name / "train.parquet").exists()
            continue
        train = ids_of(items_of(small, name, "train"))
        assert len(test) == facts["n_test"] == 6
        assert sorted(test + train) == sorted(pool)
        assert facts["n_train"] == len(train) == len(pool) - 6
    build(request(tmp_path / "again", small.parent / "raw", NAMES, n_test=6))
    assert read_manifest(tmp_path / "again")["files"] == manifest["files"]


def test_one_config_line_gives_all_train_splits_and_the_first_n_are_a_sample_of_them(small):
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
    with pytest.raises(DataError, match="finished build with other sources"):  # its test items could change hands
        build(request(tmp_path / "a", raw, ["gpqa"]))

    test[3] = replace(test[3], correct_answer="another apostrophe")
    write_release(raw / "release", "gpqa", test)
    monkeypatch.setattr("studies.dialdefer.release.published_digests", lambda: {"gpqa": "".join(map(digits_of, test))})
    manifest = build(request(tmp_path / "b", raw, ["gpqa"], any_revision=False))
    assert items_of(tmp_path / "b", "gpqa", "test") == test
    assert manifest["contents"]["gpqa"]["test_from"] == "release"
    assert manifest["contents"]["gpqa"]["test_differs"] == {"correct_answer": [test[3].item_id]}
    assert f"the correct_answer of 1 test items ({test[3].item_id}) differs" in table8_text(manifest)
    build(request(tmp_path / "c", raw, ["gpqa"], test_only=True))
    assert items_of(tmp_path / "c", "gpqa", "test") == test
    with pytest.raises(ConfigError, match="built with --test-only"):
        whole(tmp_path / "c")
    write_release(raw / "release", "gpqa", test[:-1])
    with pytest.raises(DataError, match=r"released test split of gpqa .133 items. is not the published one"):
        build(request(tmp_path / "d", raw, ["gpqa"]))


def test_what_was_converted_before_an_error_is_not_converted_again(tmp_path):
    write_raw(tmp_path / "raw", scale=0.02, datasets=["halueval", "socialiqa"])
    archive = tmp_path / "raw" / "socialiqa" / "socialIQa_v1.4_withDims.tgz"
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    wanted = request(tmp_path / "out", tmp_path / "raw", ["halueval", "socialiqa"], n_test=9)
    with pytest.raises(DataError, match=r"withDims\.tgz: is not a whole archive"):
        build(wanted)
    kept = tmp_path / "out" / "pool" / "halueval.parquet"
    made = kept.stat().st_mtime_ns
    archive.write_bytes(content)
    build(wanted)
    assert kept.stat().st_mtime_ns == made


def test_a_finished_build_is_found_done_and_never_mixed_with_another(built):
    raw, names = built.parent / "raw", ["halueval", "socialiqa"]
    written = (built / "manifest.json").stat().st_mtime_ns
    build(request(built, raw, names, n_test=9))
    assert (built / "manifest.json").stat().st_mtime_ns == written
    with pytest.raises(DataError, match="finished build with other split"):
        build(request(built, raw, names, n_test=10))
    with pytest.raises(DataError, match="finished build with other datasets"):
        build(request(built, raw, names[:1], n_test=9))
    append_lines(raw / "halueval" / "qa_data.json", NEW_ROW)
    with pytest.raises(DataError, match="finished build with other sources"):
        build(request(built, raw, names, n_test=9))
    assert (built / "manifest.json").stat().st_mtime_ns == written


def test_an_id_that_occurs_twice_stops_the_build(tmp_path):
    write_raw(tmp_path / "raw", scale=0.02, datasets=["amqa"])
    file = tmp_path / "raw" / "amqa" / "AMQA_Dataset.jsonl"
    append_lines(file, json.loads(file.read_text().splitlines()[1]))
    with pytest.raises(DataError, match="item id 'amqa-1' occurs twice"):
        build(request(tmp_path / "out", tmp_path / "raw", ["amqa"], n_test=9))


@pytest.mark.campaign
def test_a_build_that_was_killed_is_continued_to_the_same_tables(small, tmp_path):
    out, raw = tmp_path / "killed", small.parent / "raw"
    command = [sys.executable, "-m", "evenhand.cli.command", "build", "unified", "--out", str(out), "--raw", str(raw)]
    command += ["--any-revision", "--split", "resample", "--datasets", *NAMES]
    command += ["--size", *(f"{name}=6" for name in NAMES if name != "truthfulqa")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None and len(list(out.glob("pool/*.parquet"))) < 4:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "manifest.json").exists()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    assert read_manifest(out)["files"] == read_manifest(small)["files"]


def test_a_leak_in_the_tables_that_a_build_has_written_fails_it(tmp_path, monkeypatch):
    write_raw(tmp_path / "raw", scale=0.02, datasets=["halueval"])
    monkeypatch.setattr(building, "train_items", lambda pool, part, held_out: read_items(pool))  # test items and all
    with pytest.raises(DataError, match=r"train\.parquet: training item 'halueval-qa-\d+' is the test item"):
        build(request(tmp_path / "out", tmp_path / "raw", ["halueval"], n_test=9))
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_changed_table_is_refused_and_made_again_by_the_same_command(built):
    manifest, table = read_manifest(built), built / "data" / "halueval" / "test.parquet"
    rows = read_items(table)
    swapped = [replace(i, correct_answer=i.incorrect_answer, incorrect_answer=i.correct_answer) for i in rows]
    for spoil in (
        lambda: write_items(table, swapped, None, {}),
        lambda: write_items(table, rows[1:], None, {}),
        lambda: table.write_bytes(b"not a table"),
        table.unlink,
    ):
        spoil()
        with pytest.raises(DataError, match=r"halueval/test\.parquet: is not as built"):
            whole(built, "test")
    build(request(built, built.parent / "raw", ["halueval", "socialiqa"], n_test=9))
    assert read_manifest(built)["files"] == manifest["files"]
    assert items_of(built, "halueval", "test") == rows


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
    assert f"built {read_manifest(tmp_path / 'out')['split']['seed']}" in ended
    assert sum("finished build with other split" in line for line in ended) == 1


def test_by_default_the_files_are_downloaded_and_a_build_that_was_cut_off_continues(tmp_path, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    write_raw(tmp_path / "made", scale=0.02, datasets=["halueval"])
    content = (tmp_path / "made" / "halueval" / "qa_data.json").read_bytes()
    with PublishersServer({"data/qa_data.json": content}) as server:
        wanted = request(tmp_path / "out", None, ["halueval"], n_test=9, hosts=server.hosts)
        server.faults["qa_data.json"] = [Fault(status=404)]
        with pytest.raises(DataError, match="404"):
            build(wanted)
        manifest = build(wanted)
    (file,) = manifest["contents"]["halueval"]["source"]
    assert (file["name"], file["revision"], file["n_bytes"]) == ("qa_data.json", COMMIT, len(content))
    assert (tmp_path / "out" / "raw" / "halueval" / "qa_data.json").read_bytes() == content


def loaded(folder: Path, cache: Path, *name: str, split: str) -> Any:
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


def test_the_card_names_every_column_source_licence_and_count(small):
    card, manifest = (small / "README.md").read_text(), read_manifest(small)
    front = yaml.safe_load(card.split("---\n")[1])
    assert (front["license"], front["language"]) == ("other", ["en"])
    assert [config["config_name"] for config in front["configs"]] == [WHOLE, *NAMES]
    assert front["configs"][1]["data_files"] == [{"split": "test", "path": ["data/truthfulqa/test.parquet"]}]
    assert [line.split("`")[1] for line in card.splitlines() if line.startswith("| `")] == table_schema().names
    assert all(file["sha256"] in card for files in manifest["sources"].values() for file in files)
    for name, facts in manifest["contents"].items():
        assert f"| {name} | 0 | {facts['n_pool']:,} | {facts['n_train']:,} | {facts['n_test']:,} |" in card
        assert f"- **{name}**: {DATASETS[name].licence}; " in card
        assert DATASETS[name].citation in card
    assert "There is no training split of truthfulqa." in card
    assert "They are not the published test split." in card
    published = {**manifest, "split": {"kind": "published", "seed": 42, "sizes": {}}}
    assert "The test items are the published ones" in card_text(published)


def test_table_8_stands_beside_the_papers_and_its_sum_is_explained(small, capsys):
    main(["--out", str(small), "--stats"])
    table = capsys.readouterr().out
    assert f"nine together{sum(f['n_pool'] for f in read_manifest(small)['contents'].values()):>9,}  (87,865)" in table
    assert "train total: the paper prints 85,001, but its rows add up to 84,901" in table


def test_the_list_says_of_every_dataset_what_may_be_done_with_it():
    blocks = dict(zip(DATASETS, list_text().split("\n\n"), strict=True))
    assert max(len(line) for line in list_text().splitlines()) <= 100
    for name, dataset in DATASETS.items():
        flat = " ".join(blocks[name].split())
        named = (name, dataset.origin.place, *dataset.origin.files, dataset.citation, f"licence {dataset.licence}; ")
        assert [text for text in named if text not in flat] == []
        assert ("may not be passed on" in flat) == bool(dataset.not_passed_on)


def test_the_shipped_ids_have_table_8s_sizes_and_no_repeats():
    shipped = published_ids()
    assert {dataset.name: len(shipped[dataset.name]) for dataset in NINE} == {d.name: d.n_test for d in NINE}
    assert sum(len(shipped[dataset.name]) for dataset in NINE) == 2964
    assert len(shipped["aio-context"]) == 280
    assert len({item_id for ids in shipped.values() for item_id in ids}) == 3244


@pytest.mark.parametrize("n_test", [7, 100, 134, 135])
def test_a_balanced_draw_gives_every_stratum_its_share_and_another_seed_draws_others(n_test):
    pool = {f"{stratum}-{k}": stratum for k in range(80) for stratum in "abc"}
    chosen = resample(pool, n_test)
    counts = [sum(pool[item_id] == stratum for item_id in chosen) for stratum in "abc"]
    assert sum(counts) == len(set(chosen)) == n_test
    assert max(counts) - min(counts) <= 2  # one more for the luckiest strata of each stage
    assert set(resample(pool, n_test, seed=7)) != set(chosen)
    with pytest.raises(DataError, match="items left"):
        resample(pool, 300)
    with pytest.raises(DataError, match="the pool has 0 items left"):
        resample(dict.fromkeys(map(str, range(100))), 120)


def test_a_pool_without_a_published_item_is_named_with_it():
    pool = dict.fromkeys(published_ids()["halueval"][1:])
    with pytest.raises(DataError, match=r"halueval: 1 of 300 published test items are not in .*'halueval-qa-1824'"):
        published_split("halueval", pool)


def test_words_that_do_not_go_together_are_refused():
    assert sizes_from(["bbq=500"], {"bbq": 300, "harp": 300}) == {"bbq": 500, "harp": 300}
    for words, says in [
        (["--seed", "7"], "of --split resample"),
        (["--size", "bbq=5"], "of --split resample"),
        (["--split", "resample", "--test-only"], "does not go with"),
        (["--split", "resample", "--size", "truthfulqa=5"], "unknown dataset 'truthfulqa'"),
        (["--split", "resample", "--size", "bbq=many"], "write a number"),
        (["--split", "resample", "--size", "bbq=0"], "write a number"),
        (["--split", "resample", "--seed", "-1"], "take 0 or more"),
    ]:
        with pytest.raises(ConfigError, match=says):
            request_from(parser().parse_args(["--out", "x", *words]))
    with pytest.raises(ConfigError, match="say where to build"):
        main([])

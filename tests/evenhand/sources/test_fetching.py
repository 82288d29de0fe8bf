"""A folder of a publisher's files: fetched once, at one revision, and never mixed with anything else."""

import fcntl
import json
from pathlib import Path

import pytest

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.sources.fetching import SourceFile, fetch
from evenhand.sources.origin import Origin
from studies.dialdefer.release import FILES
from studies.dialdefer.unified.catalogue import RELEASE
from tests.made.publishers_server import BIG, COMMIT, NEWER, SMALL, Fault, PublishersServer

BOTH = Origin(place="github:nyu-mll/BBQ", files=("data/big.bin", "data/small.jsonl"))


def bring(server: PublishersServer, folder: Path, origin: Origin = BOTH) -> list[SourceFile]:
    return fetch(origin, folder, name="bbq", hosts=server.hosts, wait=[].append)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_whole_folder_asks_nothing_of_the_network(
    server: PublishersServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = bring(server, tmp_path)
    n_requests = len(server.seen)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    server.commit = NEWER
    assert bring(server, tmp_path) == fetched
    assert len(server.seen) == n_requests


def test_sources_json_says_where_each_file_is_from(server: PublishersServer, tmp_path: Path) -> None:
    pin = sha256_of_bytes(SMALL, tmp_path)
    folder = tmp_path / "bbq"
    bring(server, folder, Origin(place=BOTH.place, files=BOTH.files, sha256={"small.jsonl": pin}))
    record = json.loads((folder / "sources.json").read_text())
    assert (record["place"], record["revision"]) == (BOTH.place, COMMIT)
    small = record["files"][1]
    assert small.pop("fetched").startswith("20")
    assert small == {
        "name": "small.jsonl",
        "path": "data/small.jsonl",
        "url": f"{server.base}/raw/nyu-mll/BBQ/{COMMIT}/data/small.jsonl",
        "n_bytes": len(SMALL),
        "sha256": pin,
        "checksum": "pinned",
        "revision": COMMIT,
    }
    assert record["files"][0]["checksum"] == "recorded"


def sha256_of_bytes(content: bytes, folder: Path) -> str:
    (folder / "content").write_bytes(content)
    return sha256_of(folder / "content")


def test_of_the_authors_release_ten_files_are_taken_at_its_pinned_commit(tmp_path: Path) -> None:
    split = [f"dataset/benchmark_data/sampled_formatted/{stem}_formatted.jsonl" for stem in FILES.values()]
    pools = [path.replace("sampled_formatted", "datasets/formatted") for path in split]
    aio = ["dataset/aio/finalAIOdata_experiment_ready.jsonl", "dataset/aio/finalAIOdata_labeled.jsonl"]
    with PublishersServer(dict.fromkeys([*split, *pools, *aio, "README.md"], SMALL)) as server:
        files = bring(server, tmp_path, RELEASE)
        assert server.requests(f"/commits/{RELEASE.revision}")
    assert sorted(file.path for file in files) == sorted([*split, aio[0]])


def test_offline_a_folder_that_is_not_whole_is_refused(
    server: PublishersServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match=r"bbq: not all of its files are in .*HF_HUB_OFFLINE .*--raw"):
        bring(server, tmp_path / "bbq")
    assert server.seen == []
    assert names(tmp_path) == set()


def test_a_continued_fetch_stays_at_the_revision_it_began_with(server: PublishersServer, tmp_path: Path) -> None:
    origin = Origin(place=BOTH.place, files=("data/*",))
    server.faults["small.jsonl"] = [Fault(status=404)]
    with pytest.raises(DataError, match="is not there"):
        bring(server, tmp_path, origin)
    server.commit = NEWER  # the publisher goes on meanwhile
    files = bring(server, tmp_path, origin)
    assert {file.revision for file in files} == {COMMIT}
    assert not any(NEWER in seen.path for seen in server.seen)
    assert len(server.requests("big.bin")) == len(server.requests(COMMIT)) == 1  # the file and the listing


@pytest.mark.parametrize("damage", [b"", BIG[:-1] + b"x"])
def test_a_damaged_file_is_fetched_again_and_no_other(damage: bytes, server: PublishersServer, tmp_path: Path) -> None:
    fetched = bring(server, tmp_path)
    (tmp_path / "big.bin").write_bytes(damage)
    assert [file.sha256 for file in bring(server, tmp_path)] == [file.sha256 for file in fetched]
    assert (tmp_path / "big.bin").read_bytes() == BIG
    assert len(server.requests("small.jsonl")) == 1


def test_a_file_that_the_publisher_has_changed_is_not_mixed_in(server: PublishersServer, tmp_path: Path) -> None:
    origin = Origin(place=f"{server.base}/folder", files=BOTH.files)
    bring(server, tmp_path, origin)
    (tmp_path / "small.jsonl").unlink()
    server.files["data/small.jsonl"] = b"{}\n"
    with pytest.raises(DataError, match=r"small\.jsonl: the publisher has changed it: SHA-256 .* was .*Move .* away"):
        bring(server, tmp_path, origin)
    assert names(tmp_path) == {"big.bin", "sources.json", ".lock"}


@pytest.mark.parametrize("other", [{"place": "github:nyu-mll/other"}, {"revision": "cccc"}])
def test_a_folder_of_another_place_or_revision_is_refused(
    other: dict[str, str], server: PublishersServer, tmp_path: Path
) -> None:
    bring(server, tmp_path)
    with pytest.raises(DataError, match=f"holds files of github:nyu-mll/BBQ at revision {COMMIT}, wanted are those of"):
        bring(server, tmp_path, Origin(**{"place": BOTH.place, "files": BOTH.files, **other}))
    bring(server, tmp_path, Origin(place=BOTH.place, files=BOTH.files, revision=COMMIT[:7]))


def test_a_file_that_somebody_put_there_is_overwritten_never_and_taken_when_its_checksum_is_pinned(
    server: PublishersServer, tmp_path: Path
) -> None:
    (tmp_path / "small.jsonl").write_bytes(SMALL)
    with pytest.raises(DataError, match=r"small\.jsonl: was not fetched by Evenhand .*move it away"):
        bring(server, tmp_path)
    pin = {"small.jsonl": sha256_of(tmp_path / "small.jsonl")}
    files = bring(server, tmp_path, Origin(place=BOTH.place, files=BOTH.files, sha256=pin))
    assert [file.fetched is None for file in files] == [False, True]
    assert server.requests("small.jsonl") == []


def test_a_file_system_without_locks_is_told_and_used(
    server: PublishersServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    bring(server, tmp_path)
    assert "cannot be locked here (No locks available); let no other process" in capsys.readouterr().err

"""What a user put into a folder is hashed and checked; the list says what may be done with each dataset."""

from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.sources.origin import Origin
from evenhand.sources.source_record import SourceFile, source_files
from studies.dialdefer.unified.catalogue import DATASETS, list_text

ORIGIN = Origin(place="github:nyu-mll/BBQ", files=("data/Age.jsonl",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Age.jsonl").write_bytes(b"{}\n")
    return tmp_path


def test_files_put_there_by_hand_are_hashed_and_of_no_known_revision(folder: Path) -> None:
    (folder / "BBQ" / "data").mkdir(parents=True)
    (folder / "BBQ" / "data" / "Age.jsonl").write_bytes(b"{}")
    (folder / "notes.txt").write_text("not one of the files that are read")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").touch()
    (folder / "Age.jsonl.partial").touch()
    age, more = source_files(ORIGIN, folder, name="bbq")
    sha256 = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"  # of "{}" and a newline
    assert age == SourceFile(name="Age.jsonl", path="Age.jsonl", n_bytes=3, sha256=sha256, checksum="recorded")
    assert (more.name, more.revision, more.url) == ("BBQ/data/Age.jsonl", None, None)


def test_a_pinned_checksum_holds_for_files_put_there_by_hand(folder: Path) -> None:
    pinned = replace(ORIGIN, sha256={"Age.jsonl": sha256_of(folder / "Age.jsonl")})
    assert source_files(pinned, folder, name="bbq")[0].checksum == "pinned"
    (folder / "Age.jsonl").write_bytes(b"{} \n")
    message = (
        rf"Age\.jsonl: has the SHA-256 [0-9a-f]{{64}}, expected {pinned.sha256['Age.jsonl']}: .*publisher has changed"
    )
    with pytest.raises(DataError, match=message):
        source_files(pinned, folder, name="bbq")


@pytest.mark.parametrize("inside", [(), (".lock", "sources.json.partial")])
def test_a_folder_without_files_is_refused_with_what_belongs_there(inside: tuple[str, ...], tmp_path: Path) -> None:
    for name in inside:
        (tmp_path / name).touch()
    message = r"holds no file; put those of bbq there \(from github:nyu-mll/BBQ: data/Age\.jsonl\)"
    with pytest.raises(DataError, match=message):
        source_files(ORIGIN, tmp_path, name="bbq")
    with pytest.raises(DataError, match=message):
        source_files(ORIGIN, tmp_path / "absent", name="bbq")


def test_the_list_says_of_every_dataset_what_it_is_and_what_may_be_done_with_it() -> None:
    blocks = list_text().split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == list(DATASETS)
    assert max(len(line) for block in blocks for line in block.splitlines()) <= 100
    for block, dataset in zip(blocks, DATASETS.values(), strict=True):
        flat = " ".join(block.split())
        assert all(text in flat for text in (dataset.origin.place, *dataset.origin.files, dataset.citation))
        assert f"licence {dataset.licence}; " in flat
        assert ("may not be passed on" in flat) == bool(dataset.not_passed_on)
        assert (dataset.origin.terms or "none to accept") in flat
    assert "58,492, 300 of them for testing" in blocks[list(DATASETS).index("bbq")]
    assert "790, all for testing only" in blocks[0]

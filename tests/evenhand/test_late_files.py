"""A file system that answers late or wrongly, as NFS may: nothing is lost, and nothing is asked twice in silence."""

from pathlib import Path

import pytest

from evenhand.completions import SHARDS_FOLDER
from evenhand.errors import DataError
from evenhand.files import write_json, write_whole
from evenhand.run_directory import is_done
from inference.sampling import sample
from tests.made.scripted_engine import config, scripted

RENAME, EXISTS, GLOB = Path.replace, Path.exists, Path.glob


def test_a_rename_that_was_done_and_is_reported_as_failed_lost_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An NFS client asks again when the server's reply is lost, and is told that there is no such file."""

    def done_twice(self: Path, target: Path) -> Path:
        RENAME(self, target)
        return RENAME(self, target)

    monkeypatch.setattr(Path, "replace", done_twice)
    write_whole(tmp_path / "a.json", "{}")
    assert (tmp_path / "a.json").read_text() == "{}"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_file_that_vanishes_before_its_rename_is_an_error_and_no_older_one_is_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(tmp_path / "a.json", {"old": 1})

    def vanished(self: Path, target: Path) -> Path:
        self.unlink()
        return RENAME(self, target)

    monkeypatch.setattr(Path, "replace", vanished)
    with pytest.raises(DataError, match=r"a\.json: cannot be written"):
        write_json(tmp_path / "a.json", {"new": 2})


def test_a_shard_that_the_file_system_has_lost_is_named_and_only_its_prompts_are_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = scripted(monkeypatch)
    lost: list[str] = []

    def loses_one(self: Path, target: Path) -> Path:
        if target.parent.name == SHARDS_FOLDER and not lost:
            lost.append(target.name)
            self.unlink()
            return target
        return RENAME(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", loses_one)
        with pytest.raises(DataError, match=r"was written by this process and is not there \(1 such files\)"):
            sample(config(tmp_path))
    (path,) = (tmp_path / "inference").iterdir()
    assert not is_done(path)
    engine.asked.clear()
    assert is_done(sample(config(tmp_path)))
    assert len(engine.asked) == 7

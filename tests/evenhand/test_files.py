"""A rename that NFS reports wrongly: nothing is lost, and no older file is taken for a new one."""

from pathlib import Path

import pytest

from evenhand.errors import DataError
from evenhand.files import write_json, write_whole

RENAME, EXISTS, GLOB = Path.replace, Path.exists, Path.glob


def test_a_rename_that_was_done_and_is_reported_as_failed_loses_no_file(tmp_path, monkeypatch):
    """An NFS client asks again when the server's reply is lost, and is told that there is no such file."""

    def done_twice(self, target):
        RENAME(self, target)
        return RENAME(self, target)

    monkeypatch.setattr(Path, "replace", done_twice)
    write_whole(tmp_path / "a.json", "{}")
    assert (tmp_path / "a.json").read_text() == "{}"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_file_that_vanishes_before_its_rename_is_an_error_and_no_older_one_is_taken_for_it(tmp_path, monkeypatch):
    write_json(tmp_path / "a.json", {"old": 1})

    def vanished(self, target):
        self.unlink()
        return RENAME(self, target)

    monkeypatch.setattr(Path, "replace", vanished)
    with pytest.raises(DataError, match=r"a\.json: cannot be written"):
        write_json(tmp_path / "a.json", {"new": 2})

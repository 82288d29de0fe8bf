"""A file system that answers late or wrongly, as NFS may: nothing is lost, and nothing is asked twice in silence."""

from pathlib import Path

import pytest

from evenhand.completions import SHARDS_FOLDER, every_completion
from evenhand.errors import DataError
from evenhand.files import write_json, write_new, write_whole
from evenhand.run_directory import PLAN_FILE, is_done
from inference.sampling import sample
from tests.made.scripted_engine import answers, config, scripted

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


def test_a_link_that_was_made_and_is_reported_as_there_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = Path.hardlink_to

    def done_twice(self: Path, target: Path) -> None:
        link(self, target)
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", done_twice)
    assert not write_new(tmp_path / "config.yaml", "name: x")
    assert (tmp_path / "config.yaml").read_text() == "name: x"
    assert [file.name for file in tmp_path.iterdir()] == ["config.yaml"]


class LateFolder:
    """Shows files whose names hold `what` only after so many looks."""

    def __init__(self, what: str, looks: int) -> None:
        self.what, self.looks = what, looks

    def hides(self, path: Path) -> bool:
        if self.what not in path.name or self.looks <= 0:
            return False
        self.looks -= 1
        return True

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Path, "exists", lambda path: EXISTS(path) and not self.hides(path))
        patch.setattr(Path, "glob", lambda path, pattern: (f for f in GLOB(path, pattern) if not self.hides(f)))


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
    assert lost[0] in str(lost)
    assert not is_done(path)
    engine.asked.clear()
    assert is_done(sample(config(tmp_path)))
    assert len(engine.asked) == 7


@pytest.mark.parametrize("what", ["DONE.json", PLAN_FILE, "provenance.json", "config.yaml"])
def test_a_file_of_a_complete_run_that_is_shown_late_has_nothing_asked_again(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = scripted(monkeypatch)
    path = sample(config(tmp_path))
    before = answers(path)
    engine.asked.clear()
    with monkeypatch.context() as patch:
        LateFolder(what, 2).install(patch)
        assert sample(config(tmp_path)) == path
    assert engine.asked == []
    assert is_done(path)
    assert answers(path) == before


def test_shards_of_another_process_that_are_shown_late_are_asked_again_aloud_and_the_first_answers_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody can know of what is not shown; it must not be doubled in silence, and no score may change by it."""
    engine = scripted(monkeypatch)
    engine.die_after = 21
    with pytest.raises(Exception, match="the engine died"):
        sample(config(tmp_path))
    (path,) = (tmp_path / "inference").iterdir()
    before = answers(path)
    engine.die_after = None
    with monkeypatch.context() as patch:
        LateFolder("-", 6).install(patch)
        sample(config(tmp_path))
    assert "answers were asked for twice" in capsys.readouterr().err
    assert answers(path).items() >= before.items()
    assert len(list(every_completion(path))) > len(answers(path)) == 40

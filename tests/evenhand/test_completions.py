"""A run's shards are as the run wrote them, or it is said which is not; only what is lost is asked again."""

import shutil
from pathlib import Path

import pytest

from evenhand.completions import SHARDS_FOLDER, read_answers
from evenhand.errors import DataError
from evenhand.run_directory import check_unchanged, is_done
from inference.sampling import sample
from tests.made.scripted_engine import config, scripted


@pytest.fixture
def engine(monkeypatch):
    return scripted(monkeypatch)


def test_a_damaged_line_is_named_with_file_and_line(tmp_path, engine):
    path = sample(config(tmp_path))
    files = sorted((path / "completions").glob("*.jsonl"))
    shard, lines = next((s, ls) for s in files if len(ls := s.read_text().splitlines()) == 7)  # the last one has 5
    lines[2] = lines[2][:20]
    shard.write_text("\n".join(lines))
    with pytest.raises(DataError, match=rf"{shard.name}:3: is no JSON object.*delete this shard"):
        read_answers(path)
    shard.unlink()
    engine.asked.clear()
    assert is_done(sample(config(tmp_path))), "a finished run that lost a shard asks for it again"
    assert len(engine.asked) == 7


def test_an_answer_that_is_of_another_run_is_not_scored(tmp_path, engine):
    path = sample(config(tmp_path / "mine"))
    other = sample(config(tmp_path / "other", sampling={"max_tokens": 7}))
    shutil.copy(next((other / "completions").iterdir()), path / "completions")
    with pytest.raises(DataError, match=r"is not as this run wrote it: it was edited, or copied .*delete"):
        read_answers(path)


def test_a_run_whose_config_was_changed_is_refused(tmp_path, engine):
    path = sample(config(tmp_path))
    check_unchanged(path)
    file = path / "config.yaml"
    file.write_text(file.read_text().replace("scripted", "famous"))
    with pytest.raises(DataError, match=r"config\.yaml: was changed since the run"):
        check_unchanged(path)


RENAME = Path.replace


def test_a_shard_that_the_file_system_has_lost_is_named_and_only_its_prompts_are_asked_again(tmp_path, monkeypatch):
    engine = scripted(monkeypatch)
    lost = []

    def loses_one(self, target):
        if target.parent.name == SHARDS_FOLDER and not lost:
            lost.append(target.name)
            self.unlink()
            return target
        return RENAME(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", loses_one)
        with pytest.raises(DataError, match=r"was written and is not there \(1 such files\)"):
            sample(config(tmp_path))
    (path,) = (tmp_path / "inference").iterdir()
    assert not is_done(path)
    engine.asked.clear()
    assert is_done(sample(config(tmp_path)))
    assert len(engine.asked) == 7

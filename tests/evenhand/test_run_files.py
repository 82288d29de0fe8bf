"""A run's files are as the run wrote them, or scoring and continuing say which is not."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.completions import read_answers
from evenhand.errors import DataError
from evenhand.records import Completion
from evenhand.run_directory import check_unchanged, is_done
from inference import sampling
from inference.sampling import sample
from tests.made.scripted_engine import AnsweringEngine, config, scripted


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> AnsweringEngine:
    return scripted(monkeypatch)


def test_a_damaged_line_is_named_with_file_and_line(tmp_path: Path, engine: AnsweringEngine) -> None:
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


def test_an_answer_that_is_of_another_run_was_scored_without_a_word(tmp_path: Path, engine: AnsweringEngine) -> None:
    path = sample(config(tmp_path / "mine"))
    other = sample(config(tmp_path / "other", sampling={"max_tokens": 7}))
    shutil.copy(next((other / "completions").iterdir()), path / "completions")
    with pytest.raises(DataError, match=r"is not as this run wrote it: it was edited, or copied .*delete"):
        read_answers(path)


def test_answers_that_two_processes_paid_for_twice_are_announced(
    tmp_path: Path, engine: AnsweringEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = sampling.completions

    def at_once(*words: Any) -> Iterator[Completion]:
        monkeypatch.setattr(sampling, "completions", first)
        sample(config(tmp_path))  # another process, which started when nothing was answered yet
        return first(*words)

    monkeypatch.setattr(sampling, "completions", at_once)
    sample(config(tmp_path))
    assert "40 answers were asked for twice, by processes that ran at once" in capsys.readouterr().err


def test_a_renamed_model_was_scored_without_a_word(tmp_path: Path, engine: AnsweringEngine) -> None:
    path = sample(config(tmp_path))
    check_unchanged(path)
    file = path / "config.yaml"
    file.write_text(file.read_text().replace("scripted", "famous"))
    with pytest.raises(DataError, match=r"config\.yaml: was changed since the run"):
        check_unchanged(path)

"""What a job script is told of a program's progress."""

from pathlib import Path

import pytest

from evenhand.completions import append_completions
from evenhand.job_messages import PROGRESS_VARIABLE, note_progress
from evenhand.records import Completion


def completion(reason: str) -> Completion:
    return Completion(prompt_hash="0123", sample_index=0, text="1", finish_reason=reason)


def test_an_answer_is_progress_and_an_engine_error_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text("")
    monkeypatch.setenv(PROGRESS_VARIABLE, str(tmp_path / "progress"))
    append_completions(tmp_path, [completion("error: 500")])
    assert not (tmp_path / "progress").exists()
    append_completions(tmp_path, [completion("error: 500"), completion("stop")])
    assert (tmp_path / "progress").exists()


def test_a_program_without_a_job_script_or_with_a_lost_folder_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_progress()
    monkeypatch.setenv(PROGRESS_VARIABLE, str(tmp_path / "absent" / "progress"))
    note_progress()

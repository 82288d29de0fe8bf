"""What others have written is printed so that no terminal obeys it."""

import pytest

from evenhand.completions import append_completions
from evenhand.records import Completion
from evenhand.terminal import PROGRESS_VARIABLE, harmless
from tests.made.places import cases


@pytest.mark.parametrize(("text", "printed"), [*cases(__file__), ("half \ud83d", r"half \ud83d")])
def test_what_steers_a_terminal_is_written_out_and_text_stays(text, printed):
    assert harmless(text) == printed


def completion(reason):
    return Completion(prompt_hash="0123", sample_index=0, text="1", finish_reason=reason)


def test_an_answer_is_progress_and_an_engine_error_is_none(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text("")
    monkeypatch.setenv(PROGRESS_VARIABLE, str(tmp_path / "progress"))
    append_completions(tmp_path, [completion("error: 500")])
    assert not (tmp_path / "progress").exists()
    append_completions(tmp_path, [completion("error: 500"), completion("stop")])
    assert (tmp_path / "progress").exists()

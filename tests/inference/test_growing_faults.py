"""Growing plans under faults: a trial of each, and what counts the losses sees every kind of them."""

import random
from collections.abc import Container
from pathlib import Path

import pytest

from evenhand.completions import Answers, CompletionLog, every_completion
from evenhand.records import Completion
from tests.made.fault_trials import TRIALS
from tests.made.growing_run import N_STEPS, N_UNITS, Found, GrowingEngine, GrowingRun
from tests.made.read_back import completions_of


@pytest.mark.parametrize("fault", TRIALS)
def test_nothing_is_lost_doubled_or_wrong_under(fault: str, tmp_path: Path) -> None:
    assert TRIALS[fault](tmp_path / "run", random.Random(fault)) == Found()


def completion(text: str) -> Completion:
    return Completion(prompt_hash="ab", sample_index=0, text=text, finish_reason="stop")


def test_a_clock_that_was_set_back_put_a_second_answer_before_the_one_that_a_unit_had_gone_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("name: x\n")
    for text in ("first", "second", "third"):
        log = CompletionLog(tmp_path, 1)
        log.add(completion(text))
        monkeypatch.setattr("evenhand.completions.time.time_ns", lambda: 10**9)  # in 1970
    assert [c.text for c in every_completion(tmp_path)] == ["first", "second", "third"]
    assert completions_of(tmp_path)["ab", 0].text == "first"


def test_what_was_answered_here_is_not_asked_again_while_its_folder_is_shown_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, looks = Answers.read, list[Path]()

    def late(self: Answers, path: Path, but: Container[str] = ()) -> Answers:
        looks.append(path)
        last = sorted(file.name for file in (path / "completions").glob("*"))[-2:]
        return read(self, path, last if len(looks) == 2 else but)  # at the first look nothing is there yet

    monkeypatch.setattr(Answers, "read", late)
    run, engine = GrowingRun(tmp_path), GrowingEngine()
    assert run.found(run.command(engine)) == Found()
    assert engine.n_asked == N_UNITS * N_STEPS
    assert len(looks) > 2

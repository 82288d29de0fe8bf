"""A run whose engine hangs ends with status 75 and what it had answered; the same command continues."""

import errno
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evenhand.completions import every_completion
from evenhand.records import Completion
from evenhand.run_directory import is_done
from inference import watchdog
from inference.sampling import sample
from inference.watchdog import EXIT_STATUS, Watchdog
from tests.made.places import ROOT
from tests.made.scripted_engine import config, scripted

HANGS = """
import sys, threading
from collections.abc import Sequence
from pathlib import Path
import pytest
from evenhand.terminal import run_main
from inference.sampling import sample
from tests.made.scripted_engine import config, scripted

with pytest.MonkeyPatch.context() as patch:
    engine = scripted(patch)
    answer = engine.generate
    def generate(prompts, further):
        for number, completion in enumerate(answer(prompts, further)):
            if number == 9:
                threading.Event().wait()  # as in a library that waits for a GPU
            yield completion
    engine.generate = generate
    sys.exit(run_main(lambda words: print(sample(config(Path(words[0]), run={"root": words[0], "shard_size": 7,
        "hang_limit_s": 1}))), sys.argv[1:]))
"""


def test_a_hung_engine_ends_the_process_with_what_it_answered_and_the_same_command_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGS, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == EXIT_STATUS, done.stderr
    assert "no answer for 1 s (run.hang_limit_s), so it is taken for hung" in done.stderr
    assert "the same command continues" in done.stderr
    (path,) = (tmp_path / "inference").iterdir()
    assert len(list(every_completion(path))) == 9
    assert not is_done(path)
    engine = scripted(monkeypatch)
    assert sample(config(tmp_path)) == path
    assert is_done(path)
    assert len(engine.asked) == 40 - 9
    assert len(list(every_completion(path))) == 40


def log_that(writes: Callable[[], object]) -> Any:
    """In the place of a CompletionLog."""
    return SimpleNamespace(write=writes, add=lambda completion: None)


class Ended(SystemExit):
    """In the place of the process's end."""


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    statuses: list[int] = []

    def end(status: int) -> None:
        statuses.append(status)
        raise Ended

    monkeypatch.setattr(watchdog, "os", SimpleNamespace(_exit=end))
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    return statuses


def passes(monkeypatch: pytest.MonkeyPatch, dog: Watchdog, times: list[float], progress_at: int | None = None) -> None:
    """Have the watchdog look at these times. progress_at: a look."""
    left = iter(times)
    last = [times[0]]

    def clock() -> float:
        last[0] = next(left, last[0])
        return last[0]

    looks = [0]

    def wait(tick: float) -> bool:
        looks[0] += 1
        if looks[0] == progress_at:
            dog.add(Completion(prompt_hash="ab", sample_index=0, text="", finish_reason="stop"))
        return looks[0] >= len(times)

    monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=clock))
    dog.over = SimpleNamespace(wait=wait)  # type: ignore[assignment]
    with suppress(Ended):
        dog.watch()


def test_time_without_an_answer_is_counted_and_an_answer_begins_it_anew(
    ended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    seconds = [float(number) for number in range(60)]
    passes(monkeypatch, Watchdog(50.0, log_that(lambda: kept.append("kept"))), seconds, progress_at=30)
    assert (ended, kept) == ([], [])
    passes(monkeypatch, Watchdog(50.0, log_that(lambda: kept.append("kept"))), seconds)
    assert (ended, kept) == ([EXIT_STATUS], ["kept"])


def test_a_process_ends_also_where_nothing_can_be_written(
    ended: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise OSError(errno.ESTALE, "Stale file handle")

    passes(monkeypatch, Watchdog(50.0, log_that(fails)), [float(number) for number in range(60)])
    assert ended == [EXIT_STATUS]
    assert "Stale file handle; what was answered last is lost" in capsys.readouterr().err


def test_a_process_that_was_stopped_for_an_hour_has_not_hung(ended: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [float(number) + (3600 if number > 5 else 0) for number in range(20)]
    passes(monkeypatch, Watchdog(50.0, log_that(lambda: None)), seconds)
    assert ended == []

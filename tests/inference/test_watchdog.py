"""When a run's process ends because its engine hangs; that the run goes on is among the faults of growing runs."""

import errno
import time
from types import SimpleNamespace

import pytest

from evenhand.records import Completion
from inference import watchdog
from inference.watchdog import EXIT_STATUS, Watchdog

LIMIT_S = 0.5


def log_that(writes):
    """In the place of a CompletionLog."""
    return SimpleNamespace(write=writes, add=lambda completion: None)


@pytest.fixture
def ended(monkeypatch):
    """The statuses that processes have ended with."""
    statuses = []
    monkeypatch.setattr(watchdog, "os", SimpleNamespace(_exit=statuses.append))
    return statuses


def wait_for(ended):
    """The status that the process ends with; fails where it does not end."""
    patience = time.monotonic() + 60 * LIMIT_S
    while not ended and time.monotonic() < patience:
        time.sleep(0.01)
    return ended[0]


def test_time_without_an_answer_is_counted_and_an_answer_begins_it_anew(ended):
    kept = []
    with Watchdog(LIMIT_S, log_that(lambda: kept.append("kept"))) as dog:
        for _ in range(8):
            time.sleep(LIMIT_S / 5)
            dog.add(Completion(prompt_hash="ab", sample_index=0, text="", finish_reason="stop"))
        assert (ended, kept) == ([], [])
        assert wait_for(ended) == EXIT_STATUS
    assert kept


def test_a_process_ends_also_where_nothing_can_be_written(ended, capsys):
    def fails():
        raise OSError(errno.ESTALE, "Stale file handle")

    with Watchdog(LIMIT_S / 10, log_that(fails)):
        assert wait_for(ended) == EXIT_STATUS
    said = capsys.readouterr().err
    assert "run.stall_timeout_s" in said
    assert "Stale file handle; what was answered last is lost" in said


def test_a_process_that_was_stopped_for_an_hour_has_not_hung(ended):
    with Watchdog(LIMIT_S, log_that(lambda: None)) as dog:
        dog.over.wait = lambda tick_s: time.sleep(2 * LIMIT_S)
        time.sleep(3 * LIMIT_S)
        del dog.over.wait
    assert ended == []

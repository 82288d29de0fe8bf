"""A lease is held by one process at a time, on this machine and across machines, also after `kill -9`."""

import json
import multiprocessing
import os
import signal
import threading
import time

import pytest

from evenhand import lease
from evenhand.errors import DataError
from evenhand.lease import held

PROCESSES = multiprocessing.get_context("spawn")
ELSEWHERE = {"host": "node07", "boot": "b", "process": 1, "since": "2026-01-01 00:00:00"}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run" / "training.lease"


def hold_and_die(file):
    with held(file, "trained"):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_second_process_is_told_who_holds_it_and_may_go_on_when_it_is_given_back(file):
    says = rf"run: is being trained by process {os.getpid()} on \S+ since 20\d\d-"
    with held(file, "trained"), pytest.raises(DataError, match=says), held(file, "trained"):
        pass
    assert not file.exists()
    with held(file, "trained"):
        assert file.exists()


def test_what_a_killed_process_of_this_machine_held_is_taken_over_at_once(file):
    process = PROCESSES.Process(target=hold_and_die, args=(file,))
    process.start()
    process.join()
    assert file.exists()
    with held(file, "trained"):
        assert json.loads(file.read_text())["process"] == os.getpid()


@pytest.mark.parametrize(
    "content", [json.dumps(ELSEWHERE), "", "{", "[]"], ids=["another machine", "empty", "cut off", "a list"]
)
def test_a_holder_that_cannot_be_seen_is_dead_when_its_heart_has_stopped(content, file, monkeypatch):
    monkeypatch.setattr(lease, "STALE_S", 1.0)
    monkeypatch.setattr(lease, "LOOK_S", 0.05)
    file.parent.mkdir()
    file.write_text(content)
    with held(file, "trained"):
        assert json.loads(file.read_text())["process"] == os.getpid()


def test_who_stood_still_for_too_long_learns_that_it_lost_the_lease_and_leaves_the_new_one(file):
    with held(file, "trained") as mine:
        mine.check_held()
        file.unlink()
        file.write_text("theirs")
        with pytest.raises(DataError, match="was taken over by another process"):
            mine.check_held()
    assert file.read_text() == "theirs"


@pytest.mark.parametrize("jump", [0.0, -86_400.0, 3e8])
def test_a_holder_whose_clock_jumps_keeps_its_lease_and_one_that_watches_by_a_wrong_clock_takes_none(
    jump, file, monkeypatch
):
    """Only that the file's time changes is looked at, and for how long it does not, by a clock that nobody sets."""
    monkeypatch.setattr(lease, "LOOK_S", 0.05)
    file.parent.mkdir()
    file.write_text(json.dumps(ELSEWHERE))
    over = threading.Event()

    def beat_by_a_jumping_clock():
        tick = 0
        while not over.wait(0.05):
            tick += 1
            now = time.time() + tick + (jump if tick % 2 else 0)
            os.utime(file, (now, now))

    heart = threading.Thread(target=beat_by_a_jumping_clock)
    heart.start()
    wall = time.time
    monkeypatch.setattr(time, "time", lambda: wall() + 10 * abs(jump))
    with pytest.raises(DataError, match="is being trained by process 1 on node07 since"), held(file, "trained"):
        pass
    over.set()
    heart.join()
    assert json.loads(file.read_text()) == ELSEWHERE


def test_who_took_over_is_not_removed_by_one_that_saw_the_dead_holder_before(file):
    file.parent.mkdir()
    file.write_text(json.dumps(ELSEWHERE), encoding="utf-8")
    seen = lease.state_of(file)
    assert seen is not None
    lease.remove(file, seen[0])
    with held(file, "trained") as mine:
        lease.remove(file, seen[0])
        mine.check_held()
    assert list(file.parent.iterdir()) == []


def test_two_processes_never_remove_at_once(file):
    """Who comes second while the first is at it may not: what it would remove may by then be somebody's own."""
    file.parent.mkdir()
    file.write_text(json.dumps(ELSEWHERE), encoding="utf-8")
    seen = lease.state_of(file)
    assert seen is not None
    (file.parent / f"{file.name}.{seen[0][0]}-{seen[0][1]}.claim").touch()
    with pytest.raises(DataError, match="another process is taking it over"):
        lease.remove(file, seen[0])
    assert file.exists()

"""A lease is held by one process at a time, on this machine and across machines, also after `kill -9`."""

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenhand import lease
from evenhand.errors import DataError
from evenhand.lease import check_held, held, holder_in

PROCESSES = multiprocessing.get_context("spawn")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name, seconds in (("BEAT_S", 0.1), ("STALE_S", 0.4), ("LOOK_S", 0.02)):
        monkeypatch.setattr(lease, name, seconds)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run" / "training.lease"


def left_by_node07(file, content="filelock/2\npid=1\nhost=node07\nmode=lease\ntoken=t\nduration=0.4\n"):
    """A lease file of a machine that cannot be seen from here."""
    file.parent.mkdir()
    file.write_text(content)


def hold_and_die(file):
    lease.BEAT_S, lease.STALE_S = 0.1, 0.4  # all agree on them
    with held(file, "trained"):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_second_process_is_told_who_holds_it_and_may_go_on_when_it_is_given_back(file):
    says = rf"run: is being trained by process {os.getpid()} on \w+; wait"
    with held(file, "trained"), pytest.raises(DataError, match=says), held(file, "trained"):
        pass
    assert not file.exists()
    with held(file, "trained"):
        assert file.exists()


def test_what_a_killed_process_of_this_machine_held_is_taken_over_at_once(file, monkeypatch):
    process = PROCESSES.Process(target=hold_and_die, args=(file,))
    process.start()
    process.join()
    assert file.exists()
    began = time.monotonic()
    with held(file, "trained"):
        assert str(holder_in(file)).startswith(f"process {os.getpid()} on ")
    assert time.monotonic() - began < 0.35, "no heartbeat was waited for"


@pytest.mark.parametrize("content", [(), ("",), ("filelock/2\npid=1\nhost=node07\nmode=le",)])
def test_a_holder_that_cannot_be_seen_is_dead_when_its_heart_has_stopped(content, file):
    """Also one that was killed before it had written all of its name, or any."""
    left_by_node07(file, *content)
    with held(file, "trained"):
        assert str(holder_in(file)).startswith(f"process {os.getpid()} on ")
    assert list(file.parent.iterdir()) == []


def test_who_stood_still_for_too_long_learns_that_it_lost_the_lease_and_leaves_the_new_one(file):
    with held(file, "trained") as mine:
        check_held(mine)
        file.unlink()
        file.write_text("theirs")
        with pytest.raises(DataError, match="was taken over by another process"):
            check_held(mine)
    assert file.read_text() == "theirs"


@pytest.mark.parametrize("jump", [0.0, -86_400.0, 3e8])
def test_a_holder_whose_clock_jumps_keeps_its_lease_and_one_that_watches_by_a_wrong_clock_takes_none(
    jump, file, monkeypatch
):
    """Only that the file's time changes is looked at, and for how long it does not, by a clock that nobody sets."""
    left_by_node07(file)
    before, over = file.read_text(), threading.Event()

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
    with pytest.raises(DataError, match="is being trained by process 1 on node07"), held(file, "trained"):
        pass
    over.set()
    heart.join()
    assert file.read_text() == before


@pytest.mark.parametrize("content", [(), ("",)])
def test_of_several_that_find_a_dead_holder_one_takes_over(content, file):
    left_by_node07(file, *content)
    refusals = threading.Semaphore(0)

    def takes(_):
        try:
            with held(file, "trained") as mine:
                are_refused = [refusals.acquire(timeout=5) for _ in range(5)]
                check_held(mine)
                return all(are_refused)
        except DataError:
            refusals.release()
            return False

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(takes, range(6))) == [False] * 5 + [True]

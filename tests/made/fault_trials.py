"""Faults put into runs of growing units, one trial at a time: each returns what was lost, doubled or wrong."""

import json
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from evenhand import completions as completion_shards
from evenhand import lease
from evenhand.errors import DataError, EvenhandError, ModelError
from evenhand.lease import held
from inference.watchdog import EXIT_STATUS
from tests.made.growing_run import N_STEPS, N_UNITS, Found, GrowingEngine, GrowingRun, units

N_PROMPTS = N_UNITS * N_STEPS
MOST_COMMANDS = 30
DAY_NS = 86_400 * 10**9


def in_child(act: Callable[[], object]) -> int:
    """The process id of a fork that does this and ends."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            for number in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            act()
            os._exit(0)
        os._exit(1)
    return child


def status_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def finished(run: GrowingRun) -> Found:
    """What is found once the same command has been given until the run is complete."""
    for _ in range(MOST_COMMANDS):
        with suppress(EvenhandError):
            found = run.found(run.command(GrowingEngine()))
            if not found.lost:
                return found
    return Found(lost=1)


@cache
def calm_seconds() -> float:
    """How long an undisturbed run takes here."""
    with tempfile.TemporaryDirectory() as folder:
        run, began = GrowingRun(Path(folder)), time.monotonic()
        status_of(in_child(lambda: run.command(GrowingEngine(seconds=0.002))))
        return time.monotonic() - began


def killed(folder: Path, rng: random.Random) -> Found:
    """SIGKILL at a random time."""
    run = GrowingRun(folder)
    child = in_child(lambda: run.command(GrowingEngine(seconds=0.002)))
    time.sleep(rng.uniform(0, calm_seconds()))
    os.kill(child, signal.SIGKILL)
    status_of(child)
    return finished(run)


def hung(folder: Path, rng: random.Random) -> Found:
    """An engine that gives no answer any more; the process must end with its own status."""
    run, at = GrowingRun(folder, hang_limit_s=0.3), rng.randrange(N_PROMPTS)

    def hang(number: int) -> None:
        if number == at:
            threading.Event().wait()

    status = status_of(in_child(lambda: run.command(GrowingEngine(hang))))
    return finished(run) + Found(wrong=status != EXIT_STATUS)


def clock_jumps(folder: Path, rng: random.Random) -> Found:
    """The clock jumps by days either way before every answer, in a run that is interrupted."""
    run, offset, at = GrowingRun(folder), [0], rng.randrange(1, N_PROMPTS)

    def jump(number: int) -> None:
        offset[0] += rng.randrange(-3 * DAY_NS, 3 * DAY_NS)
        if number == at:
            raise ModelError("the engine died")

    clock = SimpleNamespace(time_ns=lambda: time.time_ns() + offset[0], monotonic=time.monotonic, sleep=time.sleep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(completion_shards, "time", clock)
        with suppress(ModelError):
            run.command(GrowingEngine(jump))
        return finished(run)


def no_memory(folder: Path, rng: random.Random) -> Found:
    """The first question of some units fails for want of memory, the first time."""
    run, engine = GrowingRun(folder), GrowingEngine()
    engine.errors = {unit.next_prompts({})[0].prompt_hash for unit in rng.sample(units(), 2)}
    with suppress(ModelError):
        run.command(engine)
    return finished(run)


def renames(folder: Path, rng: random.Random) -> Found:
    """A rename that was done is reported as failed, or is reported as done and lost."""
    run, rename = GrowingRun(folder), Path.replace
    at, is_lost, count = rng.randrange(8), rng.random() < 0.5, iter(range(10**6))

    def replace(self: Path, target: Path) -> Path:
        if next(count) != at:
            return rename(self, target)
        if is_lost:
            self.unlink()
            return target
        rename(self, target)
        return rename(self, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        with suppress(DataError):
            run.command(GrowingEngine())
        return finished(run)


def dead_holder(folder: Path, rng: random.Random) -> Found:
    """A node died with the lease of a run held; of three processes that come, one gets it at a time, and all do."""
    file = folder / "training.lease"
    file.parent.mkdir(parents=True, exist_ok=True)
    gone = {"host": "node07", "boot": "b", "process": 1, "since": "then"}
    file.write_text(json.dumps(gone))
    record = folder / "record"

    def take() -> None:
        lease.STALE_S, lease.LOOK_S, lease.BEAT_S = 0.1, 0.01, 0.02
        while True:
            with suppress(DataError), held(file, "trained") as mine:
                with record.open("a") as lines:
                    lines.write(f"+{os.getpid()}\n")
                time.sleep(rng.uniform(0, 0.02))
                mine.refuse_if_lost()
                with record.open("a") as lines:
                    lines.write(f"-{os.getpid()}\n")
                return

    children = [in_child(take) for _ in range(3)]
    failed = sum(status_of(child) != 0 for child in children)
    lines = record.read_text().split()
    overlaps = sum(a[0] != "+" or b != f"-{a[1:]}" for a, b in zip(lines[::2], lines[1::2], strict=False))
    return Found(lost=failed, doubled=overlaps)


SIGKILL = "SIGKILL, sampling of growing plans"
TRIALS: dict[str, Callable[[Path, random.Random], Found]] = {
    SIGKILL: killed,
    "hung engine": hung,
    "clock jumps": clock_jumps,
    "no memory for a prompt": no_memory,
    "rename lost, or told as failed": renames,
    "node dead with its lease": dead_holder,
}

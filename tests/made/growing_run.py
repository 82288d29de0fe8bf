"""Runs of growing units, faults put into them one trial at a time, and what is lost, doubled or wrong afterwards."""

import os
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from evenhand import completions as completion_shards
from evenhand.completions import every_completion
from evenhand.errors import ModelError
from evenhand.records import digest
from evenhand.run_directory import is_done
from evenhand.study import Units
from inference.config import InferenceConfig
from inference.sampling import sample
from inference.watchdog import EXIT_STATUS
from tests.made.completions import asked_by
from tests.made.scripted_engine import AnsweringEngine, config, scripted
from tests.toy_study.section import Fruit

N_UNITS, N_STEPS = 12, 4
DAY_NS = 86_400 * 10**9


@dataclass(frozen=True)
class Found:
    """What is not as in an undisturbed run."""

    lost: int = 0
    doubled: int = 0
    wrong: int = 0

    def __add__(self, other):
        return Found(self.lost + other.lost, self.doubled + other.doubled, self.wrong + other.wrong)


class Chain(Fruit):
    """Asks N_STEPS times, each time quoting the reply before, as PluralEval's threads do."""

    def next_prompts(self, replies):
        asked = self.prompt(0, self.opening())
        for step in range(1, N_STEPS):
            if asked.prompt_hash not in replies:
                return [asked]
            asked = self.prompt(step, f"{step}: of {self.unit_id} you said {replies[asked.prompt_hash][0].text}")
        return [] if asked.prompt_hash in replies else [asked]

    def opening(self):
        return f"0: {self.unit_id}?"


def reply_to(prompt):
    """The one right answer."""
    return digest(prompt.prompt_hash, 6)


def growing_engine():
    return AnsweringEngine(reply_to, room=1)


def units():
    return [Chain(f"fruit {number}") for number in range(N_UNITS)]


class GrowingRun:
    """A folder's run, continued by one command after the other."""

    def __init__(self, folder, **run):
        self.config: InferenceConfig = config(folder, run={"root": folder, "shard_size": 5, **run})

    def command(self, engine):
        """`evenhand sample`, with the engine in the model's place."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(self.config.study), "units", lambda self, verdict: Units(units(), "made"))
            scripted(patch, engine)
            return sample(self.config)

    def found(self, path):
        """Replies that lack, that are there twice, and that are not the right ones."""
        written = [c for c in every_completion(path) if not c.is_error]
        expected = {p.prompt_hash: reply_to(p) for unit in units() for p in asked_by(unit, reply_to)}
        counts = Counter(c.prompt_hash for c in written)
        return Found(
            lost=len(expected.keys() - counts.keys()) + (not is_done(path)),
            doubled=counts.total() - len(counts),
            wrong=sum(expected.get(c.prompt_hash) != c.text for c in written),
        )

    def finished(self):
        """What is found once the same command has been given again."""
        return self.found(self.command(growing_engine()))


def hung(folder, rng):
    """An engine that gives no answer any more; the process must end with its own status."""
    run, engine, at = GrowingRun(folder, stall_timeout_s=0.3), growing_engine(), rng.randrange(N_UNITS * N_STEPS)
    engine.before = lambda number: number == at and threading.Event().wait()
    if (child := os.fork()) == 0:
        with suppress(BaseException):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            run.command(engine)
        os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return run.finished() + Found(wrong=status != EXIT_STATUS)


def clock_jumps(folder, rng):
    """The clock jumps by days either way before every answer, in a run that is interrupted."""
    run, engine, offset = GrowingRun(folder), growing_engine(), [0]
    engine.die_after = rng.randrange(1, N_UNITS * N_STEPS)

    def jump(number):
        offset[0] += rng.randrange(-3 * DAY_NS, 3 * DAY_NS)

    engine.before = jump
    clock = SimpleNamespace(time_ns=lambda: time.time_ns() + offset[0], monotonic=time.monotonic, sleep=time.sleep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(completion_shards, "time", clock)
        with suppress(ModelError):
            run.command(engine)
        return run.finished()


TRIALS = {"hung engine": hung, "clock jumps": clock_jumps}

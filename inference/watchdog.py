"""Ends a process whose engine gives no answer for a stated time, so that a job starts again and does not wait for ever.

A hung engine hangs inside a library, where no exception reaches it: what was answered is written down by a thread, and
the process ends with EXIT_STATUS, at which slurm/job.sh requeues the job.
"""

import multiprocessing
import os
import sys
import threading
from typing import Self

from evenhand.completions import CompletionLog
from evenhand.errors import EvenhandError
from evenhand.records import Completion
from evenhand.terminal import say

EXIT_STATUS = 75  # sysexits.h: a temporary failure, try again
TICKS = 50  # looks within the limit, at least
LONGEST_TICK_S = 5.0


class Watchdog:
    """Context manager, in the place of a log: after limit_s seconds without an answer the process ends.

    Time counts while this process runs: one that was stopped, or a machine that slept, has not hung, and a tick that
    took an hour is one tick.
    """

    def __init__(self, limit_s: float, log: CompletionLog) -> None:
        self.limit_s, self.log = limit_s, log
        self.lock = threading.Lock()  # held while the log is changed
        self.tick_s, self.n_ticks = min(limit_s / TICKS, LONGEST_TICK_S), 0  # the latter since the last answer
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def add(self, completion: Completion) -> None:
        """Take an answer; see CompletionLog."""
        with self.lock:
            self.n_ticks = 0
            self.log.add(completion)

    def write(self) -> None:
        """Write what was taken; see CompletionLog."""
        with self.lock:
            self.log.write()

    def watch(self) -> None:
        """End the process after too long a time without progress."""
        while not self.over.wait(self.tick_s):
            with self.lock:  # whoever holds it is writing, and has not hung
                self.n_ticks += 1
                if self.n_ticks * self.tick_s >= self.limit_s:
                    self.end()

    def end(self) -> None:
        """Keep what there is, and end this process and its engine's."""
        try:
            say(
                f"error: the engine hangs: no completion for {self.limit_s:,.0f} s (run.stall_timeout_s). What was "
                "answered is kept: the same command continues. If this machine needs longer for an answer, "
                "raise run.stall_timeout_s",
                sys.stderr,
            )
            self.log.write()
        except (EvenhandError, OSError) as error:
            say(f"error: {error}; what was answered last is lost", sys.stderr)
        finally:  # whatever failed: nobody else would end a process that hangs
            kill_engines()
            os._exit(EXIT_STATUS)


def kill_engines() -> None:
    """End the processes in which an engine runs: they are not told, since they may hang."""
    for process in multiprocessing.active_children():
        process.kill()
        process.join()

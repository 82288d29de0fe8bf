"""How far one stage has come: what every kind of run tells of itself, and what is worked out from it alike.

Readers of run directories never write, and meet files that others are writing: what cannot be read yet is passed over.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evenhand.config import read_yaml
from evenhand.errors import ConfigError
from evenhand.lease import STALE_S, is_alive, state_of
from evenhand.run_directory import CONFIG_FILE

LONGEST_NOTE = 300  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A stage at the moment when it was looked at. None is what its files do not tell."""

    kind: str  # "sampling", "training", "merge"; "job" of a pipeline
    path: Path
    state: str  # "complete", "diverged", "unfinished"; of a job also "running", "waiting", "stopped", "failed"
    counts: str  # what `done` counts: "answers", "steps", "checkpoints"
    done: int | None = None
    planned: int | None = None
    plan_grows: bool = False  # then `planned` is what is known so far
    per_second: float | None = None
    seconds_left: float | None = None
    written_s_ago: float | None = None  # by this machine's clock
    holder: str | None = None  # "process 4711 on node07"; None where nobody holds the lease, or there is none
    silent_s: float | None = None  # seconds without a heartbeat, of a holder elsewhere that may be dead
    note: str | None = None  # the last error, or why it was stopped


class Watched(Protocol):
    """A run directory that is looked at, perhaps again and again."""

    def look(self) -> list[Progress]:
        """Its stages as they are now."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease, as far as a reader can tell."""

    name: str
    silent_s: float | None  # None while its heart beats


def holder_of(lease: Path) -> Holder | None:
    """Who holds a lease; None where nobody does, or the holder was a process of this machine and is dead."""
    found = state_of(lease)
    if found is None:
        return None
    (_, beat_ns), facts = found
    alive = is_alive(facts)
    if alive is False:
        return None
    age = time.time() - beat_ns / 1e9
    silent = age if alive is None and age > STALE_S else None
    return Holder(f"process {facts.get('process', '?')} on {facts.get('host', '?')}", silent)


def config_of(path: Path) -> dict[str, Any]:
    """A run's config as plain values; empty where it cannot be read."""
    try:
        return read_yaml(path / CONFIG_FILE)
    except (ConfigError, RecursionError):  # thousands of open brackets
        return {}


def json_of(file: Path) -> dict[str, Any]:
    """A JSON object; empty where it is absent, being written or damaged."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def whole_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file as far as it is written, {} for a damaged one. Raises OSError where it cannot be read."""
    with file.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):  # torn, or still being written
                return
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            yield record if isinstance(record, dict) else {}


def seconds_since(files: Iterable[Path]) -> float | None:
    """How long ago the newest of these files was written."""
    times = [time_of(file) for file in files]
    newest = max((t for t in times if t is not None), default=None)
    return None if newest is None else max(0.0, time.time() - newest)


def time_of(file: Path) -> float | None:
    """When a file was written; None where there is none."""
    try:
        return file.stat().st_mtime
    except OSError:
        return None


def short(text: object) -> str:
    """A message on one line, cut where it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST_NOTE else f"{line[:LONGEST_NOTE]} ..."

"""Half-written files: each is named after the process that writes it, so that what a kill left behind is removed."""

import re
import time
import uuid
from contextlib import suppress
from functools import cache
from os import getpid
from pathlib import Path

from benchmarks.lease import place, process_start
from benchmarks.records import digest

NAME = re.compile(r".*\.(?P<place>[0-9a-f]{8})-(?P<process>\d+)-(?P<began>\d+)-[0-9a-f]{8}\.partial")
FORGOTTEN_S = 86_400  # whether a process of another machine is alive cannot be seen; none writes a file for a day


def partial_of(path: Path) -> Path:
    """A name beside `path` to write it under: unique, so that two writers, on two nodes perhaps, never share one."""
    process = getpid()
    writer = f"{here()}-{process}-{process_start(process) or 0}-{uuid.uuid4().hex[:8]}"
    return path.with_name(f"{path.name}.{writer}.partial")


def drop_left_over(folder: Path) -> None:
    """Remove the half-written files of processes that are dead, the first time that this process writes in a folder."""
    _drop_once(folder.absolute())


@cache
def here() -> str:
    """8 hex digits for the host, its boot and its process namespace."""
    return digest(place(), 8)


@cache
def _drop_once(folder: Path) -> None:
    for file in folder.glob("*.partial"):
        found = NAME.fullmatch(file.name)
        if found and is_left_over(file, found):
            with suppress(OSError):  # another process was quicker
                file.unlink()


def is_left_over(file: Path, name: re.Match[str]) -> bool:
    """Whether the process that wrote a file is dead: known of this machine's, and of others after a day."""
    if name["place"] == here():
        return process_start(int(name["process"])) != name["began"]
    with suppress(OSError):
        return time.time() - file.stat().st_mtime > FORGOTTEN_S
    return False

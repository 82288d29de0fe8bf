"""One process at a time: a lease file that says who holds it, kept alive by a heartbeat, taken over when that stops.

It works on NFS and Lustre and after `kill -9`. No clock is compared between machines: whoever finds the file watches it
until it beats anew (then it is held) or has not beaten for STALE_S seconds (then its holder is dead). On one machine a
file lock, which ends with its process, tells at once.
"""

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from evenhand.errors import DataError

BEAT_S = 15.0
STALE_S = 180.0
LOOK_S = 0.5
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Lease:
    """A lease that this process holds."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor  # of our own file, also after somebody has put another in its place
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.beat, daemon=True)
        self.thread.start()

    def beat(self) -> None:
        """Move the file's time until the lease is given back."""
        while not self.over.wait(BEAT_S):
            with suppress(OSError):  # a file system that is away for a while
                os.utime(self.descriptor)

    def check_held(self) -> None:
        """Raises DataError when another process has taken the lease over: this one has stood still for too long."""
        if not self.is_ours():
            raise DataError(
                f"{self.path}: was taken over by another process, as this one gave no sign of life for {STALE_S:.0f} s"
            )

    def is_ours(self) -> bool:
        """Whether the file at the path is still the one that this process made."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self.descriptor))
        except OSError:
            return False

    def give_back(self) -> None:
        """End the heartbeat and remove the file, if it is still ours."""
        self.over.set()
        self.thread.join()
        if self.is_ours():
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


@contextmanager
def held(path: Path, doing: str) -> Iterator[Lease]:
    """Context manager: hold the lease file at `path`. doing: "merged" or "trained", for the message to others.

    Raises DataError naming host, process and start when another process holds it. It may take one heartbeat to see that
    (BEAT_S), and STALE_S to see that the holder on another machine is dead; on this machine that is seen at once.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while (descriptor := create(path)) is None:
        if beat := last_beat(path, doing):
            remove(path, beat)
    lease = Lease(path, descriptor)
    try:
        yield lease
    finally:
        lease.give_back()


def create(path: Path) -> int | None:
    """The descriptor of a new lease file, or None where there is one. Raises DataError where it cannot be written."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
    except FileExistsError:
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); free space or choose another folder") from None
    with suppress(OSError):  # a file system without locks: only the heartbeat tells
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    holder = {**machine(), "process": os.getpid(), "since": time.strftime("%F %T")}
    os.write(descriptor, json.dumps(holder).encode())
    os.fsync(descriptor)
    return descriptor


def last_beat(path: Path, doing: str) -> tuple[int, int] | None:
    """The last heartbeat of a dead holder, or None when the lease was given back. Raises DataError if it is held."""
    if (seen := state_of(path)) is None:
        return None
    beat, holder = seen
    deadline = time.monotonic() + STALE_S
    while time.monotonic() < deadline and (alive := is_alive(path, holder)) is not False:
        if (now := state_of(path)) is None:
            return None
        if alive or now[0] != beat:
            holder = now[1]  # which had perhaps not written yet who it is
            who = f"process {holder.get('process', '?')} on {holder.get('host', '?')} since {holder.get('since', '?')}"
            raise DataError(
                f"{path.parent}: is being {doing} by {who}; wait for it. Should it die, the same command goes on"
            )
        time.sleep(LOOK_S)
    return beat


def state_of(path: Path) -> tuple[tuple[int, int], dict[str, Any]] | None:
    """((inode, time in ns), holder) of a lease file; None where it is gone."""
    try:
        with path.open("rb") as file:  # opening it has NFS ask the server anew
            facts, text = os.fstat(file.fileno()), file.read()
    except OSError:
        return None
    try:
        holder = json.loads(text)
    except ValueError:  # killed before it could write who it is; or damaged
        holder = {}
    return (facts.st_ino, facts.st_mtime_ns), holder if isinstance(holder, dict) else {}


def remove(path: Path, beat: tuple[int, int]) -> None:
    """Remove the lease file that was seen, and no other one that has taken its place.

    A second look at the file and its removal are two steps, between which another process could have removed it and
    made its own. So one process may at a time, the one that makes the claim file; the others get a DataError.
    """
    claim = path.with_name(f"{path.name}.{beat[0]}-{beat[1]}.claim")
    if (descriptor := create(claim)) is None:
        raise DataError(f"{path}: another process is taking it over; wait for it. If there is none, delete {claim}")
    try:
        now = state_of(path)
        if now is not None and now[0] == beat:
            path.unlink(missing_ok=True)
    finally:
        claim.unlink(missing_ok=True)
        os.close(descriptor)


def machine() -> dict[str, str | None]:
    """This machine and its boot, within which file locks are seen; None where the boot is not known."""
    boot = BOOT_ID.read_text(encoding="ascii").strip() if BOOT_ID.exists() else None
    return {"host": socket.gethostname(), "boot": boot}


def is_alive(path: Path, holder: dict[str, Any]) -> bool | None:
    """Whether the holder of a lease file is alive; None for one of another machine, which cannot be seen from here."""
    if holder.get("boot") is None or holder["boot"] != machine()["boot"]:
        return None
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no locks here, or gone meanwhile
        return None
    return False

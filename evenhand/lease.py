"""One process at a time: a lease file that says who holds it, kept alive by a heartbeat, taken over when that stops.

It works on NFS and Lustre and after `kill -9`. No clock is compared between machines: whoever finds the file watches it
until it beats anew (then it is held) or has not beaten for STALE_S seconds (then its holder is dead).
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from evenhand.errors import DataError

BEAT_S = 15.0
STALE_S = 180.0
LOOK_S = 0.5


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
            with suppress(OSError):  # a file system that is away for a while; refuse_if_lost tells for good
                os.utime(self.descriptor)

    def refuse_if_lost(self) -> None:
        """Raises DataError when another process has taken the lease over: this one has stood still for too long."""
        if not self.is_ours():
            raise DataError(
                f"{self.path}: was taken over by another process, since this one had given no sign of life for "
                f"{STALE_S:.0f} s; what it was about to write is left to that one"
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
        watch(path, doing)
    lease = Lease(path, descriptor)
    try:
        yield lease
    finally:
        lease.give_back()


def create(path: Path) -> int | None:
    """The descriptor of a new lease file, or None where there is one."""
    if (descriptor := new_file(path)) is None:
        return None
    holder = {**place(), "process": os.getpid(), "began": process_start(os.getpid()), "since": time.strftime("%F %T")}
    os.write(descriptor, json.dumps(holder).encode())
    os.fsync(descriptor)
    return descriptor


def new_file(path: Path) -> int | None:
    """The descriptor of a file that this process made, or None where there is one. Raises DataError."""
    try:
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
    except FileExistsError:
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); free space or choose another folder") from None


def watch(path: Path, doing: str) -> None:
    """Return when the lease is free: given back, or removed here as its holder is dead. Raises DataError if held."""
    before = state_of(path)
    for attempt in count():
        deadline = time.monotonic() + STALE_S
        while before is not None and time.monotonic() < deadline:
            alive = is_alive(before[1])
            if alive is False and not attempt:
                break
            now = state_of(path)
            if now is None:
                return
            if alive or now[0] != before[0]:
                raise DataError(told_of(path, now[1], doing))
            time.sleep(LOOK_S)
        if before is None or remove(path, before[0], attempt):
            return


def told_of(path: Path, holder: dict[str, Any], doing: str) -> str:
    """Who holds a lease, and what to do."""
    who = f"process {holder.get('process', '?')} on {holder.get('host', '?')} since {holder.get('since', '?')}"
    return (
        f"{path.parent}: is being {doing} by {who}; wait for it. Should it die, the same command goes on, at most "
        f"{STALE_S:.0f} s later"
    )


def state_of(path: Path) -> tuple[tuple[int, int], dict[str, Any]] | None:
    """((inode, time in ns), holder) of a lease file; None where it is gone."""
    try:
        with path.open("rb") as file:  # opening it has NFS ask the server anew
            facts, text = os.fstat(file.fileno()), file.read()
    except OSError:
        return None
    try:
        holder = json.loads(text)
    except (ValueError, RecursionError):  # killed before it could write who it is; or damaged
        holder = {}
    return (facts.st_ino, facts.st_mtime_ns), holder if isinstance(holder, dict) else {}


def remove(path: Path, seen: tuple[int, int], attempt: int) -> bool:
    """Remove the lease file that was seen, and no other one that has taken its place; whether this process might.

    Of several processes at one attempt, one may: a second look at the file and its removal are two steps, between which
    another process could have removed it and made its own. That one dead too, the next attempt has another claim.
    """
    claim = path.with_name(f"{path.name}.{seen[0]}-{seen[1]}-{attempt}.claim")
    if (descriptor := new_file(claim)) is None:
        return False
    try:
        now = state_of(path)
        if now is not None and now[0] == seen:
            path.unlink(missing_ok=True)
    finally:
        claim.unlink(missing_ok=True)
        os.close(descriptor)
    return True


def place() -> dict[str, str]:
    """Where a process number means something: the host, its boot and its process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # no Linux: only the heartbeat tells
        boot = namespace = uuid.uuid4().hex
    return {"host": socket.gethostname(), "boot": boot, "namespace": namespace}


def process_start(process: int) -> str | None:
    """When a process of this machine began, in the kernel's ticks; None for one that there is not."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else rest[18]


def is_alive(holder: dict[str, Any]) -> bool | None:
    """Whether the holder's process is there; None for one of another machine, which cannot be seen from here."""
    process = holder.get("process")
    if (
        not isinstance(process, int)
        or "began" not in holder
        or any(holder.get(key) != value for key, value in place().items())
    ):
        return None
    return bool(process_start(process) == holder["began"])

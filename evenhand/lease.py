"""One process at a time: a lease file (filelock's) that says who holds it, kept alive by a heartbeat, taken over when
that stops.

It works on NFS and Lustre and after `kill -9`. No clock is compared between machines: whoever finds the file watches it
until it beats anew (then it is held) or has not beaten for STALE_S seconds (then its holder is dead). A dead process of
this machine is seen at once.
"""

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.errors import DataError

if TYPE_CHECKING:
    from filelock import SoftFileLease

BEAT_S = 5.0
STALE_S = 180.0
LOOK_S = 0.5
LOCK_FILE = ".lock"  # held while a folder is built or fetched into


@contextmanager
def held(path: Path, doing: str) -> Iterator["SoftFileLease"]:
    """Context manager: hold the lease file at `path`. doing: "merged" or "trained", for the message to others.

    Raises DataError naming process and host when another one holds it, which takes a heartbeat to see (BEAT_S), and
    where it cannot be written. That a holder on another machine is dead takes STALE_S to see.
    """
    from filelock import SoftFileLease, Timeout

    first, deadline = state_of(path), time.monotonic() + STALE_S

    def is_alive() -> bool:
        """Whether the holder's heart beats, or another process was quicker."""
        now = state_of(path)
        if now and now == first and not now[2] and time.monotonic() > deadline:
            with path.open("r+b") as file:  # its holder was killed before it wrote a name; filelock waits for that
                file.write(b"\n")
        return bool(first and now and now != first and now[2] > 1)

    lease = SoftFileLease(path, lease_duration=STALE_S, heartbeat_interval=BEAT_S, poll_interval=LOOK_S)
    try:
        acquired = lease.acquire(timeout=2 * STALE_S + 5, cancel_check=is_alive)
    except Timeout:
        raise DataError(
            f"{path.parent}: is being {doing} by {holder_in(path) or 'another process'}; wait for it. Should it die, "
            "the same command goes on"
        ) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); free space or choose another folder") from None
    with acquired:
        yield lease


def locked(folder: Path, name: str) -> AbstractContextManager["SoftFileLease"]:
    """Context manager: alone in a folder, which is made where there is none. name: of the work. Raises as `held`."""
    return held(folder / LOCK_FILE, f"worked on ({name})")


def check_held(lease: "SoftFileLease") -> None:
    """Raises DataError when another process has taken the lease over: this one has stood still for too long."""
    if lease.owner is None or lease.owner.token != lease.token:
        raise DataError(f"{lease.lock_file}: was taken over by another process: this one was still for {STALE_S:.0f} s")


def holder_in(path: Path) -> str | None:
    """Who holds a lease file, in words; None where nobody does."""
    from filelock import SoftFileLease

    owner = SoftFileLease(path).owner
    return owner and f"process {owner.pid} on {owner.hostname.partition('?')[0]}"


def state_of(path: Path) -> tuple[int, int, int] | None:
    """Inode, time in ns and size of a lease file; None where there is none."""
    try:
        with path.open("rb") as file:  # opening it has NFS ask the server anew
            facts = os.fstat(file.fileno())
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns, facts.st_size

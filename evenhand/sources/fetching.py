"""A dataset's files from their publisher to a folder, each checked, with sources.json to say where they are from.

A fetch that was cut off continues with the same call. It stays at the revision that it began with.
"""

import fcntl
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.jsonl import sync_folder
from evenhand.manifest import LOCK_FILE
from evenhand.sources.download import download, partial_of
from evenhand.sources.http_get import BY_HAND, Address, Connection, connected
from evenhand.sources.origin import Origin
from evenhand.sources.publishers import Hosts, file_address, wanted_files
from evenhand.sources.source_record import (
    PINNED,
    SourceFile,
    SourceRecord,
    is_whole,
    kind_of_checksum,
    read_record,
    source_files,
    write_record,
)

__all__ = ["SourceFile", "fetch", "source_files"]  # of files fetched, and of files put there by hand


def fetch(
    origin: Origin,
    folder: Path,
    *,
    name: str,
    hosts: Hosts | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> list[SourceFile]:
    """Every file of the origin, whole in `folder` under its base name. A whole folder asks nothing of the network.

    name: the dataset's. wait: sleeps between attempts. Raises DataError with the way out.
    """
    record = known_record(origin, folder)
    if record and is_complete(record, origin, folder):
        return list(record.files)
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise DataError(
            f"{name}: not all of its files are in {folder}, and HF_HUB_OFFLINE says that there is no internet; "
            f"fetch them on a machine that has it, {BY_HAND}"
        )
    with locked(folder, name), connected(wait) as connection:
        hosts = hosts or Hosts()
        record = begun(origin, folder, name, connection, hosts)
        for path in record.paths:
            record = with_file(record, path, origin, folder, connection, hosts)
    return list(record.files)


def known_record(origin: Origin, folder: Path) -> SourceRecord | None:
    """What an earlier fetch noted. Raises DataError when it was of another place or revision."""
    record = read_record(folder)
    if record is None:
        return None
    same_revision = (
        origin.revision in (None, record.asked_revision)  # None is content with what a fetch began with
        or (record.revision or "").startswith(str(origin.revision))
    )
    if record.place != origin.place or not same_revision:
        raise DataError(
            f"{folder}: holds files of {record.place} at revision {record.revision}, wanted are those of "
            f"{origin.place} at {origin.revision or 'the newest'}; move the folder away, or give --raw to use it so"
        )
    return record


def is_complete(record: SourceRecord, origin: Origin, folder: Path) -> bool:
    """Whether all that the origin names is here as recorded. Raises DataError when a pin says otherwise."""
    if record.asked_files != origin.files or len(record.files) < len(record.paths):
        return False
    for file in record.files:
        kind_of_checksum(str(folder / file.name), file.name, file.sha256, origin.sha256)
    return all(is_whole(file, folder) for file in record.files)


def begun(origin: Origin, folder: Path, name: str, connection: Connection, hosts: Hosts) -> SourceRecord:
    """The record to continue, or a new one. The revision is on disk before the first file is."""
    record = known_record(origin, folder)
    if record and record.asked_files == origin.files:
        return record
    revision = record.revision if record else origin.revision
    wanted = wanted_files(origin, revision, connection, hosts)
    new = SourceRecord(
        name=name,
        place=origin.place,
        asked_files=origin.files,
        asked_revision=origin.revision,
        revision=wanted.revision,
        paths=wanted.paths,
        files=tuple(file for file in (record.files if record else ()) if file.path in wanted.paths),
    )
    write_record(folder, new)
    return new


def with_file(
    record: SourceRecord, path: str, origin: Origin, folder: Path, connection: Connection, hosts: Hosts
) -> SourceRecord:
    """The record, with one file more when that was not whole: fetched, checked, noted, and only then given its name."""
    target = folder / PurePosixPath(path).name
    before = record.file(path)
    if before and is_whole(before, folder):
        return record
    address = file_address(origin, record.revision, path, hosts)
    try:
        if before is None and target.exists():
            file = adopted(target, path, origin)
            write_record(folder, record.with_file(file))
        else:
            version = download(address, target, connection)
            partial = partial_of(address, target)
            try:
                file = arrived(partial, target.name, path, origin, address, record.revision or version)
                refuse_changed(file, before, folder)
            except DataError:
                partial.unlink()
                raise
            # Noted before it is named, so that a process killed in between leaves no file that nobody knows.
            write_record(folder, record.with_file(file))
            partial.replace(target)
            sync_folder(folder)
            for left in folder.glob(f"{target.name}.*.partial"):  # of another commit
                left.unlink()
    except OSError as error:
        problem = f"cannot be kept ({error.strerror}); put that right, and the same command continues"
        raise DataError(f"{target}: {problem}") from None
    say(f"{record.name}: {file.name}, {file.n_bytes:,} bytes, SHA-256 {file.checksum}")
    return record.with_file(file)


def arrived(partial: Path, name: str, path: str, origin: Origin, address: Address, revision: str | None) -> SourceFile:
    """What to note of a file that is whole but not yet named. Raises DataError when a pin differs."""
    sha256 = sha256_of(partial)
    return SourceFile(
        name=name,
        path=path,
        n_bytes=partial.stat().st_size,
        sha256=sha256,
        checksum=kind_of_checksum(str(address), name, sha256, origin.sha256),
        url=str(address),
        revision=revision,
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def refuse_changed(file: SourceFile, before: SourceFile | None, folder: Path) -> None:
    """Raises DataError when the publisher now gives another file than the one fetched earlier, which is lost here."""
    if before and before.sha256 != file.sha256:
        raise DataError(
            f"{file.url}: the publisher has changed it: SHA-256 {file.sha256}, fetched on {before.fetched} was "
            f"{before.sha256}. Move {folder} away and fetch all of it anew, {BY_HAND}"
        )


def adopted(target: Path, path: str, origin: Origin) -> SourceFile:
    """A file that somebody put where a fetched one belongs. Raises DataError unless it is known to be the right one."""
    sha256 = sha256_of(target)
    if sha256 != origin.sha256.get(target.name):
        raise DataError(
            f"{target}: was not fetched by Evenhand and may be another file than the publisher's; "
            "move it away, or give --raw to use it as it is"
        )
    return SourceFile(name=target.name, path=path, n_bytes=target.stat().st_size, sha256=sha256, checksum=PINNED)


@contextmanager
def locked(folder: Path, name: str) -> Generator[None]:
    """Alone in the folder: a second process waits until the first is done or dead."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK_FILE).open("w")
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{name}: another process is at work in {folder}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            say(f"{name}: {folder} cannot be locked here ({error.strerror}); let no other process work in it")
        yield


def say(line: str) -> None:
    """Progress, for whoever watches: results go to standard output."""
    print(line, file=sys.stderr, flush=True)

"""sources.json: which of a publisher's files lie in a folder, from where, of which revision, with which checksum."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.jsonl import write_json
from evenhand.sources.origin import Origin

RECORD_FILE = "sources.json"
PINNED = "pinned"  # this repository names the checksum
RECORDED = "recorded"  # taken from what the publisher sent first


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One of a publisher's files as it lies in a folder."""

    name: str  # in the folder: the last part of its path; where a user keeps subfolders, with those
    path: str  # at the publisher; the name where that is not known
    n_bytes: int
    sha256: str
    checksum: str  # PINNED or RECORDED
    url: str | None = None  # None for a file that the user put there
    revision: str | None = None  # full commit; of a folder on the web, the file's ETag or date; None when unknown
    fetched: str | None = None  # UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """What was asked of a publisher, what that comes to, and the files that are here."""

    name: str  # of the dataset
    place: str
    asked_files: tuple[str, ...]
    asked_revision: str | None
    revision: str | None
    paths: tuple[str, ...]  # what asked_files come to at that revision
    files: tuple[SourceFile, ...] = ()

    def file(self, path: str) -> SourceFile | None:
        """The record of a file, once it was fetched."""
        return next((file for file in self.files if file.path == path), None)

    def with_file(self, new: SourceFile) -> "SourceRecord":
        """The record with one file added or replaced, in the order of `paths`."""
        known = {file.path: file for file in (*self.files, new)}
        return replace(self, files=tuple(known[path] for path in self.paths if path in known))


def write_record(folder: Path, record: SourceRecord) -> None:
    """Write sources.json, whole or not at all."""
    write_json(folder / RECORD_FILE, asdict(record))


def read_record(folder: Path) -> SourceRecord | None:
    """What sources.json says, None where there is none. Raises DataError when it is damaged."""
    path = folder / RECORD_FILE
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        values |= {key: tuple(values[key]) for key in ("asked_files", "paths")}
        values["files"] = tuple(SourceFile(**file) for file in values["files"])
        return SourceRecord(**values)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{path}: is damaged or not Evenhand's; move its folder away and fetch again") from None


def is_whole(file: SourceFile, folder: Path) -> bool:
    """Whether the file lies in the folder as it was recorded."""
    path = folder / file.name
    return path.is_file() and path.stat().st_size == file.n_bytes and sha256_of(path) == file.sha256


def kind_of_checksum(where: str, name: str, found: str, pins: Mapping[str, str]) -> str:
    """PINNED or RECORDED, for a file with the checksum `found`. Raises DataError when another one is pinned."""
    expected = pins.get(name)
    if expected is None:
        return RECORDED
    if found != expected:
        raise DataError(
            f"{where}: has the SHA-256 {found}, expected {expected}: it is damaged, or not the release that the "
            "benchmark was made from. Fetch it again; if it stays so, the publisher has changed it (--any-revision "
            "takes it all the same)"
        )
    return PINNED


def source_files(origin: Origin, folder: Path, *, name: str) -> list[SourceFile]:
    """The files that a user put into a folder, its subfolders too, hashed and compared with the origin's checksums.

    name: the dataset's. Revision and address are unknown, unless the folder was fetched and the file is as it was then.
    Raises DataError for a folder that is none or empty, and for a checksum that is not the pinned one.
    """
    record = read_record(folder)
    fetched = {(file.name, file.sha256): file for file in (record.files if record else ())}
    found = []
    for path in sorted(path for path in folder.rglob("*") if is_source(path.relative_to(folder), origin)):
        if not path.is_file():
            continue
        sha256, shown = sha256_of(path), path.relative_to(folder).as_posix()
        checksum = kind_of_checksum(str(path), path.name, sha256, origin.sha256)
        by_hand = SourceFile(name=shown, path=shown, n_bytes=path.stat().st_size, sha256=sha256, checksum=checksum)
        found.append(fetched.get((shown, sha256), by_hand))
    if not found:
        raise DataError(
            f"{folder}: holds no file; put those of {name} there (from {origin.place}: {', '.join(origin.files)}), "
            "or leave --raw out to fetch them"
        )
    return found


def is_source(path: Path, origin: Origin) -> bool:
    """Whether a path within a folder is one of the files that are read: as the publisher places it, or flat."""
    hidden = any(part.startswith(".") for part in path.parts)
    if hidden or path.name == RECORD_FILE or ".partial" in path.name:
        return False
    wanted = [*origin.files, *origin.also]
    if len(path.parts) == 1:
        return any(fnmatchcase(path.name, PurePosixPath(pattern).name) for pattern in wanted)
    return any(fnmatchcase(path.as_posix(), f"*{pattern.removeprefix('*')}") for pattern in wanted)

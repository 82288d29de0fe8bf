"""A dataset's files from their publisher to a folder, each checked, with sources.json to say where they are from.

Publishers keep files on GitHub, on the hub or in a folder on the web. A fetch that was cut off continues with the same
call, and stays at the revision that it began with.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from pydantic import TypeAdapter

from evenhand.errors import DataError
from evenhand.files import locked, sha256_of, sync_folder, write_json
from evenhand.records import digest
from evenhand.sources.http_get import BY_HAND, Address, Connection, connected, without_secrets

RECORD_FILE = "sources.json"
HALF = ".download"  # suffix of a file that is not whole yet
PINNED = "pinned"  # this repository names the checksum
RECORDED = "recorded"  # taken from what the publisher sent first
FILE_NAME = re.compile(r"\w[\w.+=@() -]*")  # so that nothing a publisher lists leads out of the folder or hides in it
N_SHOWN = 20  # files named in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a publisher keeps the files."""

    place: str  # "github:OWNER/REPO", "hf:OWNER/DATASET", or the https:// address of a folder
    # Each names one file there by its path, or several by a pattern such as "*.json*".
    files: tuple[str, ...]
    also: tuple[str, ...] = ()  # names under which the same content is read as well, where a user has it so
    revision: str | None = None  # commit; None is the newest, resolved when fetched and recorded
    sha256: Mapping[str, str] = field(default_factory=dict)  # file name → checksum, where a file was at hand to take it
    terms: str = ""  # what a user must accept first, with the address; empty for open data


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """Where the publishers' hosts answer."""

    github_api: str = "https://api.github.com"
    github_raw: str = "https://raw.githubusercontent.com"
    hub: str = field(default_factory=lambda: (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One of a publisher's files as it lies in a folder."""

    name: str  # in the folder: the last part of its path; where a user keeps subfolders, with those
    path: str  # at the publisher; the name where that is not known
    n_bytes: int
    sha256: str
    checksum: str  # PINNED or RECORDED
    url: str | None = None  # None for a file that the user put there
    revision: str | None = None  # full commit; None when unknown, as of a folder on the web
    fetched: str | None = None  # UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """sources.json: what was asked of a publisher, what that comes to, and the files that are here."""

    name: str  # of the dataset
    place: str
    asked_files: tuple[str, ...]
    asked_revision: str | None
    revision: str | None
    paths: tuple[str, ...]  # what asked_files come to at that revision
    files: tuple[SourceFile, ...] = ()

    def with_file(self, new: SourceFile) -> "SourceRecord":
        """The record with one file added or replaced, in the order of `paths`."""
        known = {file.path: file for file in (*self.files, new)}
        return replace(self, files=tuple(known[path] for path in self.paths if path in known))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """One fetch: of what, from where, to where."""

    origin: Origin
    folder: Path
    hosts: Hosts
    connection: Connection


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
        job = Fetch(origin=origin, folder=folder, hosts=hosts or Hosts(), connection=connection)
        record = known_record(origin, folder) or begun(job, name)
        for path in record.paths:
            record = with_file(job, record, path)
    return list(record.files)


def read_record(folder: Path) -> SourceRecord | None:
    """What sources.json says, None where there is none. Raises DataError when it is damaged."""
    path = folder / RECORD_FILE
    try:
        return TypeAdapter(SourceRecord).validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        raise DataError(f"{path}: is damaged or not Evenhand's; move its folder away and fetch again") from None


def known_record(origin: Origin, folder: Path) -> SourceRecord | None:
    """What an earlier fetch noted. Raises DataError when it was of another place, revision or set of files."""
    record = read_record(folder)
    asked = (origin.place, origin.revision, origin.files)
    if record and (record.place, record.asked_revision, record.asked_files) != asked:
        raise DataError(
            f"{folder}: holds {', '.join(record.asked_files)} of {record.place} at revision {record.revision}, wanted "
            f"are {', '.join(origin.files)} of {origin.place} at {origin.revision or 'the newest'}; move the folder "
            "away, or give --raw to use it so"
        )
    return record


def is_complete(record: SourceRecord, origin: Origin, folder: Path) -> bool:
    """Whether all that the origin names is here as recorded. Raises DataError when a pin says otherwise."""
    for file in record.files:
        kind_of_checksum(str(folder / file.name), file.name, file.sha256, origin.sha256)
    return len(record.files) == len(record.paths) and all(is_whole(file, folder) for file in record.files)


def is_whole(file: SourceFile, folder: Path) -> bool:
    """Whether the file lies in the folder as it was recorded."""
    path = folder / file.name
    return path.is_file() and path.stat().st_size == file.n_bytes and sha256_of(path) == file.sha256


def begun(job: Fetch, name: str) -> SourceRecord:
    """A new record. The revision is on disk before the first file is. Raises DataError for names that do not fit."""
    origin = job.origin
    revision, paths = (None, origin.files) if "://" in origin.place else listing(job)
    names = [PurePosixPath(path).name for path in paths]
    unfit = [file for file in names if not FILE_NAME.fullmatch(file) or file == RECORD_FILE or names.count(file) > 1]
    if unfit:
        raise DataError(f"{origin.place}: its files {', '.join(unfit)} cannot lie in one folder; {BY_HAND[3:]}")
    record = SourceRecord(
        name=name,
        place=origin.place,
        asked_files=origin.files,
        asked_revision=origin.revision,
        revision=revision,
        paths=paths,
    )
    write_json(job.folder / RECORD_FILE, asdict(record))
    return record


def listing(job: Fetch) -> tuple[str, tuple[str, ...]]:
    """The commit that the revision stands for, and the paths of what the origin names there."""
    kind, _, repository = job.origin.place.partition(":")
    revision = quote(job.origin.revision or ("HEAD" if kind == "github" else "main"), safe="")
    try:
        if kind == "github":
            asked = github_address(job, f"/repos/{repository}/commits/{revision}")
            commit = str(job.connection.json(asked)["sha"])
            tree = job.connection.json(github_address(job, f"/repos/{repository}/git/trees/{commit}?recursive=1"))
            there = [entry["path"] for entry in tree["tree"] if entry["type"] == "blob"]
        else:
            asked = hub_address(job, f"/api/datasets/{repository}/revision/{revision}")
            answer = job.connection.json(asked)
            commit, there = str(answer["sha"]), [sibling["rfilename"] for sibling in answer["siblings"]]
    except (KeyError, TypeError):
        raise DataError(f"{asked}: does not answer as it should; is a proxy between? Try later, {BY_HAND}") from None
    return commit, matching(job.origin, there)


def github_address(job: Fetch, path: str) -> Address:
    """An address of GitHub's API, asked with the user's token if there is one."""
    way_in = (
        "GitHub answers strangers 60 times an hour: wait, or set GITHUB_TOKEN to a valid token "
        "(https://github.com/settings/tokens)"
    )
    return Address(url=f"{job.hosts.github_api}{path}", token=os.environ.get("GITHUB_TOKEN"), way_in=way_in)


def hub_address(job: Fetch, path: str, *, never_changes: bool = False) -> Address:
    """An address at the hub, asked with the user's token if there is one."""
    from huggingface_hub import get_token

    terms = job.origin.terms or without_secrets(f"{job.hosts.hub}/datasets/{job.origin.place.partition(':')[2]}")
    way_in = (
        f"accept the terms at {terms} with your account, make a read token at https://huggingface.co/settings/tokens, "
        "set HF_TOKEN to it and run again"
    )
    return Address(url=f"{job.hosts.hub}{path}", token=get_token(), way_in=way_in, never_changes=never_changes)


def file_address(job: Fetch, revision: str | None, path: str) -> Address:
    """Where one file is. Content at an address with a commit in it never changes."""
    kind, _, repository = job.origin.place.partition(":")
    if kind == "github":
        # Without token: the raw host answers 404 to a token that has expired, and public files need none.
        url = f"{job.hosts.github_raw}/{repository}/{revision}/{quote(path)}"
        return Address(url=url, way_in="is it private now?", never_changes=True)
    if kind == "hf":
        return hub_address(job, f"/datasets/{repository}/resolve/{revision}/{quote(path)}", never_changes=True)
    return Address(url=f"{job.origin.place.rstrip('/')}/{quote(path)}", way_in="look there with a browser")


def matching(origin: Origin, there: Sequence[str]) -> tuple[str, ...]:
    """The paths that the origin's files name, each once. `*` matches any characters, `/` among them."""
    wanted: dict[str, None] = {}
    for file in origin.files:
        paths = sorted(path for path in there if fnmatchcase(path, file))
        if not paths:
            more = f" and {len(there) - N_SHOWN} more" if len(there) > N_SHOWN else ""
            raise DataError(
                f"{origin.place}: holds no file '{file}'; there are {', '.join(there[:N_SHOWN]) or 'none'}{more}. "
                f"The publisher may have moved it; look there, {BY_HAND}"
            )
        wanted.update(dict.fromkeys(paths))
    return tuple(wanted)


def with_file(job: Fetch, record: SourceRecord, path: str) -> SourceRecord:
    """The record, with one file more when that was not whole: fetched, checked, noted, and only then given its name.

    Raises DataError when a pin differs, or the publisher now gives another file than the one fetched earlier.
    """
    folder, target = job.folder, job.folder / PurePosixPath(path).name
    before = next((file for file in record.files if file.path == path), None)
    if before and is_whole(before, folder):
        return record
    if before is None and target.exists():
        raise DataError(
            f"{target}: was not fetched by Evenhand and may be another file than the publisher's; "
            "move it away, or give --raw to use it as it is"
        )
    address = file_address(job, record.revision, path)
    half = target.with_name(f"{target.name}.{digest(address.url, 8)}{HALF}")  # of another commit it has another name
    try:
        job.connection.download(address, half)
        sha256 = sha256_of(half)
        try:
            if before:
                kind_of_checksum(str(address), target.name, sha256, {target.name: before.sha256})
            checksum = kind_of_checksum(str(address), target.name, sha256, job.origin.sha256)
        except DataError:
            half.unlink()
            raise
        file = SourceFile(
            name=target.name,
            path=path,
            n_bytes=half.stat().st_size,
            sha256=sha256,
            checksum=checksum,
            url=str(address),
            revision=record.revision,
            fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        # Noted before it is named, so that a process killed in between leaves no file that nobody knows.
        record = record.with_file(file)
        write_json(folder / RECORD_FILE, asdict(record))
        half.replace(target)
        sync_folder(folder)
    except OSError as error:
        problem = f"cannot be written ({error.strerror}); free space or choose another folder"
        raise DataError(f"{target}: {problem}. The same command continues") from None
    say(f"{record.name}: {file.name}, {file.n_bytes:,} bytes, SHA-256 {file.checksum}")
    return record


def kind_of_checksum(where: str, name: str, sha256: str, pins: Mapping[str, str]) -> str:
    """PINNED or RECORDED, for a file with that checksum. Raises DataError when another one is pinned."""
    expected = pins.get(name)
    if expected not in (None, sha256):
        raise DataError(
            f"{where}: has the SHA-256 {sha256}, expected {expected}: it is damaged, or the publisher has changed it. "
            "Fetch it again; if it stays so, fetch everything into a new folder (--any-revision takes a file that is "
            "not the release that the benchmark was made from)"
        )
    return PINNED if expected else RECORDED


def source_files(origin: Origin, folder: Path, *, name: str) -> list[SourceFile]:
    """The files that a user put into a folder, its subfolders too, hashed and compared with the origin's checksums.

    name: the dataset's. Revision and address are unknown, unless the folder was fetched and the file is as it was then.
    Raises DataError for a folder that is none or empty, and for a checksum that is not the pinned one.
    """
    record = read_record(folder)
    fetched = {(file.name, file.sha256): file for file in (record.files if record else ())}
    files = []
    for path in sorted(path for path in folder.rglob("*") if is_source(path.relative_to(folder), origin)):
        if not path.is_file():
            continue
        sha256, place = sha256_of(path), path.relative_to(folder).as_posix()
        checksum = kind_of_checksum(str(path), path.name, sha256, origin.sha256)
        by_hand = SourceFile(name=place, path=place, n_bytes=path.stat().st_size, sha256=sha256, checksum=checksum)
        files.append(fetched.get((place, sha256), by_hand))
    if not files:
        raise DataError(
            f"{folder}: holds no file; put those of {name} there (from {origin.place}: {', '.join(origin.files)}), "
            "or leave --raw out to fetch them"
        )
    return files


def is_source(path: Path, origin: Origin) -> bool:
    """Whether a path within a folder is one of the files that are read: as the publisher places it, or flat."""
    if any(part.startswith(".") for part in path.parts) or path.name == RECORD_FILE or path.suffix == HALF:
        return False
    wanted = [*origin.files, *origin.also]
    if len(path.parts) == 1:
        return any(fnmatchcase(path.name, PurePosixPath(pattern).name) for pattern in wanted)
    return any(fnmatchcase(path.as_posix(), f"*{pattern.removeprefix('*')}") for pattern in wanted)


def say(line: str) -> None:
    """Progress, for whoever watches: results go to standard output."""
    print(line, file=sys.stderr, flush=True)

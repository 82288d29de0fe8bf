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
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter

from evenhand.errors import DataError
from evenhand.files import locked, sha256_of, sync_folder, write_json
from evenhand.sources.http_get import (
    BY_HAND,
    Address,
    Connection,
    ask_json,
    connected,
    download,
    partial_of,
    without_secrets,
)

RECORD_FILE = "sources.json"
PINNED = "pinned"  # this repository names the checksum
RECORDED = "recorded"  # taken from what the publisher sent first
PLACE = re.compile(r"(github|hf):([\w.-]+/[\w.-]+)")
FULL_COMMIT = re.compile(r"[0-9a-f]{40}")
FILE_NAME = re.compile(r"\w[\w.+=@() -]*")  # so that nothing a publisher lists leads out of the folder or hides in it
N_SHOWN = 20  # files named in an error
PROXY = f"is a proxy between? Try later, {BY_HAND}"


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
    revision: str | None = None  # full commit; of a folder on the web, the file's ETag or date; None when unknown
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

    def write(self, folder: Path) -> None:
        """Write sources.json, whole or not at all."""
        write_json(folder / RECORD_FILE, asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """One fetch: of what, from where, to where."""

    origin: Origin
    folder: Path
    name: str  # of the dataset
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
        job = Fetch(origin=origin, folder=folder, name=name, hosts=hosts or Hosts(), connection=connection)
        record = begun(job)
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
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise DataError(f"{path}: is damaged or not Evenhand's; move its folder away and fetch again") from None


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


def is_whole(file: SourceFile, folder: Path) -> bool:
    """Whether the file lies in the folder as it was recorded."""
    path = folder / file.name
    return path.is_file() and path.stat().st_size == file.n_bytes and sha256_of(path) == file.sha256


def begun(job: Fetch) -> SourceRecord:
    """The record to continue, or a new one. The revision is on disk before the first file is."""
    origin, record = job.origin, known_record(job.origin, job.folder)
    if record and record.asked_files == origin.files:
        return record
    revision, paths = wanted_files(job, record.revision if record else origin.revision)
    new = SourceRecord(
        name=job.name,
        place=origin.place,
        asked_files=origin.files,
        asked_revision=origin.revision,
        revision=revision,
        paths=paths,
        files=tuple(file for file in (record.files if record else ()) if file.path in paths),
    )
    new.write(job.folder)
    return new


def with_file(job: Fetch, record: SourceRecord, path: str) -> SourceRecord:
    """The record, with one file more when that was not whole: fetched, checked, noted, and only then given its name."""
    folder, target = job.folder, job.folder / PurePosixPath(path).name
    before = next((file for file in record.files if file.path == path), None)
    if before and is_whole(before, folder):
        return record
    address = file_address(job, record.revision, path)
    partial = partial_of(address, target)
    try:
        if before is None and target.exists():
            file = adopted(target, path, job.origin)
            record.with_file(file).write(folder)
        else:
            version = download(address, target, job.connection)
            try:
                file = arrived(job, partial, path, address, record.revision or version, before)
            except DataError:
                partial.unlink()
                raise
            # Noted before it is named, so that a process killed in between leaves no file that nobody knows.
            record.with_file(file).write(folder)
            partial.replace(target)
            sync_folder(folder)
            for left in folder.glob(f"{target.name}.*.partial"):  # of another commit
                left.unlink()
    except OSError as error:
        problem = f"cannot be kept ({error.strerror}); put that right, and the same command continues"
        raise DataError(f"{target}: {problem}") from None
    say(f"{record.name}: {file.name}, {file.n_bytes:,} bytes, SHA-256 {file.checksum}")
    return record.with_file(file)


def arrived(
    job: Fetch, partial: Path, path: str, address: Address, revision: str | None, before: SourceFile | None
) -> SourceFile:
    """What to note of a file that is whole but not yet named.

    Raises DataError when a pin differs, or the publisher now gives another file than the one fetched earlier.
    """
    name, sha256 = PurePosixPath(path).name, sha256_of(partial)
    checksum = kind_of_checksum(str(address), name, sha256, job.origin.sha256)
    if before and before.sha256 != sha256:
        raise DataError(
            f"{address}: the publisher has changed it: SHA-256 {sha256}, fetched on {before.fetched} was "
            f"{before.sha256}. Move {job.folder} away and fetch all of it anew, {BY_HAND}"
        )
    return SourceFile(
        name=name,
        path=path,
        n_bytes=partial.stat().st_size,
        sha256=sha256,
        checksum=checksum,
        url=str(address),
        revision=revision,
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
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


def kind_of_checksum(where: str, name: str, sha256: str, pins: Mapping[str, str]) -> str:
    """PINNED or RECORDED, for a file with that checksum. Raises DataError when another one is pinned."""
    expected = pins.get(name)
    if expected not in (None, sha256):
        raise DataError(
            f"{where}: has the SHA-256 {sha256}, expected {expected}: it is damaged, or not the release that the "
            "benchmark was made from. Fetch it again; if it stays so, the publisher has changed it (--any-revision "
            "takes it all the same)"
        )
    return PINNED if expected else RECORDED


def wanted_files(job: Fetch, revision: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The full commit (None for a folder on the web, whose files have a version each) and the paths to fetch.

    Nothing is asked when the revision is a full commit and every file is named by its path.
    """
    origin, (kind, where) = job.origin, place_parts(job.origin.place)
    has_patterns = any(map(is_pattern, origin.files))
    commit, paths = revision, origin.files
    if kind == "folder":
        if has_patterns:
            raise DataError(f"{origin.place}: a folder on the web cannot be listed; name its files, not a pattern")
        commit = None
    elif has_patterns or not FULL_COMMIT.fullmatch(revision or ""):
        commit, there = (github_listing if kind == "github" else hub_listing)(job, where, revision, has_patterns)
        paths = paths if there is None else matching(origin, there)
    refuse_unfit_names(origin, paths)
    return commit, paths


def github_listing(job: Fetch, where: str, revision: str | None, is_listed: bool) -> tuple[str, list[str] | None]:
    """The commit that a branch, a short commit or None (the newest) stands for, and its files when they are listed."""

    def api(path: str) -> Address:
        return Address(
            url=f"{job.hosts.github_api}/repos/{where}/{path}",
            token=os.environ.get("GITHUB_TOKEN"),
            way_in="GitHub answers strangers 60 times an hour: wait, or set GITHUB_TOKEN to a valid token "
            "(https://github.com/settings/tokens)",
        )

    asked = api(f"commits/{quote(revision or 'HEAD', safe='')}")
    commit = commit_in(ask_json(asked, job.connection), asked)
    if not is_listed:
        return commit, None
    asked = api(f"git/trees/{commit}?recursive=1")
    tree = ask_json(asked, job.connection)
    entries = objects_in(tree, "tree", asked)
    if tree.get("truncated"):
        raise DataError(f"{job.origin.place}: has more files than GitHub lists; name the files by their paths")
    return commit, [str(entry.get("path")) for entry in entries if entry.get("type") == "blob"]


def hub_listing(job: Fetch, where: str, revision: str | None, is_listed: bool) -> tuple[str, list[str]]:
    """The commit that a revision stands for, and its files, which the hub lists with it."""
    asked = hub_address(job, where, f"/api/datasets/{where}/revision/{quote(revision or 'main', safe='')}")
    answer = ask_json(asked, job.connection)
    there = [str(sibling.get("rfilename")) for sibling in objects_in(answer, "siblings", asked)]
    return commit_in(answer, asked), there


def hub_address(job: Fetch, where: str, path: str) -> Address:
    """An address at the hub, asked with the user's token if there is one."""
    from huggingface_hub import get_token

    terms = job.origin.terms or without_secrets(f"{job.hosts.hub}/datasets/{where}")
    return Address(
        url=f"{job.hosts.hub}{path}",
        token=get_token(),
        way_in=f"accept the terms at {terms} with your account, make a read token at "
        "https://huggingface.co/settings/tokens, set HF_TOKEN to it and run again",
    )


def file_address(job: Fetch, revision: str | None, path: str) -> Address:
    """Where one file is. Content at an address with a commit in it never changes."""
    kind, where = place_parts(job.origin.place)
    if kind == "github":
        # Without token: the raw host answers 404 to a token that has expired, and public files need none.
        url = f"{job.hosts.github_raw}/{where}/{revision}/{quote(path)}"
        return Address(url=url, way_in="is it private now?", never_changes=True)
    if kind == "hf":
        return replace(
            hub_address(job, where, f"/datasets/{where}/resolve/{revision}/{quote(path)}"), never_changes=True
        )
    terms = f"accept its terms at {job.origin.terms}" if job.origin.terms else "look there with a browser"
    return Address(url=f"{where.rstrip('/')}/{quote(path)}", way_in=terms)


def place_parts(place: str) -> tuple[str, str]:
    """("github" or "hf", "owner/name"), or ("folder", address)."""
    if match := PLACE.fullmatch(place):
        return match[1], match[2]
    if place.startswith(("https://", "http://")):
        return "folder", place
    raise DataError(f"place '{place}' is none of github:OWNER/REPO, hf:OWNER/DATASET and https://FOLDER")


def commit_in(answer: Any, asked: Address) -> str:
    """The full commit that an answer names."""
    commit = answer.get("sha") if isinstance(answer, dict) else None
    if not isinstance(commit, str) or not FULL_COMMIT.fullmatch(commit):
        raise DataError(f"{asked}: the answer names no commit; {PROXY}")
    return commit


def objects_in(answer: Any, key: str, asked: Address) -> list[dict[str, Any]]:
    """The objects that an answer lists under a key."""
    listed = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise DataError(f"{asked}: the answer lists no files; {PROXY}")
    return [entry for entry in listed if isinstance(entry, dict)]


def is_pattern(file: str) -> bool:
    """Whether an origin's file is a pattern rather than a path."""
    return any(mark in file for mark in "*?[")


def matching(origin: Origin, there: Sequence[str]) -> tuple[str, ...]:
    """The paths that the origin's files name, each once. `*` matches any characters, `/` among them."""
    wanted: dict[str, None] = {}
    for file in origin.files:
        paths = sorted(path for path in there if (fnmatchcase(path, file) if is_pattern(file) else path == file))
        if not paths:
            more = f" and {len(there) - N_SHOWN} more" if len(there) > N_SHOWN else ""
            raise DataError(
                f"{origin.place}: holds no file '{file}'; there are {', '.join(there[:N_SHOWN]) or 'none'}{more}. "
                f"The publisher may have moved it; look there, {BY_HAND}"
            )
        wanted.update(dict.fromkeys(paths))
    return tuple(wanted)


def refuse_unfit_names(origin: Origin, paths: Sequence[str]) -> None:
    """Raises DataError for a name that cannot lie in one flat folder with the others on any file system."""
    seen: dict[str, str] = {}
    for path in paths:
        name = PurePosixPath(path).name
        if not FILE_NAME.fullmatch(name) or name == RECORD_FILE or ".partial" in name:
            raise DataError(f"{origin.place}: file '{path}' has a name that cannot be kept here; {BY_HAND[3:]}")
        if (other := seen.setdefault(name.casefold(), path)) != path:
            raise DataError(
                f"{origin.place}: '{other}' and '{path}' would both be {name}; "
                "put the one that is wanted into DIR/DATASET/ yourself and give --raw DIR"
            )


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
    if any(part.startswith(".") for part in path.parts) or path.name == RECORD_FILE or ".partial" in path.name:
        return False
    wanted = [*origin.files, *origin.also]
    if len(path.parts) == 1:
        return any(fnmatchcase(path.name, PurePosixPath(pattern).name) for pattern in wanted)
    return any(fnmatchcase(path.as_posix(), f"*{pattern.removeprefix('*')}") for pattern in wanted)


def say(line: str) -> None:
    """Progress, for whoever watches: results go to standard output."""
    print(line, file=sys.stderr, flush=True)

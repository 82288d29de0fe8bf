"""A dataset's files from their publisher to a folder, each checked, with sources.json to say where they are from.

Publishers keep files on GitHub, on the Hub or in a folder on the web; the Hub's client brings all of them. A fetch that
was cut off continues with the same call, file by file, and stays at the revision that it began with.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import TypeAdapter

from evenhand.errors import DataError
from evenhand.files import sha256_of, whole_file, write_json
from evenhand.lease import locked
from evenhand.terminal import say

RECORD_FILE = "sources.json"
PINNED = "pinned"  # this repository names the checksum
RECORDED = "recorded"  # taken from what the publisher sent first
N_SHOWN = 20  # files named in an error
GITHUB_API, GITHUB_RAW = "https://api.github.com", "https://raw.githubusercontent.com"
BY_HAND = "or get the files in another way: --raw DIR takes them from DIR/DATASET/"


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

    place: str
    asked: tuple[str | None, ...]  # revision and files
    revision: str | None
    paths: tuple[str, ...]  # what the files come to at that revision
    files: tuple[SourceFile, ...] = ()


def fetch(origin: Origin, folder: Path, *, name: str) -> list[SourceFile]:
    """Every file of the origin, whole in `folder` under its base name. A whole folder asks nothing of the network.

    name: the dataset's. Raises DataError with the way out, also for a folder of another place, revision or files.
    """
    with locked(folder, name):
        asked = (origin.revision, *origin.files)
        if (record := read_record(folder)) is None:  # the revision is on disk before the first file is
            revision, paths = (None, origin.files) if "://" in origin.place else listing(origin)
            record = SourceRecord(place=origin.place, asked=asked, revision=revision, paths=paths)
            write_json(folder / RECORD_FILE, asdict(record))
        if (record.place, record.asked) != (origin.place, asked):
            raise DataError(
                f"{folder}: holds {', '.join(record.paths)} of {record.place} at revision {record.revision}, and "
                f"another is wanted of {origin.place}; move it away, or give --raw to use it so"
            )
        for path in record.paths:
            record = with_file(record, origin, folder, path)
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


def listing(origin: Origin) -> tuple[str, tuple[str, ...]]:
    """The commit that the revision stands for, and the paths of what the origin names there."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils._http import hf_raise_for_status, http_backoff

    kind, _, repository = origin.place.partition(":")
    with failures_explained(origin, origin.place):
        if kind == "hf":
            info = HfApi().dataset_info(repository, revision=origin.revision)
            return str(info.sha), matching(origin, [file.rfilename for file in info.siblings or ()])
        token = os.environ.get("GITHUB_TOKEN")
        headers = {"Authorization": f"Bearer {token}"} if token else {}

        def answer(path: str) -> Any:
            response = http_backoff("GET", f"{GITHUB_API}/repos/{repository}/{path}", headers=headers)
            hf_raise_for_status(response)
            return response.json()

        commit = str(answer(f"commits/{origin.revision or 'HEAD'}")["sha"])
        tree = answer(f"git/trees/{commit}?recursive=1")["tree"]
        return commit, matching(origin, [entry["path"] for entry in tree if entry["type"] == "blob"])


@contextmanager
def failures_explained(origin: Origin, address: str) -> Iterator[None]:
    """Context manager: a request that failed for good becomes a DataError with the way out."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # its HTTP client, httpx or httpx2

    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        problem = f"is not there ({status}); the publisher may have moved it: look there with a browser"
        if status in (401, 403, 429):
            kind, _, repository = origin.place.partition(":")
            terms = origin.terms or f"https://huggingface.co/datasets/{repository}"
            ways = {
                "github": "GitHub answers strangers 60 times an hour: wait, or set GITHUB_TOKEN to a valid token",
                "hf": f"accept the terms at {terms} with your account, make a read token at "
                "https://huggingface.co/settings/tokens, set HF_TOKEN to it and run again",
            }
            problem = f"access is refused ({status}); {ways.get(kind, 'look there with a browser')}"
        elif status >= 500:
            problem = f"the server answered {status}; try later"
    except (httpx.HTTPError, ConnectionError) as error:  # the latter where HF_HUB_OFFLINE is set
        problem = f"cannot be reached ({type(error).__name__}); fetch it on a machine with internet"
    except (KeyError, TypeError, ValueError):  # a web page, or other JSON
        problem = "does not answer as it should; is a proxy between? Try later"
    else:
        return
    raise DataError(f"{address}: {problem}, {BY_HAND}")


def file_address(origin: Origin, revision: str | None, path: str) -> tuple[str, dict[str, str]]:
    """The URL of one file, and the headers to ask with."""
    from huggingface_hub import constants
    from huggingface_hub.utils._headers import build_hf_headers

    kind, _, repository = origin.place.partition(":")
    if kind == "hf":
        url = f"{constants.ENDPOINT}/datasets/{repository}/resolve/{revision}/{quote(path)}"
        return url, build_hf_headers()
    # Without token: GitHub's raw host answers 404 to a token that has expired, and public files need none.
    folder = f"{GITHUB_RAW}/{repository}/{revision}" if kind == "github" else origin.place.rstrip("/")
    return f"{folder}/{quote(path)}", {}


def without_secrets(url: str) -> str:
    """An address for people and records: without user and password (of HF_ENDPOINT) and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def matching(origin: Origin, there: Sequence[str]) -> tuple[str, ...]:
    """The paths that the origin's files name, each once. `*` matches any characters, `/` among them."""
    wanted: dict[str, None] = {}
    for file in origin.files:
        paths = sorted(path for path in there if fnmatchcase(path, file))
        if not paths:
            listed = ", ".join(there[:N_SHOWN]) or "none"
            raise DataError(f"{origin.place}: holds no file '{file}'; there are {listed}. Look where it is, {BY_HAND}")
        wanted.update(dict.fromkeys(paths))
    return tuple(wanted)


def with_file(record: SourceRecord, origin: Origin, folder: Path, path: str) -> SourceRecord:
    """The record, with one file more when that was not whole: fetched, checked, noted, and only then given its name.

    Raises DataError when a pin differs, or the publisher now gives another file than the one fetched earlier.
    """
    from huggingface_hub.file_download import http_get

    target = folder / PurePosixPath(path).name
    before = next((file for file in record.files if file.path == path), None)
    pin = origin.sha256.get(target.name)
    if before and target.is_file() and sha256_of(target) == before.sha256:
        check_sha256(str(target), before.sha256, pin)
        return record
    if before is None and target.exists():
        raise DataError(f"{target}: was not fetched by Evenhand; move it away, or give --raw to use it as it is")
    url, headers = file_address(origin, record.revision, path)
    address = without_secrets(url)
    with whole_file(target) as partial:
        with failures_explained(origin, address), partial.open("w+b") as opened:
            every_header = {**headers, "Accept-Encoding": "identity"}
            http_get(url, opened, headers=every_header, displayed_filename=target.name)  # continues a broken connection
            opened.seek(0)
            if opened.read(200).lstrip().lower().startswith((b"<!doctype html", b"<html")):
                raise ValueError("a web page, of a login say")
        sha256 = sha256_of(partial)
        check_sha256(address, sha256, pin or (before.sha256 if before else None))
        file = SourceFile(
            name=target.name,
            path=path,
            n_bytes=partial.stat().st_size,
            sha256=sha256,
            checksum=PINNED if pin else RECORDED,
            url=address,
            revision=record.revision,
            fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        # Noted before it is named, so that a process killed in between leaves no file that nobody knows.
        files = {f.path: f for f in (*record.files, file)}
        record = replace(record, files=tuple(files[p] for p in record.paths if p in files))
        write_json(folder / RECORD_FILE, asdict(record))
    say(f"{folder.name}: {file.name}, {file.n_bytes:,} bytes, SHA-256 {file.checksum}", sys.stderr)
    return record


def check_sha256(where: str, sha256: str, expected: str | None) -> None:
    """Raises DataError for a file whose checksum is not the one expected, if there is one."""
    if expected not in (None, sha256):
        raise DataError(
            f"{where}: has the SHA-256 {sha256}, expected {expected}: it is damaged, or the publisher has changed it. "
            "Fetch it again, into a new folder; --any-revision takes another release than the benchmark's"
        )


def by_hand(path: Path, name: str, checksum: str = RECORDED) -> SourceFile:
    """A file that a user has put somewhere. name: in its folder."""
    n_bytes, sha256 = path.stat().st_size, sha256_of(path)
    return SourceFile(name=name, path=name, n_bytes=n_bytes, sha256=sha256, checksum=checksum)


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
        pin = origin.sha256.get(path.name)
        file = by_hand(path, path.relative_to(folder).as_posix(), PINNED if pin else RECORDED)
        check_sha256(str(path), file.sha256, pin)
        files.append(fetched.get((file.name, file.sha256), file))
    if not files:
        raise DataError(
            f"{folder}: holds no file; put those of {name} there (from {origin.place}: {', '.join(origin.files)}), "
            "or leave --raw out to fetch them"
        )
    return files


def is_source(path: Path, origin: Origin) -> bool:
    """Whether a path within a folder is one of the files that are read: as the publisher places it, or flat."""
    if any(part.startswith(".") for part in path.parts) or path.name == RECORD_FILE or path.suffix == ".partial":
        return False
    wanted = [*origin.files, *origin.also]
    if len(path.parts) == 1:
        return any(fnmatchcase(path.name, PurePosixPath(pattern).name) for pattern in wanted)
    return any(fnmatchcase(path.as_posix(), f"*{pattern.removeprefix('*')}") for pattern in wanted)

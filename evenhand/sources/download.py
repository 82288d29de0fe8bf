"""One file to disk: continued where a cut connection or a killed process left it, started anew when it has changed.

Beside `NAME.partial` lies `NAME.partial.json`, which says of which address and version its bytes are.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
from tqdm import tqdm

from evenhand.errors import DataError
from evenhand.jsonl import write_json
from evenhand.sources.http_get import Address, Connection, PassingError, answered, patiently

CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What the bytes of a partial file are a part of."""

    url: str
    tag: str | None  # the ETag, or the date of the last change; None when the server names neither
    n_bytes: int | None  # of the whole file; None when the server does not say

    @property
    def can_be_continued(self) -> bool:
        """Whether the tag tells every change of the file. A weak ETag does not."""
        return self.tag is not None and not self.tag.startswith("W/")


def partial_of(target: Path) -> Path:
    """Where the file is put together."""
    return target.with_name(f"{target.name}.partial")


def version_file(target: Path) -> Path:
    """Where it is kept what the partial file is a part of."""
    return target.with_name(f"{target.name}.partial.json")


def download(address: Address, target: Path, connection: Connection) -> Version:
    """Bring the whole file to `partial_of(target)`, synced; the caller checks it and gives it its name.

    Nothing is asked when it is there already. Raises DataError with the way out.
    """
    partial = partial_of(target)
    try:
        return patiently(lambda: attempt(address, target, connection), address, connection, lambda: size_of(partial))
    except OSError as error:
        raise DataError(
            f"{partial}: cannot be written ({error.strerror}); {size_of(partial):,} bytes are kept: free space or "
            "choose another folder; the same command continues"
        ) from None


def attempt(address: Address, target: Path, connection: Connection) -> Version:
    """Ask for what lacks, once."""
    before, n_before = kept(address, target), size_of(partial_of(target))
    headers = {}
    if before is not None and n_before:
        if before.n_bytes == n_before:
            return before
        if before.tag and before.can_be_continued:
            headers = {"Range": f"bytes={n_before}-", "If-Range": before.tag}
    with answered(address, connection, **headers) as response:
        if response.status_code == 200:
            version = started(address, target, response)
        elif before is not None and continues(response, before, n_before):
            version = before
        else:
            discard(target)
            raise PassingError("the server sent another part than was asked for")
        append(response, target, version)
    if version.n_bytes is not None and size_of(partial_of(target)) != version.n_bytes:
        raise PassingError(f"the file was cut short of its {version.n_bytes:,} bytes")
    return version


def kept(address: Address, target: Path) -> Version | None:
    """What the partial file is a part of, None when that is not known to be this address."""
    try:
        version = Version(**json.loads(version_file(target).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return version if version.url == str(address) else None


def started(address: Address, target: Path, response: httpx.Response) -> Version:
    """Throw away what there was and note what comes now, in this order: old bytes never meet a new version."""
    discard(target)
    length = response.headers.get("Content-Length", "")
    n_bytes = int(length) if length.isdecimal() else None
    version = Version(url=str(address), tag=tag_of(response.headers), n_bytes=n_bytes)
    write_json(version_file(target), asdict(version))
    return version


def continues(response: httpx.Response, before: Version, n_before: int) -> bool:
    """Whether a 206 holds the bytes behind those that are here, of the same version."""
    match = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if response.status_code != 206 or match is None or int(match[1]) != n_before:
        return False
    same_size = before.n_bytes is None or match[2] == "*" or int(match[2]) == before.n_bytes
    return same_size and tag_of(response.headers) in (before.tag, None)


def tag_of(headers: Mapping[str, str]) -> str | None:
    """What tells this version of a file from others: a strong ETag, else the date, else a weak ETag."""
    tag, date = headers.get("ETag"), headers.get("Last-Modified")
    return date if tag is None or (tag.startswith("W/") and date) else tag


def append(response: httpx.Response, target: Path, version: Version) -> None:
    """Write the body behind what is there, with a progress bar on a terminal."""
    partial = partial_of(target)
    with (
        partial.open("ab") as file,
        tqdm(
            desc=target.name,
            total=version.n_bytes,
            initial=file.tell(),
            unit="B",
            unit_scale=True,
            disable=None,  # where there is no terminal
            leave=False,
        ) as bar,
    ):
        for chunk in response.iter_raw():
            file.write(chunk)
            file.flush()  # to the system, so that a killed process loses nothing that had arrived
            bar.update(len(chunk))
        os.fsync(file.fileno())


def discard(target: Path) -> None:
    """Remove the partial file, then what was noted about it."""
    partial_of(target).unlink(missing_ok=True)
    version_file(target).unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Bytes of a file, 0 when there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0

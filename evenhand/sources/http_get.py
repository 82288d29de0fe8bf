"""One GET at a publisher: asked again with growing pauses while a failure may pass, else one error with the way out.

A file is continued where a cut connection or a killed process left it, if its address has a commit in it: what lies
there never changes. Any other is read anew. hf_hub_download would be a second way beside it, with other refusals.
"""

import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from tqdm import tqdm

from evenhand.errors import DataError

PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before a further attempt, when the last one brought nothing new
LONGEST_PAUSE = 120.0  # seconds; a server that asks for more is left alone
BY_HAND = "or get the files in another way: --raw DIR takes them from DIR/DATASET/"
# Bytes as they lie at the publisher: a file compressed on the way could be neither continued nor counted.
HEADERS = {"User-Agent": "evenhand", "Accept-Encoding": "identity"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """What to GET, and what a user does when the server refuses access."""

    url: str
    way_in: str
    token: str | None = field(default=None, repr=False)
    never_changes: bool = False  # a commit is part of it

    def __str__(self) -> str:
        return without_secrets(self.url)


@dataclass(frozen=True, slots=True)
class Connection:
    """An open client, and how to wait between attempts."""

    client: httpx.Client
    wait: Callable[[float], None]


class NotThere(DataError):
    """The address leads to nothing any more."""


class PassingError(Exception):
    """A failure that may pass; `after` is how many seconds the server asks to wait."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


@contextmanager
def connected(wait: Callable[[float], None]) -> Generator[Connection]:
    """A connection that follows redirects; httpx sends Authorization to no other host than the one asked."""
    with httpx.Client(follow_redirects=True, timeout=httpx.Timeout(60, connect=20), headers=HEADERS) as client:
        yield Connection(client, wait)


def patiently(
    attempt: Callable[[], T], address: Address, connection: Connection, n_kept: Callable[[], int] = lambda: 0
) -> T:
    """The attempt's result. It is repeated after a PassingError; one that brought new bytes starts the count anew.

    n_kept: bytes on disk so far. Raises DataError when the attempts are used up.
    """
    n_failures, most = 0, n_kept()
    while True:
        try:
            return attempt()
        except PassingError as failure:
            kept = n_kept()
            n_failures, most = (0, kept) if kept > most else (n_failures, most)
            if n_failures == len(PAUSES) or failure.after > LONGEST_PAUSE:
                wish = f" and asks to wait {failure.after:,.0f} s" if failure.after else ""
                later = f"{kept:,} bytes of it are kept, and the same command continues there" if kept else "try later"
                raise DataError(f"{address}: {failure}{wish} (attempt {n_failures + 1}); {later}, {BY_HAND}") from None
            connection.wait(max(PAUSES[n_failures], failure.after))
            n_failures += 1


@contextmanager
def answered(address: Address, connection: Connection, **headers: str) -> Generator[httpx.Response]:
    """The open response, of status 200, 206 or 416. Raises PassingError, or DataError for what will not pass."""
    if address.token:
        headers["Authorization"] = f"Bearer {address.token}"
    try:
        with connection.client.stream("GET", address.url, headers=headers) as response:
            refuse(response, address)
            yield response
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise PassingError(f"cannot be reached ({error or 'no answer'}); is this machine offline?") from None
    except httpx.RequestError as error:
        raise PassingError(f"the connection broke ({type(error).__name__})") from None


def refuse(response: httpx.Response, address: Address) -> None:
    """Raise what a response other than the file or the answer asked for means."""
    status = response.status_code
    if status in (408, 429) or status >= 500:
        after = response.headers.get("Retry-After", "")
        raise PassingError(f"the server answered {status}", float(after) if after.isdecimal() else 0.0)
    # The hub says 401 for what does not exist, too, to tell strangers nothing of private data sets.
    if status in (401, 403) and response.headers.get("X-Error-Code") != "RepoNotFound":
        raise DataError(f"{address}: access is refused ({status}); {address.way_in}, {BY_HAND}")
    if status not in (200, 206, 416):
        raise (NotThere if status in (404, 410) else DataError)(
            f"{address}: is not there ({status} {response.reason_phrase}); the publisher may have moved it: "
            f"look there with a browser, {BY_HAND}"
        )
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise DataError(
            f"{address}: a web page came in its place: a login page of your network, or the publisher has moved it; "
            f"open the address in a browser, {BY_HAND}"
        )


def ask_json(address: Address, connection: Connection) -> Any:
    """The JSON that an address answers with."""

    def attempt() -> Any:
        with answered(address, connection) as response:
            response.read()
            try:
                return response.json()
            except ValueError:
                raise DataError(f"{address}: answered with no JSON; is a proxy between? Try later, {BY_HAND}") from None

    return patiently(attempt, address, connection)


def partial_of(address: Address, target: Path) -> Path:
    """Where the file is put together; another address, and so another commit, has another place."""
    return target.with_name(f"{target.name}.{hashlib.sha256(address.url.encode()).hexdigest()[:8]}.partial")


def download(address: Address, target: Path, connection: Connection) -> str | None:
    """Bring the whole file to `partial_of(address, target)`, synced; the caller checks it and gives it its name.

    Returns its ETag or the date of its last change, if the server says. Raises DataError with the way out.
    """
    partial = partial_of(address, target)

    def n_kept() -> int:
        return partial.stat().st_size if address.never_changes and partial.exists() else 0

    try:
        return patiently(lambda: attempt(address, partial, n_kept(), connection), address, connection, n_kept)
    except OSError as error:
        kept = f"{n_kept():,} bytes are kept: " * address.never_changes
        problem = f"cannot be written ({error.strerror}); {kept}free space or choose another folder"
        raise DataError(f"{partial}: {problem}; the same command continues") from None


def attempt(address: Address, partial: Path, n_before: int, connection: Connection) -> str | None:
    """Ask once for what lacks behind the first n_before bytes; returns as `download`."""
    with answered(address, connection, **({"Range": f"bytes={n_before}-"} if n_before else {})) as response:
        is_rest = response.headers.get("Content-Range", "").startswith(f"bytes {n_before}-")
        if response.status_code != 200 and not (response.status_code == 206 and is_rest):
            partial.unlink(missing_ok=True)
            raise PassingError("the server sent another part than was asked for")
        write(response, partial, n_before if response.status_code == 206 else 0)
        tag: str | None = response.headers.get("ETag") or response.headers.get("Last-Modified")
        return tag


def write(response: httpx.Response, partial: Path, n_before: int) -> None:
    """Write the body behind the first n_before bytes, with a progress bar on a terminal."""
    length = response.headers.get("Content-Length", "")
    total = n_before + int(length) if length.isdecimal() else None
    with (
        partial.open("ab" if n_before else "wb") as file,
        # disable=None: hidden where there is no terminal.
        tqdm(total=total, initial=n_before, unit="B", unit_scale=True, disable=None, leave=False) as bar,
    ):
        for chunk in response.iter_raw():
            file.write(chunk)
            file.flush()  # to the system, so that a killed process loses nothing that had arrived
            bar.update(len(chunk))
        os.fsync(file.fileno())
        if total is not None and file.tell() != total:
            raise PassingError(f"the file was cut short of its {total:,} bytes")


def without_secrets(url: str) -> str:
    """An address for people and records: without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

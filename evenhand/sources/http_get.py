"""One GET at a publisher: asked again with growing pauses while a failure may pass, else one error with the way out.

A file is continued where a cut connection or a killed process left it, if its address has a commit in it: what lies
there never changes. Any other is read anew.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from tqdm import tqdm

from evenhand.errors import DataError, one_line

PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before a further attempt, when the last one brought nothing new
LONGEST_PAUSE = 120.0  # seconds, whatever the server asks for
BY_HAND = "or get the files in another way: --raw DIR takes them from DIR/DATASET/"
# Bytes as they lie at the publisher: a file compressed on the way could not be continued.
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


class PassingError(Exception):
    """A failure that may pass; `after` is how many seconds the server asks to wait."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True, slots=True)
class Connection:
    """An open client, and how to wait between attempts."""

    client: httpx.Client
    wait: Callable[[float], None]

    def patiently(self, attempt: Callable[[], T], address: Address, n_kept: Callable[[], int] = lambda: 0) -> T:
        """The attempt's result. It is repeated after what may pass; one that brought new bytes starts the count anew.

        n_kept: bytes on disk so far. Raises DataError when the attempts are used up.
        """
        n_failures, most = 0, n_kept()
        while True:
            try:
                return attempt()
            except (PassingError, httpx.RequestError) as error:
                kept = n_kept()
                n_failures, most = (0, kept) if kept > most else (n_failures, most)
                if n_failures == len(PAUSES):
                    later = f"{kept:,} bytes are kept, and the same command continues there" if kept else "try later"
                    raise DataError(
                        f"{address}: {len(PAUSES) + 1} attempts failed ({one_line(error)}); is this machine offline? "
                        f"Otherwise {later}, {BY_HAND}"
                    ) from None
                self.wait(max(PAUSES[n_failures], min(getattr(error, "after", 0.0), LONGEST_PAUSE)))
                n_failures += 1

    @contextmanager
    def answer(self, address: Address, **headers: str) -> Iterator[httpx.Response]:
        """The open response, of status 200, 206 or 416. Raises PassingError, or DataError for what will not pass."""
        if address.token:
            headers["Authorization"] = f"Bearer {address.token}"
        with self.client.stream("GET", address.url, headers=headers) as response:
            refuse(response, address)
            yield response

    def json(self, address: Address) -> Any:
        """The JSON that an address answers with; None where it is something else."""

        def attempt() -> Any:
            with self.answer(address) as response:
                response.read()
                try:
                    return response.json()
                except ValueError:
                    return None

        return self.patiently(attempt, address)

    def download(self, address: Address, file: Path) -> None:
        """Bring the whole file, synced, or what lacks of it. Raises DataError with the way out."""

        def n_kept() -> int:
            return file.stat().st_size if address.never_changes and file.exists() else 0

        def attempt() -> None:
            n_before = n_kept()
            with self.answer(address, **({"Range": f"bytes={n_before}-"} if n_before else {})) as response:
                is_rest = response.headers.get("Content-Range", "").startswith(f"bytes {n_before}-")
                if response.status_code != 200 and not (response.status_code == 206 and is_rest):
                    file.unlink(missing_ok=True)
                    raise PassingError("the server sent another part than was asked for")
                write(response, file, n_before if response.status_code == 206 else 0)

        self.patiently(attempt, address, n_kept)


@contextmanager
def connected(wait: Callable[[float], None]) -> Iterator[Connection]:
    """A connection that follows redirects; httpx sends Authorization to no other host than the one asked."""
    with httpx.Client(follow_redirects=True, timeout=httpx.Timeout(60, connect=20), headers=HEADERS) as client:
        yield Connection(client, wait)


def refuse(response: httpx.Response, address: Address) -> None:
    """Raise what a response other than the file or the answer asked for means."""
    status = response.status_code
    if status in (408, 429) or status >= 500:
        after = response.headers.get("Retry-After", "")
        raise PassingError(f"the server answered {status}", float(after) if after.isdecimal() else 0.0)
    # The hub says 401 for what does not exist, too, to tell strangers nothing of private data sets.
    if status in (401, 403) and response.headers.get("X-Error-Code") != "RepoNotFound":
        raise DataError(f"{address}: access is refused ({status}); {address.way_in}, {BY_HAND}")
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    if is_page or status not in (200, 206, 416):
        what = "a web page came in its place" if is_page else f"is not there ({status} {response.reason_phrase})"
        raise DataError(
            f"{address}: {what}; the publisher may have moved it, or your network wants a login: open the address in a "
            f"browser, {BY_HAND}"
        )


def write(response: httpx.Response, file: Path, n_before: int) -> None:
    """Write the body behind the first n_before bytes, with a progress bar on a terminal."""
    length = response.headers.get("Content-Length", "")
    with (
        file.open("ab" if n_before else "wb") as opened,
        tqdm(
            total=n_before + int(length) if length.isdecimal() else None,
            initial=n_before,
            unit="B",
            unit_scale=True,
            disable=None,  # hidden where there is no terminal
            leave=False,
        ) as bar,
    ):
        for chunk in response.iter_raw():
            opened.write(chunk)
            opened.flush()  # to the system, so that a killed process loses nothing that had arrived
            bar.update(len(chunk))
        os.fsync(opened.fileno())


def without_secrets(url: str) -> str:
    """An address for people and records: without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

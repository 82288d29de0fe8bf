"""One file to disk, continued where a cut connection or a killed process left it.

Only an address with a commit in it is continued, since what lies there never changes; any other is read anew. pooch and
hf_hub_download were no shorter: refusals in a user's words, hashes to record and GitHub's listing would stay ours.
"""

import hashlib
import os
from pathlib import Path

import httpx
from tqdm import tqdm

from evenhand.errors import DataError
from evenhand.sources.http_get import Address, Connection, PassingError, answered, patiently


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
    hidden = None  # where there is no terminal
    with (
        partial.open("ab" if n_before else "wb") as file,
        tqdm(total=total, initial=n_before, unit="B", unit_scale=True, disable=hidden, leave=False) as bar,
    ):
        for chunk in response.iter_raw():
            file.write(chunk)
            file.flush()  # to the system, so that a killed process loses nothing that had arrived
            bar.update(len(chunk))
        os.fsync(file.fileno())
        if total is not None and file.tell() != total:
            raise PassingError(f"the file was cut short of its {total:,} bytes")

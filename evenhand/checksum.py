"""The checksum of a file."""

import hashlib
from pathlib import Path

from evenhand.errors import DataError


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex. Raises DataError when the file cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); allow it, or restore the file") from None

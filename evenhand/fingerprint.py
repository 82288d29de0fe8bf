"""Which checkpoint it is: a hash of every file that can change an answer. Weights are read once, then known again."""

import hashlib
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from evenhand.checksum import sha256_of
from evenhand.embedded import cache_dir
from evenhand.errors import DataError
from evenhand.jsonl import write_json

# Weights, configs, tokenizers and chat templates (transformers keeps several of them in a folder of their own).
PATTERNS = ("*.safetensors", "*.json", "*.jinja", "additional_chat_templates/*.jinja", "*.model", "*.tiktoken", "*.txt")
WITHOUT_EFFECT = ("DONE.json",)  # of a merge: what its check found
SHA256 = re.compile("[0-9a-f]{64}")
KEPT_FROM = 2**20  # bytes; smaller files are read faster than what is known of them


def checkpoint_hash(folder: Path) -> str:
    """16 hex digits over the names and bytes of a checkpoint folder's files.

    The first time every byte is read. What was found of large files is kept in the user's cache, by path, size and time
    of the last change.
    """
    files = sorted(files_of(folder))
    with ThreadPoolExecutor() as pool:  # hashing leaves Python's lock
        hashes = list(pool.map(file_hash, files))
    total = hashlib.sha256()
    for file, found in zip(files, hashes, strict=True):
        total.update(f"{file.relative_to(folder).as_posix()} {found}\n".encode())
    return total.hexdigest()[:16]


def checked_hash(folder: Path, recorded: object, remedy: str) -> str:
    """The same. Raises DataError where it is not the one recorded when the files were written; None: there is none."""
    found = checkpoint_hash(folder)
    if recorded not in (None, found):
        raise DataError(
            f"{folder}: its files have changed since they were written (hash {recorded} then, {found} now); {remedy}"
        )
    return found


def files_of(folder: Path) -> Iterator[Path]:
    """The files that can change an answer."""
    for pattern in PATTERNS:
        yield from (file for file in folder.glob(pattern) if file.name not in WITHOUT_EFFECT)


def file_hash(file: Path) -> str:
    """A file's SHA-256: the name of its blob in the Hub's cache, or kept from before, or computed now."""
    if file.is_symlink() and SHA256.fullmatch(blob := file.readlink().name):
        return blob
    facts = file.stat()
    if facts.st_size < KEPT_FROM:
        return sha256_of(file)
    place = str(file.resolve())
    state = [place, facts.st_size, facts.st_mtime_ns, facts.st_ino]
    kept = cache_dir() / "hashes" / f"{hashlib.sha256(place.encode()).hexdigest()[:32]}.json"
    with suppress(OSError, ValueError):
        known = json.loads(kept.read_text(encoding="utf-8"))
        if known["state"] == state:
            return str(known["sha256"])
    found = sha256_of(file)
    with suppress(DataError):  # a cache that cannot be written only costs time
        write_json(kept, {"state": state, "sha256": found})
    return found

"""Files that appear whole or not at all, JSON lines whose damaged line is named, and checksums."""

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from evenhand.errors import DataError

as_line = json.JSONEncoder(ensure_ascii=False).encode  # a record as a line; json.dumps makes an encoder for each
FORGOTTEN_S = 86_400  # nobody writes one file for a day: a half-written one that old was left by a killed process


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex. Raises DataError when the file cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); allow it, or restore the file") from None


def shipped_yaml(path: Path) -> Any:
    """The value that a YAML file of the package stands for."""
    # libyaml's, ten times as fast, where PyYAML was built with it.
    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) for each line. Raises DataError naming file and line of the first bad one."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from parse_lines(file, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 at byte {error.start}; save it as UTF-8 or fetch it again") from None


def parse_lines(lines: Iterable[str], path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of JSON lines from anywhere; `path` heads the error message."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = f"is no JSON object ({getattr(error, 'msg', error)}); the file is damaged: restore it"
            raise DataError(f"{path}:{number}: {problem}") from None
        if not isinstance(record, dict):
            raise DataError(f"{path}:{number}: is a JSON {type(record).__name__}, not an object; the file is damaged")
        yield number, record


@contextmanager
def whole_file(path: Path, *, replaces: bool = True) -> Iterator[Path]:
    """Context manager: a name beside `path` to write, which is moved there at the end, synced: all of it or nothing.

    Raises DataError when it cannot be written, and where it replaces none FileExistsError for one that is there.
    """
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drop_left_over(path.parent)
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
            written = os.fstat(file.fileno())
        try:
            if replaces:
                partial.replace(path)
            else:
                path.hardlink_to(partial)
        except FileNotFoundError:  # NFS asks again when the server's answer was lost, and it has been moved by then
            if not path.exists() or not os.path.samestat(written, path.stat()):
                raise
        synchronise(path.parent)
    except OSError as error:
        if isinstance(error, FileExistsError) and path.parent.is_dir():
            raise
        problem = f"cannot be written ({error.strerror or error}); free space or choose another folder"
        raise DataError(f"{path}: {problem}") from None
    finally:  # also where what was to be written could not be made
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@cache
def drop_left_over(folder: Path) -> None:
    """Remove what killed processes left half-written, the first time that this process writes in a folder."""
    for partial in folder.glob("*.partial"):
        with suppress(OSError):  # another process was quicker
            if time.time() - partial.stat().st_mtime > FORGOTTEN_S:
                partial.unlink()


def synchronise(path: Path) -> None:
    """Make a file's content, or the renames inside a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a file so that a reader sees all of it or nothing, also after a crash.

    text: whole, or in parts that are made as they are written.
    """
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        file.writelines([text] if isinstance(text, str) else text)


def write_new(path: Path, text: str) -> bool:
    """As write_whole, but a file that is there, or that another process writes first, stays; whether it is ours."""
    if path.exists():
        return False
    try:
        with whole_file(path, replaces=False) as partial:
            partial.write_text(text, encoding="utf-8")
    except FileExistsError:
        return False
    return True


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line, written whole."""
    write_whole(path, (as_line(record) + "\n" for record in records))


def write_json(path: Path, content: object) -> None:
    """Indented JSON, written whole."""
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

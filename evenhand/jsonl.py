"""JSON lines in and out: every damaged line is named with file and line, every file appears whole or not at all."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.partials import drop_left_over, partial_of


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
        except json.JSONDecodeError as error:
            problem = f"is no JSON object ({error.msg} at column {error.colno}); the file is damaged: restore it"
            raise DataError(f"{path}:{number}: {problem}") from None
        except (ValueError, RecursionError) as error:  # a number of thousands of digits; thousands of open brackets
            raise DataError(f"{path}:{number}: is no JSON that can be read ({error}); restore the file") from None
        if not isinstance(record, dict):
            raise DataError(f"{path}:{number}: is a JSON {type(record).__name__}, not an object; the file is damaged")
        yield number, record


def write_whole(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file so that a reader sees all of it or nothing, also after a crash: fsync, then atomic rename.

    content: whole, or in parts that are made as they are written.
    """
    write_by(Path.replace, path, [content] if isinstance(content, str | bytes) else content)


def write_new(path: Path, text: str) -> bool:
    """As write_whole, but a file that is there, or that another process writes first, stays; whether it is ours."""
    if path.exists():
        return False
    try:
        write_by(move_to_free_name, path, [text])
    except FileExistsError:
        return False
    return True


def move_to_free_name(source: Path, target: Path) -> None:
    """Rename a file. Raises FileExistsError where there is one of the new name."""
    target.hardlink_to(source)
    source.unlink()


def write_by(move: Callable[[Path, Path], object], path: Path, parts: Iterable[str | bytes]) -> None:
    """Write a file of another name, whole, and move it. Raises DataError when it cannot be written."""
    partial, written = partial_of(path), hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drop_left_over(path.parent)
        with partial.open("wb") as file:
            for part in parts:
                content = part if isinstance(part, bytes) else part.encode()
                written.update(content)
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        move_whole(move, partial, path, written.hexdigest())
        sync_folder(path.parent)
    except OSError as error:
        if isinstance(error, FileExistsError):
            raise
        raise DataError(f"{path}: cannot be written ({error.strerror}); free space or choose another folder") from None
    finally:  # also where a part could not be made
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def move_whole(move: Callable[[Path, Path], object], partial: Path, path: Path, sha256: str) -> None:
    """Move a file that was just written. Where it has gone meanwhile, see whether it is at its place after all.

    NFS asks a server again whose answer was lost, and is told that there is no such file: it has been renamed.
    """
    try:
        move(partial, path)
    except FileNotFoundError:
        if not path.is_file() or sha256_of(path) != sha256:
            raise


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line, written whole."""
    write_whole(path, (json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def write_json(path: Path, content: object) -> None:
    """Indented JSON, written whole."""
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

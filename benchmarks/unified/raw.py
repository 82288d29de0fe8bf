"""Publishers' files, read one record at a time: JSON lines, JSON arrays, CSV; plain, in a zip or in a tar.

Whatever is wrong with a file becomes one DataError that names file and line; memory stays that of one record.
"""

import csv
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from benchmarks.errors import DataError
from benchmarks.jsonl import parse_lines
from benchmarks.unified.record import Record

AGAIN = "the file is damaged or not the publisher's: fetch it again"
LONGEST_CELL = 10_000_000  # characters; csv's own limit of 131,072 is under what essays take


def json_records(path: Path) -> Iterator[Record]:
    """The objects of a file of JSON lines, or of one JSON array (told apart by its first character)."""
    with opened(path) as file:
        first = file.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        file.seek(0)
        yield from array_records(file, str(path)) if first == b"[" else line_records(file, str(path))


def line_records(file: Iterable[bytes], name: str) -> Iterator[Record]:
    """The objects of JSON lines. Index 0 is line 1: blank lines, which would shift the ids, are refused."""
    count = 0
    for number, values in parse_lines(decoded(file, name), name):
        if number != count + 1:
            raise DataError(f"{name}:{count + 1}: is blank, so the ids behind it would shift; {AGAIN}")
        yield Record(values, f"{name}:{number}", count)
        count = number
    if not count:
        raise DataError(f"{name}: holds no record; {AGAIN}")


def array_records(file: IO[bytes], name: str) -> Iterator[Record]:
    """The objects of one JSON array, without holding the array."""
    import ijson

    index = -1
    try:
        for index, values in enumerate(ijson.items(file, "item", use_float=True)):
            where = f"{name}: element {index + 1}"
            if not isinstance(values, dict):
                raise DataError(f"{where} is a JSON {type(values).__name__}, not an object; {AGAIN}")
            yield Record(values, where, index)
    except (ijson.JSONError, UnicodeDecodeError, OverflowError) as error:
        problem = " ".join(str(error).split())[:120]
        raise DataError(f"{name}: is damaged behind element {index + 1} ({problem}); {AGAIN}") from None
    if index < 0:
        raise DataError(f"{name}: holds no record; {AGAIN}")


def csv_records(file: Iterable[bytes], name: str, columns: Iterable[str]) -> Iterator[Record]:
    """The rows of a CSV file with a header that must hold `columns`. A cell may hold newlines."""
    csv.field_size_limit(LONGEST_CELL)
    rows = csv.reader(decoded(file, name), strict=True)
    try:
        header = next(rows, [])
        for column in columns:
            Record(dict.fromkeys(header), f"{name}:1", 0).get(column)
        start = rows.line_num + 1
        for index, row in enumerate(rows):
            if len(row) != len(header):
                raise DataError(f"{name}:{start}: row has {len(row)} columns, the header {len(header)}; {AGAIN}")
            yield Record(dict(zip(header, row, strict=True)), f"{name}:{start}", index)
            start = rows.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name}:{rows.line_num}: is no CSV ({error}); {AGAIN}") from None


def decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines as text. Raises DataError naming the first line that is not UTF-8."""
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = f"0x{line[error.start]:02x} at byte {error.start + 1}"
            raise DataError(
                f"{name}:{number}: is not UTF-8 ({byte} of the line): encodings are mixed; {AGAIN}"
            ) from None


@contextmanager
def opened(path: Path) -> Generator[IO[bytes]]:
    """A file for reading, or a DataError that says why not."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); put the publisher's file there") from None
    with file:
        yield file


def zip_member(path: Path, wanted: str, password: bytes | None = None) -> Iterator[bytes]:
    """The lines of the one member of a zip whose name matches `wanted`. Nothing is unpacked to disk."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = only_match(path, archive.namelist(), wanted)
            with archive.open(name, pwd=password) as member:
                yield from member
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise DataError(f"{path}: is no whole zip ({reason(error)}); {AGAIN}") from None


def tar_member(path: Path, wanted: str) -> Iterator[bytes]:
    """The lines of the one regular member of a tar (compressed or not) whose name matches `wanted`."""
    try:
        with tarfile.open(path) as archive:
            members = {member.name: member for member in archive if not member.isdir()}
            chosen = members[only_match(path, list(members), wanted)]
            file = archive.extractfile(chosen) if chosen.isfile() else None
            if file is None:
                raise DataError(f"{path}!{chosen.name}: is a link or a device, not a file; {AGAIN}")
            yield from file
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise DataError(f"{path}: is no whole archive ({reason(error)}); {AGAIN}") from None


def only_match(path: Path, names: list[str], wanted: str) -> str:
    """The one name that matches. A name that leads out of the archive's folder spoils the whole archive."""
    for name in names:
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in name.partition("/")[0]:
            raise DataError(f"{path}: member '{name}' lies outside the archive's folder; do not use this file")
    found = [name for name in names if PurePosixPath(name).match(wanted) and not name.startswith("__MACOSX")]
    if len(found) != 1:
        inside = ", ".join(names[:5]) or "nothing"
        raise DataError(f"{path}: holds {len(found)} files like {wanted}, expected 1 (inside: {inside}); {AGAIN}")
    return found[0]


def reason(error: Exception) -> str:
    """An archive library's complaint on one line."""
    return " ".join(str(error).split())[:120] or type(error).__name__


def first_present(folder: Path, *names: str) -> Path:
    """The first of several files that exists. Raises DataError naming them all."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder}: holds no {' or '.join(names)}; fetch it with `evenhand build unified`, or put it there")


def options(record: Record, name: str, keys: Iterable[str]) -> dict[str, str]:
    """The named answer options of a record, each a text as it stands."""
    values = record.mapping(name)
    texts: dict[str, str] = {}
    for key in keys:
        if key not in values:
            raise record.error(f"{name}.{key}", "is absent; is this the right file?")
        texts[key] = record.checked_text(f"{name}.{key}", values[key])
    return texts


def plain(value: Any) -> Any:
    """A number or text as it is, None for anything else."""
    return value if isinstance(value, (str, int, float)) else None

"""Publishers' files, read one record at a time: JSON lines, JSON arrays and CSV.

Whatever is wrong with a file becomes one DataError that names file and line; nothing is unpacked to disk, and memory
stays that of one record, but for JSON arrays.
"""

import csv
import json
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, dropwhile
from pathlib import Path
from typing import IO

from evenhand.errors import DataError
from evenhand.files import parse_lines
from evenhand.sources.record_fields import Record, shown

LONGEST = 1 << 24  # bytes of a line
AGAIN = "correct the file; a publisher's is damaged or another: fetch it again"
# What the standard library raises over damaged bytes; RuntimeError over a password or packing that it does not know.
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_CELL = 10_000_000  # characters; csv's own limit of 131,072 is under what essays take


def json_records(path: Path) -> Iterator[Record]:
    """The objects of a file of JSON lines, or of one JSON array (told apart by its first character)."""
    with opened(path) as file:
        head = file.read(1024)
        start = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
        file.seek(start)
        first = head[start:].lstrip()[:1]
        if first == b"[":  # read as a whole: PlausibleQA's is the only one
            try:
                values = json.loads(file.read().decode())
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}: is not readable JSON ({reason(error)}); {AGAIN}") from None
            for index, value in enumerate(values):
                if not isinstance(value, dict):
                    problem = f"is not a JSON object, but {shown(value)}"
                    raise DataError(f"{path}: element {index + 1}: {problem}; {AGAIN}")
                yield Record(value, f"{path}: element {index + 1}", index)
            if not values:
                raise DataError(f"{path}: holds no record; {AGAIN}")
        elif first in (b"{", b""):
            yield from line_records(file, str(path))
        else:
            raise DataError(f"{path}:1: begins with {head[:16]!r}, as no JSON in UTF-8 does; is this the right file?")


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


def csv_records(file: Iterable[bytes], name: str, columns: Iterable[str]) -> Iterator[Record]:
    """The rows of a CSV file with a header that must hold `columns`. A cell may hold newlines."""
    rows, index = csv_cells(file, name), -1
    _, header = next(rows, (1, []))
    for column in columns:
        Record(dict.fromkeys(header), f"{name}:1", 0).get(column)
    for index, (line, cells) in enumerate(rows):
        yield Record(dict(zip(header, cells, strict=True)), f"{name}:{line}", index)
    if index < 0:
        raise DataError(f"{name}: holds no row; {AGAIN}")


def csv_cells(file: Iterable[bytes], name: str) -> Iterator[tuple[int, list[str]]]:
    """(line that it starts on, cells) of the header and each row; those without any text are skipped.

    Cells are separated by what is most frequent in the header: comma, semicolon or tab.
    """
    csv.field_size_limit(LONGEST_CELL)
    start, width = 1, 0
    lines = dropwhile(lambda line: not line[1].strip(), enumerate(decoded(file, name)))
    n_blank, head = next(lines, (0, ""))
    unquoted = re.sub('"[^"]*"', "", head)
    rows = csv.reader(
        chain([head], (line for _, line in lines)), strict=True, delimiter=max(",;\t", key=unquoted.count)
    )
    try:
        start = n_blank + 1
        for cells in rows:
            if any(map(str.strip, cells)):
                width = width or len(cells)
                if len(cells) != width:
                    counts = f"row has {len(cells)} columns, the header {width}"
                    raise DataError(f"{name}:{start}: {counts}; quote cells that hold commas or newlines")
                yield start, cells
            start = n_blank + rows.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name}:{start}: is not a CSV row ({error}); {AGAIN}") from None


def decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines as text. Raises DataError naming the first line that is not UTF-8."""
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = f"0x{line[error.start]:02x} at byte {error.start + 1}"
            raise DataError(
                f"{name}:{number}: is not UTF-8 ({byte} of the line); save it as UTF-8, or {AGAIN}"
            ) from None


@contextmanager
def opened(path: Path) -> Generator[IO[bytes]]:
    """A file for reading, or a DataError that says why not."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        place = "" if path.is_absolute() else f"; it was looked for in {Path.cwd()}"
        raise DataError(f"{path}: cannot be read ({error.strerror}{place}); is the path right?") from None


def limited_lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """A member's lines. Raises DataError for one that is too long: kilobytes may unpack to a line of gigabytes."""
    while line := file.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise DataError(f"{name}: holds a line of more than {LONGEST / 2**20:.0f} MiB; {AGAIN}")
        yield line


def reason(error: Exception) -> str:
    """A library's complaint on one line, printable anywhere."""
    return ascii(" ".join(str(error).split())[:120])[1:-1] or type(error).__name__

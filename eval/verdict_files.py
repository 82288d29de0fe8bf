"""Verdict files → batches of columns: JSON lines and CSV, plain or gzipped, and parquet.

Memory is that of one batch. Whatever is wrong with a file becomes one DataError that names the file and, where there is
one, the line. pandas reads in chunks too, but makes one NaN of null, NaN and an absent field, fills rows that are too
short, takes the last of two fields of one name, and does not say on which line a row starts.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

from eval.verdict_file_names import kind_of
from evenhand.errors import DataError
from evenhand.sources.record_fields import shown

BATCH_ROWS = 8192
LONGEST_CELL = 10_000_000  # characters; csv's own limit of 131,072 is under what a looping model writes


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns that a study's files of verdicts have; others are ignored."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    choice: str = ""  # where there is a column of verdicts as they were read, and
    response: str = ""  # one of replies to be read: a row has one of the two

    @property
    def columns(self) -> tuple[str, ...]:
        """All that have a meaning."""
        return (*self.required, *self.optional)


class Absent(Enum):
    """What stands for a field that a row does not have, which is not the same as null."""

    FIELD = "absent"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a file. A column that the file lacks is not in `columns`; all others are as long as `lines`."""

    path: Path
    columns: Mapping[str, list[Any]]
    lines: list[int]  # where each row starts, from 1; for parquet the number of the row
    ignored: frozenset[str]  # columns that nothing is done with

    def column(self, name: str) -> list[Any]:
        """A column's values; absent ones where the file lacks it."""
        return self.columns[name] if name in self.columns else [Absent.FIELD] * len(self.lines)

    def where(self, row: int) -> str:
        """File and line of a row, for a person."""
        return place(self.path, self.lines[row])


def place(path: Path, line: int) -> str:
    """File and line, or row where a file has no lines."""
    return f"{path}: row {line}" if path.suffix.lower() == ".parquet" else f"{path}:{line}"


def read_batches(path: Path, layout: Layout) -> Iterator[Batch]:
    """The rows of a verdict file in order. Raises DataError when it holds none."""
    is_empty = True
    for batch in READERS[kind_of(path)](path, layout):
        is_empty = False
        yield batch
    if is_empty:
        raise DataError(f"{path}: holds no verdict; is this the right file?")


def column_names(path: Path) -> frozenset[str]:
    """The columns of a file, of JSON lines the fields of the first; none of one that cannot be read."""
    try:
        if kind_of(path) == ".csv":
            return frozenset(next(csv_rows(path), (1, []))[1])
        if kind_of(path) == ".parquet":
            batch = next(parquet_batches(path, Layout(required=(), optional=())), None)
            return frozenset() if batch is None else batch.ignored
        found = next(((n, text) for n, text in text_lines(path) if text.strip()), None)
        return frozenset() if found is None else frozenset(json_object(json.loads, found[1], path, found[0]))
    except DataError:
        return frozenset()


def json_batches(path: Path, layout: Layout) -> Iterator[Batch]:
    """Rows of JSON lines. Each line may have other fields than the one before; blank lines are skipped."""
    decode = json.JSONDecoder(object_pairs_hook=unlike_fields).decode
    records = ((number, json_object(decode, text, path, number)) for number, text in text_lines(path) if text.strip())
    while rows := list(islice(records, BATCH_ROWS)):
        columns = {name: [record.get(name, Absent.FIELD) for _, record in rows] for name in layout.columns}
        ignored = frozenset().union(*(record for _, record in rows)).difference(layout.columns)
        yield Batch(path, columns, [number for number, _ in rows], ignored)


def json_object(decode: Callable[[str], Any], text: str, path: Path, number: int) -> dict[str, Any]:
    """The object of one line."""
    try:
        record = decode(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{number}: is no JSON object ({error.msg} at column {error.colno}); mend it") from None
    except (ValueError, RecursionError) as error:  # a field twice; a number of thousands of digits; endless brackets
        raise DataError(f"{path}:{number}: is no JSON that can be read ({error}); mend it") from None
    if not isinstance(record, dict):
        raise DataError(f"{path}:{number}: is a JSON {type(record).__name__}; write one object of named fields a line")
    return record


def unlike_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of some pairs. Raises ValueError when a field is there twice: either might be the one meant."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"field {shown(next(n for n in names if names.count(n) > 1))} is there twice")
    return fields


def csv_batches(path: Path, layout: Layout) -> Iterator[Batch]:
    """Rows of CSV with a header. A cell may hold newlines; an empty cell is null, and see `emptied`."""
    csv.field_size_limit(LONGEST_CELL)
    rows = csv_rows(path)
    _, header = next(rows, (1, []))
    refuse_columns(path, header, layout)
    ignored = frozenset(header).difference(layout.columns)
    while batch := list(islice(rows, BATCH_ROWS)):
        for line, row in batch:
            if len(row) != len(header):
                found = f"row has {len(row)} columns, the header {len(header)}"
                raise DataError(f"{path}:{line}: {found}; quote cells that hold commas or newlines")
        cells = dict(zip(header, map(list, zip(*(row for _, row in batch), strict=True)), strict=True))
        known = {name: values for name, values in cells.items() if name in layout.columns}
        yield Batch(path, emptied(known, layout), [line for line, _ in batch], ignored)


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line it starts at, cells) of each row of CSV that is not blank, the header included."""
    rows = csv.reader((text for _, text in text_lines(path)), strict=True)
    start = 1
    try:
        for row in rows:
            if row:
                yield start, row
            start = rows.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{start}: is no CSV row ({error}); mend it") from None


def emptied(columns: dict[str, list[Any]], layout: Layout) -> dict[str, list[Any]]:
    """CSV's columns with null for empty cells. Of an empty choice: absent where there is a response, else null."""
    choice, response = layout.choice, layout.response
    nulled = {name: [cell or None for cell in cells] for name, cells in columns.items() if name != response}
    if response in columns:
        nulled[response] = columns[response]
        if choice in columns:
            pairs = zip(columns[choice], columns[response], strict=True)
            nulled[choice] = [given or (Absent.FIELD if text else None) for given, text in pairs]
    return nulled


def parquet_batches(path: Path, layout: Layout) -> Iterator[Batch]:
    """Rows of a parquet table. A response is not even read where the table has choices."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            refuse_columns(path, names, layout)
            skipped = layout.response if layout.choice in names else ""
            wanted = [name for name in layout.columns if name in names and name != skipped]
            start = 1
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
                columns = {name: batch.column(name).to_pylist() for name in wanted}
                lines = list(range(start, start + batch.num_rows))
                start += batch.num_rows
                if lines:
                    yield Batch(path, columns, lines, frozenset(names).difference(layout.columns))
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = ascii(" ".join(str(error).split())[:150])[1:-1]
        raise DataError(f"{path}: is no parquet file that can be read ({reason}); write it again") from None


def refuse_columns(path: Path, names: list[str], layout: Layout) -> None:
    """Raises DataError when a table's header lacks what every row needs, or names a column twice."""
    for name in layout.required:
        if name not in names:
            few = [ascii(n)[1:-1][:40] for n in names[:20]]
            commas = " The cells of a row must be separated by commas." if len(names) == 1 else ""
            found = f"Found: {', '.join(few) or 'nothing'}."
            raise DataError(f"{place(path, 1)}: there is no column '{name}'.{commas} {found}")
    for name in layout.columns:
        if names.count(name) > 1:
            raise DataError(f"{place(path, 1)}: column '{name}' is there {names.count(name)} times; keep one")
    if layout.choice and layout.choice not in names and layout.response not in names:
        either = f"neither a column '{layout.choice}' nor a column '{layout.response}'"
        raise DataError(f"{place(path, 1)}: there is {either}")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, text with its line end) of every line. Raises DataError naming the first that is not UTF-8."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            for line in file:
                number += 1
                if b"\0" in line:
                    raise DataError(f"{path}:{number}: holds the byte NUL, so it is no UTF-8 text; save it as UTF-8")
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        found = f"0x{error.object[error.start]:02x} at byte {error.start + 1}"
        raise DataError(f"{path}:{number}: is not UTF-8 ({found} of the line); save the file as UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}:{number + 1}: the gzip data is cut off or damaged there ({error})") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


READERS: dict[str, Callable[[Path, Layout], Iterator[Batch]]] = {
    ".jsonl": json_batches,
    ".json": json_batches,
    ".csv": csv_batches,
    ".parquet": parquet_batches,
}

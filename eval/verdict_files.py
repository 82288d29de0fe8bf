"""Files of verdicts → frames of at most BATCH_ROWS rows: JSON lines and CSV, plain or gzipped, and parquet.

A study declares its columns as data; whatever is wrong with a file becomes one DataError that names file and line.
pandas' own readers are not used: they make one NaN of null, NaN and an absent field, fill rows that are too short,
take the last of two fields of one name, and do not say on which line a row starts.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eval.runs import kind_of
from evenhand.config import did_you_mean
from evenhand.errors import DataError
from evenhand.files import parse_lines
from evenhand.sources.record_fields import shown

NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
NO = {"", "false", "0", "0.0", "none", "null", "nan", "[]", "{}"}  # what stands for nothing, in lower case
BATCH_ROWS = 8192
LONGEST_CELL = 10_000_000  # characters; csv's own limit of 131,072 is under what a looping model writes
Record = tuple[int, dict[str, Any]]  # the line that a row starts on, from 1, or a parquet table's row; its fields


class Absent(Enum):
    """What stands for a field that a row does not have, which is not the same as null."""

    FIELD = "absent"


@dataclass(frozen=True, slots=True)
class Column:
    """A column with a meaning. Where `read` is None its values stay as they are in the file."""

    read: Callable[[str], str] | None = None  # text without outer spaces → what it stands for; DataError: unknown
    is_required: bool = False
    default: str | None = None  # what an empty or absent text stands for; None: it must not be empty
    is_list: bool = False  # whether it may be a list of texts, which counts as one text with "|" between them


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns that a study's files of verdicts have; others are ignored."""

    columns: Mapping[str, Column]
    choice: str = ""  # where there is a column of verdicts as they were read, and
    response: str = ""  # one of replies to be read: a row has one of the two

    @property
    def required(self) -> tuple[str, ...]:
        """Those that every row has."""
        return tuple(name for name, column in self.columns.items() if column.is_required)


def one_of(known: Sequence[str], key: Callable[[str], str] = str, **others: str) -> Callable[[str], str]:
    """Reads one of some names, spelt in any way that has the same key; others: further keys → names."""
    names = {key(name): name for name in known} | others

    def read(text: str) -> str:
        if key(text) not in names:
            raise DataError(f"is {text[:40]!a}. {did_you_mean(text[:40], known)}")
        return names[key(text)]

    return read


def column_names(path: Path) -> frozenset[str]:
    """The columns of a file, of JSON lines the fields of the first; none of a file that cannot be read."""
    try:
        return frozenset(next(RECORDS[kind_of(path)](path, Layout(columns={})), (1, {}))[1])
    except DataError:
        return frozenset()


def place(path: Path, line: int) -> str:
    """File and line, or row where a file has no lines."""
    return f"{path}: row {line}" if kind_of(path) == ".parquet" else f"{path}:{line}"


def refuse(path: Path, frame: pd.DataFrame, name: str, is_bad: Iterable[bool], problem: str) -> None:
    """Raises DataError for the first bad value of a column; "{}" in the problem becomes the value."""
    for row in np.flatnonzero(np.fromiter(is_bad, np.bool_))[:1].tolist():
        problem = problem.replace("{}", shown(frame[name].iloc[row]))
        raise DataError(f"{place(path, frame.index[row])}: field '{name}' {problem}")


def read_frames(path: Path, layout: Layout) -> Iterator[tuple[pd.DataFrame, list[str]]]:
    """(rows in order, columns without a meaning). The index is the line that a row starts on; a field that a row lacks
    is Absent.FIELD. Raises DataError where the file holds no row."""
    records = RECORDS[kind_of(path)](path, layout)
    is_empty = True
    while rows := list(islice(records, BATCH_ROWS)):
        is_empty = False
        present = set[str]().union(*(record for _, record in rows))
        values = {
            name: [record.get(name, Absent.FIELD) for _, record in rows] if name in present else Absent.FIELD
            for name in layout.columns
        }
        frame = pd.DataFrame(values, [line for line, _ in rows], dtype=object)
        ignored = sorted(present.difference(layout.columns))
        for name in ignored:
            if (meant := name.strip().casefold()) in layout.columns:
                raise DataError(f"{place(path, frame.index[0])}: column {shown(name)} must be written '{meant}'")
        for name in layout.required:
            refuse(path, frame, name, frame[name] == Absent.FIELD, "is absent")
        for name, column in layout.columns.items():
            if column.read:
                frame[name] = pd.Series(texts_of(path, frame, name, column), frame.index, dtype=object)
        yield frame, ignored
    if is_empty:
        raise DataError(f"{path}: holds no verdict; is this the right file?")


def read_rows(
    paths: Sequence[Path], layout: Layout, read: Callable[[Path, pd.DataFrame], pd.DataFrame] = lambda _, frame: frame
) -> tuple[pd.DataFrame, list[str]]:
    """(the rows of some files as `read` makes them, batch by batch, with path and line; columns without a meaning)."""
    parts, ignored = list[pd.DataFrame](), dict[str, None]()
    for path in paths:
        for frame, unused in read_frames(path, layout):
            ignored |= dict.fromkeys(unused)
            parts.append(read(path, frame).assign(path=path, line=frame.index))
    return pd.concat(parts, ignore_index=True), list(ignored)


def as_text(value: Any) -> Any:
    """What a text, number or truth value is as a text, whatever format carries it: 1 and 1.0 are one, as 2.0 is where
    pandas has made fractions of whole numbers. Anything else stays what it is; NaN, null and what is absent are ""."""
    if value is None or value is Absent.FIELD or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value).strip() if isinstance(value, str | int | float) else value


def same_value(text: str) -> str:
    """What all spellings of one value have in common: " Yes" and "yes", True and "true", "1.0" and "1"."""
    text = text.strip().casefold()
    return f"{float(text):.15g}" if NUMBER.fullmatch(text) else text


def texts_of(path: Path, frame: pd.DataFrame, name: str, column: Column) -> list[str]:
    """What the texts of a column stand for."""
    values = list(map(as_text, frame[name].tolist()))
    if column.is_list:
        values = ["|".join(map(str, map(as_text, v))) if isinstance(v, list) else v for v in values]
    refuse(path, frame, name, [not isinstance(value, str) for value in values], "must be a text, found {}")
    meanings: dict[str, str] = {}
    for text in dict.fromkeys(values):
        try:
            if not text and column.default is None:
                raise DataError("is empty")
            meanings[text] = column.read(text) if text and column.read else str(column.default)
        except DataError as error:
            refuse(path, frame, name, [other == text for other in values], str(error))
    return list(map(meanings.__getitem__, values))


def json_records(path: Path, layout: Layout) -> Iterator[Record]:
    """Rows of JSON lines. Each line may have other fields than the one before; blank lines are skipped."""
    return parse_lines(text_lines(path), path)


def csv_records(path: Path, layout: Layout) -> Iterator[Record]:
    """Rows of CSV with a header. An empty cell is null, but an empty choice beside a response is absent."""
    csv.field_size_limit(LONGEST_CELL)
    rows = csv.reader(text_lines(path), strict=True)
    start = 1  # the line that a row starts on
    try:
        header = next(filter(None, rows), [])
        check_columns(path, header, layout)
        start = rows.line_num + 1
        for cells in rows:
            if cells and len(cells) != len(header):
                counts = f"row has {len(cells)} columns, the header {len(header)}"
                raise DataError(f"{path}:{start}: {counts}; quote cells that hold commas or newlines")
            record = dict(zip(header, (cell or None for cell in cells), strict=False))
            if layout.response in record:
                if record[layout.response] and not record.get(layout.choice, ""):
                    record.pop(layout.choice, None)
                record[layout.response] = record[layout.response] or ""
            if cells:  # no blank line
                yield start, record
            start = rows.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{start}: is not a CSV row ({error}); correct it") from None


def parquet_records(path: Path, layout: Layout) -> Iterator[Record]:
    """Rows of a parquet table. A response is not even read where the table has choices."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            check_columns(path, names, layout)
            skipped = layout.response if layout.choice in names else ""
            others = dict.fromkeys(name for name in names if name not in layout.columns)
            wanted = [name for name in layout.columns if name in names and name != skipped]
            batches = file.iter_batches(batch_size=BATCH_ROWS, columns=wanted)
            for row, record in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1):
                yield row, {**others, **record}
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = ascii(" ".join(str(error).split())[:150])[1:-1]
        raise DataError(f"{path}: cannot be read as parquet ({reason}); write it again") from None


def check_columns(path: Path, names: list[str], layout: Layout) -> None:
    """Raises DataError when a table's header lacks what every row needs, or names a column twice."""
    listed = ", ".join(ascii(name)[1:-1][:40] for name in names[:20]) or "nothing"
    commas = " The cells of a row must be separated by commas." if len(names) == 1 else ""
    missing = [f"'{name}'" for name in layout.required if name not in names]
    if layout.choice and layout.choice not in names and layout.response not in names:
        missing.append(f"'{layout.choice}' or '{layout.response}'")
    if missing:
        raise DataError(f"{place(path, 1)}: there is no column {missing[0]}.{commas} The header has: {listed}.")
    for name in layout.columns:
        if names.count(name) > 1:
            raise DataError(f"{place(path, 1)}: column '{name}' is there {names.count(name)} times; keep one")


def text_lines(path: Path) -> Iterator[str]:
    """Every line with its line end. Raises DataError naming the first that is not UTF-8."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x} at byte {error.start + 1}"
        raise DataError(f"{path}:{number}: is not UTF-8 ({byte} of the line); save the file as UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}:{number + 1}: the gzip data is cut off or damaged there ({error})") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


RECORDS: dict[str, Callable[[Path, Layout], Iterator[Record]]] = {
    ".jsonl": json_records,
    ".csv": csv_records,
    ".parquet": parquet_records,
}

"""Data files of users, read row by row within limits: CSV, TSV, JSON lines, JSON and parquet; text also gzipped.

Files may come from strangers, and kilobytes may unpack to gigabytes. So lines, cells and files have a largest size, and
packed bytes may become only so many.
"""

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

from evenhand.errors import DataError
from evenhand.sources.raw_files import csv_cells, decoded, limited_lines, opened, reason
from evenhand.sources.record_fields import Record, shown

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
LARGEST = 1 << 30  # bytes of a file, unpacked
ANY_RATIO = 1 << 22  # bytes to which packed ones may unpack, however few they are
MOST_RATIO = 100  # unpacked bytes for each packed one, above that; text has 3 to 30,
MOST_REPEATED = 1000  # and parquet more, which stores a text once that all rows have
MOST_VALUES = 50_000_000  # of a parquet file, with its nulls
BUFFER, BATCH_ROWS = 1 << 17, 256  # bytes of text, rows of parquet
DEEPEST = 2  # levels of a document at which rows are looked for
DECODER, BLANKS = json.JSONDecoder(), re.compile(r"\s*")


def rows(path: Path, at: str = "") -> Iterator[Record]:
    """The rows of a file in their order, each with its place. Blank ones are skipped; an empty cell of CSV is null.

    A JSON document is an array of objects, or an object keyed by id: its keys become `id` where rows have none. at: the
    key of a document that holds the rows ("results.items"). Raises DataError that names file and line, also where there
    is no row.
    """
    kind, record = kind_of(path), None
    if kind not in SUFFIXES:
        raise DataError(f"{path}: takes {', '.join(SUFFIXES)}, and all but parquet also as .gz")
    if kind in (".csv", ".tsv", ".parquet") and at:
        raise DataError(
            f"{path}: has no key '{at}', as only a JSON document has; take the tool's JSON, or leave it out"
        )
    if kind == ".parquet":
        records = parquet_rows(path)
    elif kind in (".csv", ".tsv"):
        records = csv_rows(path)
    else:
        records = document_rows(path, at) if kind == ".json" or at else line_rows(path)
    for record in records:
        yield record
    if record is None:
        raise DataError(f"{path}: holds no row; is this the right file?")


def kind_of(path: Path) -> str:
    """A file's suffix in lower case, without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


class Bounded(io.RawIOBase):
    """What is read of a file, or unpacked from n_packed bytes. Raises DataError where that becomes too much."""

    def __init__(self, file: IO[bytes], name: str, n_packed: Callable[[], int] | None = None) -> None:
        self.file, self.name, self.n_packed, self.n_bytes = file, name, n_packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        self.n_bytes += len(data)
        check_size(self.n_bytes, self.n_packed() if self.n_packed else self.n_bytes, self.name)
        return len(data)


def check_size(n_bytes: int, n_packed: int, name: str, most_ratio: int = MOST_RATIO) -> None:
    """Raises DataError where a file is too large, or more than data unpack to."""
    if n_bytes > LARGEST:
        raise DataError(f"{name}: holds more than {LARGEST >> 20} MiB; split it")
    if n_bytes > max(ANY_RATIO, most_ratio * n_packed):
        raise DataError(f"{name}: unpacks to over {most_ratio} times its size; if you trust it, unpack it yourself")


@contextmanager
def unpacked(path: Path) -> Generator[IO[bytes]]:
    """A file for reading, bounded, and unpacked where it is gzipped. Raises DataError where it cannot be read."""
    with opened(path) as file:
        if path.suffix.lower() != ".gz":
            yield io.BufferedReader(Bounded(file, str(path)), BUFFER)
            return
        try:
            yield io.BufferedReader(Bounded(gzip.GzipFile(fileobj=file), str(path), file.tell), BUFFER)  # type: ignore[arg-type]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{path}: the gzip data are cut off or damaged there ({error}); restore the file") from None


def csv_rows(path: Path) -> Iterator[Record]:
    """Rows of a table with a header, whose cells are separated by commas, semicolons or tabs."""
    with unpacked(path) as file:
        table = csv_cells(limited_lines(file, str(path)), str(path))
        line, header = next(table, (1, list[str]()))
        names = [name.strip() for name in header]
        if repeated := [name for name in names if name and names.count(name) > 1]:
            raise DataError(
                f"{path}:{line}: column '{repeated[0]}' is there {names.count(repeated[0])} times; keep one"
            )
        for index, (line, cells) in enumerate(table):
            # A column without a name is the row numbers of a data frame.
            values = {name: cell or None for name, cell in zip(names, cells, strict=True) if name}
            yield Record(values, f"{path}:{line}", index)


def line_rows(path: Path) -> Iterator[Record]:
    """Rows of JSON lines, or of a document where the first line is no whole object."""
    with unpacked(path) as file:
        index = 0
        for number, line in enumerate(decoded(limited_lines(file, str(path)), str(path)), start=1):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except (ValueError, RecursionError) as error:
                if index:
                    raise DataError(f"{path}:{number}: is no JSON object ({reason(error)}); correct it") from None
                values = None
            if not index and not isinstance(values, dict):
                break
            yield object_row(values, f"{path}:{number}", index)
            index += 1
        else:
            return
    yield from document_rows(path)


def document_rows(path: Path, at: str = "") -> Iterator[Record]:
    """Rows of a JSON document, or of several in one file, each of which is a row."""
    with unpacked(path) as file:
        text = "".join(decoded(file, str(path)))
    documents, start, line, end = list[tuple[str, Any]](), len(text) - len(text.lstrip()), 1, 0
    while start < len(text):
        line += text.count("\n", end, start)
        try:
            document, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            place = f"{path}:{getattr(error, 'lineno', line)}"
            raise DataError(f"{place}: is no JSON ({reason(error)}); correct it") from None
        documents.append((f"{path}:{line}", document))
        line += text.count("\n", start, end)
        start = BLANKS.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing, too
    if len(documents) == 1:
        documents = elements(documents[0][1], str(path), at)
    elif at:
        raise DataError(f"{path}: holds a row a line, so no key '{at}' of rows; leave `at` out")
    for index, (place, value) in enumerate(documents):
        yield object_row(value, place, index)


def elements(document: Any, name: str, at: str) -> list[tuple[str, Any]]:
    """(place, row) of each row of one document. Raises DataError that names the key where rows lie deeper."""
    for key in at.split(".") if at else ():
        if not isinstance(document, dict) or key not in document:
            keys = ", ".join(map(shown, [*document][:12])) if isinstance(document, dict) else "none"
            raise DataError(f"{name}: at: there is no key '{key}' in it; keys there: {keys}")
        document = document[key]
    if isinstance(document, list):
        return [(f"{name}: element {number}", value) for number, value in enumerate(document, start=1)]
    if not isinstance(document, dict):
        return [(f"{name}:1", document)]
    deeper = lists_in(document)
    if document and all(isinstance(value, dict) for value in document.values()) and not (deeper and len(document) == 1):
        return [(f"{name}: key {shown(key)}", {"id": key, **value}) for key, value in document.items()]
    if deeper:
        keys = " or ".join(f"`at: {key}`" for key in deeper[:5])
        raise DataError(f"{name}: its rows seem to lie deeper: say {keys}, in `items` or by score's --set")
    return [(f"{name}:1", document)]


def lists_in(document: dict[str, Any], above: str = "") -> list[str]:
    """The keys of a document, also within objects, that hold lists of objects."""
    keys = list[str]()
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            keys.append(above + key)
        elif isinstance(value, dict) and above.count(".") < DEEPEST:
            keys += lists_in(value, f"{above}{key}.")
    return keys


def object_row(value: Any, place: str, index: int) -> Record:
    """A row. Raises DataError where it is no object."""
    if not isinstance(value, dict):
        raise DataError(f"{place}: is not a JSON object, but {shown(value)}; a row is one, with a key for each column")
    return Record(value, place, index)


def parquet_rows(path: Path) -> Iterator[Record]:
    """Rows of a parquet table, a few at a time. Texts stay as codes until their row comes, since a file of kilobytes
    may hold one text a million times."""
    import pyarrow
    import pyarrow.parquet

    try:
        n_packed = path.stat().st_size
        with pyarrow.parquet.ParquetFile(path) as plain:
            facts, schema = plain.metadata, plain.schema
            columns = [facts.row_group(i).column(j) for i in range(facts.num_row_groups) for j in range(len(schema))]
            if sum(column.num_values for column in columns) > MOST_VALUES:
                raise DataError(f"{path}: holds more than {MOST_VALUES:,} values; take fewer columns or rows")
        texts = [
            column.path for column in map(schema.column, range(len(schema))) if column.physical_type == "BYTE_ARRAY"
        ]
        with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as file:
            index = n_bytes = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                n_at_once = BATCH_ROWS if batch.nbytes < LARGEST // 8 // BATCH_ROWS else 1
                parts = (batch.slice(start, n_at_once) for start in range(0, batch.num_rows, n_at_once))
                for values in chain.from_iterable(part.to_pylist() for part in parts):
                    n_bytes += sum(len(value) for value in values.values() if isinstance(value, str | bytes | list))
                    check_size(n_bytes, n_packed, str(path), MOST_REPEATED)
                    yield Record(values, f"{path}: row {index + 1}", index)
                    index += 1
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise DataError(f"{path}: cannot be read as parquet ({reason(error)}); write it again") from None

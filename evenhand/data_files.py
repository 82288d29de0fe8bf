"""Data files of users and publishers, read row by row within limits: CSV, TSV, JSON lines, JSON and parquet; text also
gzipped.

Whatever is wrong with a file becomes one DataError that names file and line. Files may come from strangers, and
kilobytes may unpack to gigabytes. So lines, cells and files have a largest size, and packed bytes may become only so
many.
"""

import csv
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, dropwhile
from pathlib import Path
from typing import IO, Any

from evenhand.errors import ConfigError, DataError, one_line, short
from evenhand.files import parse_lines
from evenhand.sources.record_fields import Record, shown

LONGEST = 1 << 24  # bytes of a line
LONGEST_CELL = 10_000_000  # characters; csv's own limit of 131,072 is under what essays take
AGAIN = "correct the file; a publisher's is damaged or another: fetch it again"
# What the standard library raises over damaged bytes; RuntimeError over a password or packing that it does not know.
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)
HUB = "hf://datasets/"
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
LARGEST = 1 << 30  # bytes of a file, unpacked
ANY_RATIO = 1 << 22  # bytes to which packed ones may unpack, however few they are
MOST_RATIO = 100  # unpacked bytes for each packed one, above that; text has 3 to 30,
MOST_REPEATED = 1000  # and parquet more, which stores a text once that all rows have
MOST_VALUES = 50_000_000  # of a parquet file, with its nulls
BUFFER, BATCH_ROWS, BATCH_BYTES = 1 << 17, 256, 1 << 24  # bytes of text, rows and bytes of parquet
DEEPEST = 2  # levels of a document at which rows are looked for
DECODER, BLANKS = json.JSONDecoder(), re.compile(r"\s*")
BEFORE_HEADER = re.compile(r"\s*|sep=.\s*", re.IGNORECASE)  # Excel's line that names the separator


def rows(path: Path, at: str = "", header: Sequence[str] = ()) -> Iterator[Record]:
    """The rows of a file in their order, each with its place. Blank ones are skipped; an empty cell of CSV is null.

    A JSON document is an array of objects, an object keyed by id, whose keys become `id` where rows have none, or what
    pandas writes by columns ({"a": {"0": ...}}) or split ({"columns": [...], "data": [[...]]}). at: the key of a
    document that holds the rows ("results.items"). header: the columns' names where the first line of a table is a row
    already. Raises DataError that names file and line, also where there is no row.
    """
    kind, record = kind_of(path), None
    is_table = kind in (".csv", ".tsv")
    if kind not in SUFFIXES:
        raise DataError(f"{path}: takes {', '.join(SUFFIXES)}, and all but parquet also as .gz")
    if at and (is_table or kind == ".parquet"):
        raise DataError(f"{path}: has no key '{at}': only a JSON document has; take the tool's JSON, or leave it out")
    if header and not is_table:
        raise DataError(f"{path}: header names the columns of CSV and TSV alone, and here rows do; leave it out")
    if kind == ".parquet":
        records = parquet_rows(path)
    elif is_table:
        records = csv_rows(path, header)
    else:
        records = document_rows(path, at) if kind == ".json" or at else line_rows(path)
    for record in records:
        yield record
    if record is None:
        raise DataError(f"{path}: holds no row; is this the right file?")


def downloaded(address: str) -> Path:
    """A file of a dataset on the Hub, kept in its cache. Raises ConfigError where it cannot be had."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        organisation, name, *path = address.removeprefix(HUB).split("/")
        name, _, revision = name.partition("@")
        file = hf_hub_download(f"{organisation}/{name}", "/".join(path), repo_type="dataset", revision=revision or None)
    except (HfHubHTTPError, ValueError, OSError) as error:
        raise ConfigError(f"{address}: cannot be fetched ({error}); write {HUB}ORGANISATION/NAME/PATH") from None
    return Path(file)


def stem_of(path: Path) -> str:
    """A file's name without its suffix, and without .gz."""
    return Path(re.sub(r"(?i)\.gz$", "", path.name)).stem


def kind_of(path: Path) -> str:
    """A file's suffix in lower case, without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


class Bounded(io.RawIOBase):
    """The content of a file, which may be packed. Raises DataError where it becomes too much."""

    def __init__(self, content: IO[bytes], packed: IO[bytes], name: str) -> None:
        self.content, self.packed, self.name, self.n_bytes = content, packed, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.content.read(len(buffer))
        buffer[: len(data)] = data
        self.n_bytes += len(data)
        check_size(self.n_bytes, self.packed.tell(), self.name)
        return len(data)


def check_size(n_bytes: int, n_packed: int, name: str, most_ratio: int = MOST_RATIO) -> None:
    """Raises DataError where a file is too large, or more than data unpack to."""
    if n_bytes > LARGEST:
        raise DataError(f"{name}: holds more than {LARGEST >> 20} MiB; split it")
    if n_bytes > max(ANY_RATIO, most_ratio * n_packed):
        raise DataError(f"{name}: unpacks to over {most_ratio} times its size; if you trust it, unpack it yourself")


@contextmanager
def opened(path: Path) -> Generator[IO[bytes]]:
    """A file for reading, or a DataError that says why not."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        place = "" if path.is_absolute() else f"; it was looked for in {Path.cwd()}"
        raise DataError(f"{path}: cannot be read ({error.strerror}{place}); is the path right?") from None


@contextmanager
def unpacked(path: Path) -> Generator[IO[bytes]]:
    """A file for reading, bounded, and unpacked where it is gzipped. Raises DataError where it cannot be read."""
    with opened(path) as file:
        try:
            content: Any = gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file
            yield io.BufferedReader(Bounded(content, file, str(path)), BUFFER)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{path}: the gzip data are cut off or damaged there ({error}); restore the file") from None


def csv_rows(path: Path, header: Sequence[str]) -> Iterator[Record]:
    """Rows of a table; an empty cell is null, and a column without a name the row numbers of a data frame."""
    with unpacked(path) as file:
        for record in csv_records(limited_lines(file, str(path)), str(path), header=header):
            values = {name: cell or None for name, cell in record.values.items() if name}
            yield Record(values, record.where, record.index)


def csv_records(
    lines: Iterable[bytes], name: str, columns: Iterable[str] = (), header: Sequence[str] = ()
) -> Iterator[Record]:
    """Rows of a table with a header that must hold `columns`, or whose header is given. Cells are texts, which may hold
    newlines; they are separated by what is most frequent in the first line: comma, semicolon or tab. A row without any
    text is skipped. Raises DataError where there is no row.
    """
    csv.field_size_limit(LONGEST_CELL)
    numbered = dropwhile(lambda line: BEFORE_HEADER.fullmatch(line[1]), enumerate(decoded(lines, name)))
    n_blank, first = next(numbered, (0, ""))
    separator = max(",;\t", key=re.sub('"[^"]*"', "", first).count)
    table = csv.reader(chain([first], (line for _, line in numbered)), strict=True, delimiter=separator)
    index, place = 0, f"{name}:{n_blank + 1}"
    names = header_of(header, place, ())
    try:
        for cells in table:
            if any(map(str.strip, cells)):
                if not names:
                    names = header_of(cells, place, columns)
                elif len(cells) != len(names):
                    counts = f"row has {len(cells)} columns, the header {len(names)}"
                    raise DataError(f"{place}: {counts}; quote cells that hold commas or newlines")
                else:
                    yield Record(dict(zip(names, cells, strict=True)), place, index)
                    index += 1
            place = f"{name}:{n_blank + table.line_num + 1}"
    except csv.Error as error:
        raise DataError(f"{place}: is not a CSV row ({error}); {AGAIN}") from None
    if not index:
        raise DataError(f"{name}: holds no row; is this the right file?")


def header_of(cells: Iterable[str], place: str, columns: Iterable[str]) -> list[str]:
    """A table's names. Raises DataError for one that is there twice, and for one of `columns` that is not there."""
    names = [cell.strip() for cell in cells]
    if repeated := [cell for cell in names if cell and names.count(cell) > 1]:
        raise DataError(f"{place}: column '{repeated[0]}' is there {names.count(repeated[0])} times; keep one")
    for column in columns:
        Record(dict.fromkeys(names), place, 0).get(column)
    return names


def line_rows(path: Path) -> Iterator[Record]:
    """Rows of JSON lines, or of a document where the first line is no whole object."""
    with unpacked(path) as file:
        first = next(filter(bytes.strip, limited_lines(file, str(path))), b"{}")
    try:
        are_lines = isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        are_lines = False
    if not are_lines:
        yield from document_rows(path)
        return
    with unpacked(path) as file:
        yield from line_records(limited_lines(file, str(path)), str(path))


def line_records(lines: Iterable[bytes], name: str) -> Iterator[Record]:
    """The objects of JSON lines; blank lines do not count."""
    for index, (number, values) in enumerate(parse_lines(decoded(lines, name), name)):
        yield Record(values, f"{name}:{number}", index)


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
            raise DataError(f"{place}: is no JSON ({short(error)}); correct it") from None
        documents.append((f"{path}:{line}", document))
        line += text.count("\n", start, end)
        start = BLANKS.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing, too
    if len(documents) == 1:
        documents = elements(documents[0][1], str(path), at)
    elif at:
        raise DataError(f"{path}: holds a row a line, so no key '{at}' of rows; leave `at` out")
    for index, (place, value) in enumerate(documents):
        if not isinstance(value, dict):
            raise DataError(f"{place}: is not a JSON object, but {shown(value)}; a row is one, with a key a column")
        yield Record(value, place, index)


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
    if {"columns", "data"} <= document.keys() <= {"columns", "data", "index"}:
        return [
            (f"{name}: data {i}", dict(zip(document["columns"], row, strict=False)))
            for i, row in enumerate(document["data"], start=1)
        ]
    columns = [[*column] if isinstance(column, dict) else [] for column in document.values()]
    if columns and columns == [[str(i) for i in range(len(columns[0]))]] * len(columns) and columns[0]:
        return [(f"{name}: key '{i}'", {key: column[i] for key, column in document.items()}) for i in columns[0]]
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


def parquet_rows(path: Path) -> Iterator[Record]:
    """Rows of a parquet table, a few at a time. Texts stay as codes until their row comes, since a file of kilobytes
    may hold one text a million times."""
    import pyarrow
    import pyarrow.parquet

    try:
        n_packed = path.stat().st_size
        facts = pyarrow.parquet.read_metadata(path)
        groups, columns = range(facts.num_row_groups), [facts.schema.column(j) for j in range(len(facts.schema))]
        chunks = [(facts.row_group(i).column(j), column) for i in groups for j, column in enumerate(columns)]
        if sum(chunk.num_values for chunk, _ in chunks) > MOST_VALUES:
            raise DataError(f"{path}: holds more than {MOST_VALUES:,} values; take fewer columns or rows")
        sizes = (max(chunk.total_uncompressed_size, chunk.num_values * column.length) for chunk, column in chunks)
        check_size(sum(sizes), n_packed, str(path), MOST_REPEATED)  # before a page is unpacked
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as file:
            index = n_bytes = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                table = batch.to_struct_array()
                n_at_once = BATCH_ROWS if n_spelt(table) < BATCH_BYTES else 1
                for part in (table[start : start + n_at_once] for start in range(0, len(table), n_at_once)):
                    n_bytes += n_spelt(part)
                    check_size(n_bytes, n_packed, str(path), MOST_REPEATED)
                    for values in part.to_pylist():
                        yield Record(values, f"{path}: row {index + 1}", index)
                        index += 1
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise DataError(f"{path}: cannot be read as parquet ({one_line(error)}); write it again") from None


def n_spelt(array: Any) -> int:
    """Bytes of a parquet array's values, each counted wherever it stands, and of the lists of them."""
    from pyarrow import compute, list_, types

    array = getattr(array, "storage", array)
    array = array.cast(list_(array.type.field(0).type)) if types.is_map(array.type) else array
    if types.is_dictionary(array.type):
        return compute.sum(compute.binary_length(array.dictionary).take(array.indices)).as_py() or 0
    if types.is_struct(array.type):
        return sum(map(n_spelt, array.flatten()))
    if types.is_nested(array.type):
        return 8 * len(array.flatten()) + n_spelt(array.flatten())
    return int(array.nbytes)


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


def limited_lines(file: IO[bytes], name: str) -> Iterator[bytes]:
    """A member's lines. Raises DataError for one that is too long: kilobytes may unpack to a line of gigabytes."""
    while line := file.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise DataError(f"{name}: holds a line of more than {LONGEST / 2**20:.0f} MiB; {AGAIN}")
        yield line

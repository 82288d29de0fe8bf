"""Items as a parquet table, written whole and read in batches: the form in which built splits lie on disk."""

import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.errors import DataError
from benchmarks.jsonl import sync_folder
from benchmarks.partials import drop_left_over, partial_of
from benchmarks.records import Item

BATCH_ROWS = 2_000
TEXT_COLUMNS = ("item_id", "benchmark", "dataset", "question", "correct_answer", "incorrect_answer")
INCORRECT_ANSWERS = "incorrect_answers"  # a column of its own in the table, a key of Item.meta in the record
STRATUM = "stratum"  # what the split was balanced by, as text; null where it was not


def write_items(path: Path, items: Iterable[Item], stratum: str | None, facts: Mapping[str, str]) -> int:
    """Write a table in one pass, whole or not at all; returns the number of rows.

    stratum: the key of Item.meta that fills the column of that name. facts: kept in the file's own metadata.
    """
    import pyarrow
    import pyarrow.parquet

    schema = table_schema().with_metadata(dict(facts))
    partial = partial_of(path)
    n_rows, rows = 0, iter(items)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drop_left_over(path.parent)
        with pyarrow.parquet.ParquetWriter(partial, schema, compression="zstd") as writer:
            while batch := list(islice(rows, BATCH_ROWS)):
                writer.write_table(pyarrow.Table.from_pylist([to_row(item, stratum) for item in batch], schema))
                n_rows += len(batch)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error}); free space or choose another folder") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return n_rows


def table_schema() -> Any:
    """The columns: seven texts, the list of all wrong answers, the stratum, and the other meta as JSON."""
    import pyarrow

    text = pyarrow.string()
    columns = [pyarrow.field(name, text, nullable=False) for name in TEXT_COLUMNS]
    more = {INCORRECT_ANSWERS: pyarrow.list_(text), "context": text, STRATUM: text, "meta": text}
    return pyarrow.schema([*columns, *(pyarrow.field(name, kind) for name, kind in more.items())])


def to_row(item: Item, stratum: str | None) -> dict[str, Any]:
    """One item as a row."""
    meta = dict(item.meta)
    wrong = meta.pop(INCORRECT_ANSWERS, None)
    return {
        **{name: getattr(item, name) for name in TEXT_COLUMNS},
        INCORRECT_ANSWERS: wrong,
        "context": item.context,
        STRATUM: None if stratum is None else str(meta[stratum]),
        "meta": json.dumps(meta, ensure_ascii=False),
    }


def read_items(path: Path) -> Iterator[Item]:
    """The items of a table in its order. Raises DataError when it is damaged or of another form."""
    for row in read_rows(path, table_schema().names):
        where = f"{path}: item '{row['item_id']}'"
        try:
            meta = json.loads(row["meta"] or "{}")
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: column 'meta' is no JSON ({error})") from None
        if not isinstance(meta, dict):
            raise DataError(f"{where}: column 'meta' holds no JSON object")
        wrong = row[INCORRECT_ANSWERS]
        if wrong is not None:
            meta[INCORRECT_ANSWERS] = wrong
        if any(row[name] is None for name in TEXT_COLUMNS) or any(text is None for text in wrong or ()):
            raise DataError(f"{where}: a column that needs a text holds none; build the table again")
        yield Item(**{name: row[name] for name in TEXT_COLUMNS}, context=row["context"], meta=meta)


def read_index(path: Path) -> dict[str, str | None]:
    """Item id → stratum, in the table's order. Raises DataError for an id that occurs twice."""
    index: dict[str, str | None] = {}
    for row in read_rows(path, ["item_id", STRATUM]):
        if row["item_id"] in index:
            raise DataError(f"{path}: item id '{row['item_id']}' occurs twice; ids must be unique")
        index[row["item_id"]] = row[STRATUM]
    return index


def read_facts(path: Path) -> dict[str, str]:
    """What `write_items` was told to keep in the file's metadata; empty when the file is not there."""
    import pyarrow.parquet

    if not path.exists():
        return {}
    with readable(path):
        found = pyarrow.parquet.read_schema(path).metadata or {}
    return {key.decode(): value.decode() for key, value in found.items()}


def read_rows(path: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a table, a batch in memory at a time."""
    import pyarrow.parquet

    with readable(path):
        file = pyarrow.parquet.ParquetFile(path)
    with file:
        there = {name: file.schema_arrow.field(name).type for name in file.schema_arrow.names}
        wanted = table_schema()
        lacking = [name for name in columns if there.get(name) != wanted.field(name).type]
        if lacking:
            raise DataError(
                f"{path}: has no {', '.join(lacking)} of the right type; `evenhand build unified` writes such tables"
            )
        batches = file.iter_batches(batch_size=BATCH_ROWS, columns=columns)
        while True:
            with readable(path):
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch.to_pylist()


@contextmanager
def readable(path: Path) -> Generator[None]:
    """Turns a damaged or absent table into a DataError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0][:150]
        raise DataError(f"{path}: is no parquet file that can be read ({reason}); build it again") from None

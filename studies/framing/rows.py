"""The items of a framing study: rows of a file of the user's, or of a dataset that another study knows."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from evenhand.config import Closed
from evenhand.errors import ConfigError, DataError
from evenhand.records import digest
from evenhand.sources.raw_files import csv_records, json_records, opened
from evenhand.sources.record_fields import LONE_SURROGATE, Record, shown
from studies.registry import STUDIES, load_part
from studies.study import drawn

HUB = "hf://datasets/"
MOST_CHARACTERS = 200_000  # of an item
KINDS = (".jsonl", ".json", ".csv", ".parquet")


class Row(NamedTuple):
    """One item: its values by column, and where it stands, for a person."""

    item_id: str
    group: str  # what lies on one side of a split as a whole, and tables are by; the id where no column is named
    dataset: str
    values: Mapping[str, Any]
    where: str


class Columns(Closed):
    """Which columns of the items are not just texts for templates."""

    id: str = "id"  # a name of the item, unique in the run
    group: str | None = None  # families: for splits, tables and training; null: each item is its own
    label: str | None = None  # the right answer's name, where the cases do not say it


class ItemSource(Closed):
    """Where items come from: one of `file` and `dataset`."""

    # JSON lines, a JSON array, CSV or parquet, on disk or as hf://datasets/ORGANISATION/NAME/PATH
    file: str | None = None
    dataset: str | None = None  # a dataset of another study: pocket, truthfulqa, ...
    root: Path | None = None  # what `evenhand build` made of it
    split: Literal["all", "train", "test"] | None = None  # null: all of a file, test of a dataset
    test_share: float = Field(default=0.3, gt=0, lt=1)  # of a file: drawn by a hash of the group
    n_items: int | None = Field(default=None, ge=1)  # the first n; null is all
    draw_seed: int | None = None  # draw the n at random instead

    @model_validator(mode="after")
    def names_one(self) -> Self:
        if (self.file is None) == (self.dataset is None):
            raise ValueError("name one of `file` and `dataset`")
        if self.file is not None and not self.file.endswith(KINDS):
            raise ValueError(f"file: takes {', '.join(KINDS)} or {HUB}ORGANISATION/NAME/PATH, and not {self.file}")
        if self.dataset is not None and self.split == "all":
            raise ValueError("split: a dataset has a test and a train split, and they are not asked together")
        if self.draw_seed is not None and self.n_items is None:
            raise ValueError("draw_seed needs n_items; set n_items, or leave it out")
        return self

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.dataset or Path(str(self.file)).stem

    @property
    def is_train(self) -> bool:
        """Whether it is what may be trained on."""
        return self.split == "train"


def load_rows(source: ItemSource, columns: Columns) -> list[Row]:
    """The items of a source in their order. Raises DataError that names file and line."""
    rows = [row_of(record, source, columns) for record in records_of(source)]
    if source.file is not None and source.split in ("train", "test"):
        rows = [row for row in rows if (place(row.group) < source.test_share) == (source.split == "test")]
    where, n = f"{source.file or source.dataset} ({source.split or 'all'})", source.n_items
    if not rows:
        raise DataError(f"{where}: no items")
    if n is not None and len(rows) < n:
        raise DataError(f"{where}: n_items is {n}, but there are {len(rows)}")
    return rows[:n] if n is None or source.draw_seed is None else drawn(rows, n, f"{source.name} {source.draw_seed}")


def place(group: str) -> float:
    """A number from 0 to 1 that is a group's own, whatever else is in the file."""
    return int(digest(group, 16), 16) / 16**16


def row_of(record: Record, source: ItemSource, columns: Columns) -> Row:
    """A record as an item. Raises DataError where it has no id, or is longer than any judge reads."""
    content = json.dumps(dict(record.values), ensure_ascii=False, default=str)  # a date counts as its text
    if len(content) > MOST_CHARACTERS:
        raise DataError(f"{record.where}: has {len(content):,} characters, and an item at most {MOST_CHARACTERS:,}")
    if LONE_SURROGATE.search(content):
        raise DataError(f"{record.where}: holds half a surrogate pair, which no file takes; repair the item's text")
    item_id = named(record, columns.id)
    group = item_id if columns.group is None else named(record, columns.group)
    values = {name: value for name, value in json.loads(content).items() if value is not None}
    dataset = str(values.get("dataset", source.name)) if source.dataset else source.name
    return Row(item_id, group, dataset, values, record.where)


def named(record: Record, column: str) -> str:
    """A column's value as a name."""
    value = record.get(column)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise record.error(column, f"must be a name or a whole number, found {shown(value)}")
    return record.checked_text(column, str(value).strip())


def records_of(source: ItemSource) -> Iterator[Record]:
    """The records of a source, with their places."""
    if source.dataset is not None:
        known = [(key, study.items) for key, study in STUDIES.items() if study.items]
        keys = {"dataset": source.dataset, "split": source.split or "test", "root": source.root}
        for key, where in known:
            for index, values in enumerate(load_part(key, where)(keys)):
                yield Record(values, f"{source.dataset} item {index + 1}", index)
        return
    path = downloaded(source.file) if str(source.file).startswith(HUB) else Path(str(source.file))
    if path.suffix == ".csv":
        with opened(path) as file:
            for record in csv_records(file, str(path), ()):
                values = {name: cell if cell != "" else None for name, cell in record.values.items()}
                yield Record(values, record.where, record.index)
    elif path.suffix == ".parquet":
        yield from table_records(path)
    else:
        yield from json_records(path)


def table_records(path: Path) -> Iterator[Record]:
    """The rows of a parquet table."""
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"{path}: cannot be read as parquet ({error})") from None
    for index, values in enumerate(table.to_pylist()):
        yield Record(values, f"{path}: row {index + 1}", index)


def downloaded(address: str | None) -> Path:
    """A file of a dataset on the Hub, kept in its cache. Raises ConfigError where it cannot be had."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    organisation, name, *path = str(address).removeprefix(HUB).split("/")
    name, _, revision = name.partition("@")
    try:
        file = hf_hub_download(f"{organisation}/{name}", "/".join(path), repo_type="dataset", revision=revision or None)
    except (HfHubHTTPError, ValueError, OSError) as error:
        raise ConfigError(f"{address}: cannot be fetched ({error}); write {HUB}ORGANISATION/NAME/PATH") from None
    return Path(file)

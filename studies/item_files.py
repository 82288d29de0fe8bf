"""Where the items of a study come from: a file of the user's, read and split here, or a dataset that a study knows."""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, model_validator

from evenhand.config import CONFIGS, Closed, is_empty, is_none
from evenhand.data_files import HUB, SUFFIXES, downloaded, kind_of, rows
from evenhand.errors import DataError
from evenhand.records import digest
from evenhand.sources.record_fields import LONE_SURROGATE, Record, shown

Item = TypeVar("Item")
TEST_SHARE = 0.3


class ItemSource(Closed):
    """Where items come from: one of `file` and `dataset`."""

    # CSV, TSV, JSON lines, JSON or parquet, on disk or as hf://datasets/ORGANISATION/NAME/PATH
    file: str | None = Field(default=None, exclude_if=is_none)
    at: str = Field(default="", exclude_if=is_empty)  # of a JSON document, the key that holds the rows: results.items
    header: tuple[str, ...] = Field(default=(), exclude_if=is_empty)  # of CSV whose first line is a row: columns' names
    dataset: str | None = Field(default=None, exclude_if=is_none)  # a dataset of another study: pocket, truthfulqa ...
    split: Literal["all", "train", "test"] = "test"  # of a file `all`, unless a split is named
    # Of a file: the share of its groups that are the test split, drawn by a hash of the group
    test_share: float = Field(default=TEST_SHARE, gt=0, lt=1, exclude_if=lambda share: share == TEST_SHARE)
    root: Path | None = None  # what `evenhand build unified` made, or the authors' release; null for `pocket` and files
    n_items: int | None = Field(default=None, ge=1)  # the first n, in the split's own order; null is all
    # Draw the n at random instead: a split's own order goes stratum by stratum, so its first 20 may be of one kind.
    draw_seed: int | None = Field(default=None, exclude_if=is_none)

    @model_validator(mode="before")
    @classmethod
    def takes_a_word(cls, given: Any) -> Any:
        """A file or a dataset may be named by a word alone; of a file all is asked."""
        if isinstance(given, str):
            given = {"file" if kind_of(Path(given)) in SUFFIXES or "/" in given else "dataset": given}
        return {"split": "all", **given} if isinstance(given, dict) and given.get("file") else given

    @model_validator(mode="after")
    def names_one(self) -> Self:
        if (self.file is None) == (self.dataset is None):
            raise ValueError("name one of `file` and `dataset`")
        if self.file is not None and kind_of(Path(self.file)) not in SUFFIXES:
            raise ValueError(f"file: takes {', '.join(SUFFIXES)} or {HUB}ORGANISATION/NAME/PATH, and not {self.file}")
        if self.dataset is not None and self.split == "all":
            raise ValueError("split: a dataset has a test and a train split, and they are not asked together")
        if self.draw_seed is not None and self.n_items is None:
            raise ValueError(f"{self.name}: draw_seed needs n_items; set n_items, or leave it out")
        return self

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.dataset or Path(str(self.file)).stem

    def has(self, group: str) -> bool:
        """Whether a group is in this split: of a file by a number of its own, whatever else is in the file."""
        is_test = int(digest(group, 16), 16) / 16**16 < self.test_share
        return self.file is None or self.split == "all" or is_test == (self.split == "test")

    def chosen(self, items: Iterable[Item]) -> list[Item]:
        """The first n of a split's items, or those that are drawn. Raises DataError where there are none, or fewer."""
        n, where = self.n_items, f"{self.file or self.dataset} ({self.split})"
        kept = enough(islice(items, n if self.draw_seed is None else None), n, where, self.root)
        return kept if n is None or self.draw_seed is None else drawn(kept, n, f"{self.name} {self.draw_seed}")


def drawn(units: Sequence[Item], n: int, seed: str) -> list[Item]:
    """n of the units, drawn without replacement, in their own order."""
    chosen = random.Random(seed).sample(range(len(units)), n)
    return [units[index] for index in sorted(chosen)]


def shuffled(values: Iterable[Item], seed: str) -> list[Item]:
    """The values in an order drawn by a seed."""
    draws = random.Random(seed)
    return sorted(values, key=lambda _: draws.random())  # random() alone never changes in Python


def enough(items: Iterable[Item], n: int | None, where: str, root: Path | None, key: str = "n_items") -> list[Item]:
    """The items. Raises DataError where there are none, or fewer than n, which a config's key asks for."""
    kept = list(items)
    if not kept:
        raise DataError(f"{where}: no items" + (f"; is {root} the right folder?" if root else ""))
    if n is not None and len(kept) < n:
        raise DataError(f"{where}: {key} is {n}, but there are {len(kept)}")
    return kept


def file_records(file: str, at: str = "", header: Sequence[str] = ()) -> Iterator[Record]:
    """The items of a user's file, each with its place; see evenhand.data_files."""
    path = downloaded(file) if file.startswith(HUB) else Path(file)
    if file.startswith("configs/") and not path.exists():  # that comes with Evenhand
        path = CONFIGS.parent / file
    yield from rows(path, at, header)


def plain_record(record: Record) -> Record:
    """A record whose values are plain JSON and never null."""
    content = json.dumps(dict(record.values), ensure_ascii=False, default=str)  # a date counts as its text
    if LONE_SURROGATE.search(content):
        raise DataError(f"{record.where}: holds half a surrogate pair, which no file takes; repair the item's text")
    values = {name: value for name, value in json.loads(content).items() if value is not None}
    return Record(values, record.where, record.index)


def name_in(record: Record, column: str) -> str:
    """A column's value as a name; 1.0, as data frames write a whole number, is 1."""
    value = record.get(column)
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise record.error(column, f"must be a name or a whole number, found {shown(value)}")
    return record.checked_text(column, str(value).strip())

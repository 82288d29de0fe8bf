"""The items of a framing study: rows of a file of the user's, or of a dataset that another study knows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evenhand.config import Closed
from evenhand.item_files import ItemSource, file_records, name_in, plain_record
from evenhand.registry import STUDIES, load_part
from evenhand.sources.record_fields import Record
from evenhand.study import set_hash

FAMILIES = 4


class Row(NamedTuple):
    """One item: its values by column, and where it stands, for a person."""

    item_id: str
    group: str  # what lies on one side of a split as a whole, and tables are by; the id where no column is named
    dataset: str
    values: Mapping[str, Any]
    where: str
    cluster: str | None = None  # what is resampled together; None: the item by itself


class Columns(Closed):
    """Which columns of the items are not just texts for templates."""

    id: str = "id"  # a name of the item, unique in the run
    group: str | None = None  # families: for splits, tables and training; null: each item is its own
    # What is resampled together, such as twins; null: groups, where these are families of a few items and many
    cluster: str | None = None
    label: str | None = None  # the right answer's name, where the cases do not say it


def load_rows(source: ItemSource, columns: Columns) -> list[Row]:
    """The items of a source in their order. Raises DataError that names file and line."""
    rows = (row_of(plain_record(record), source, columns) for record in records_of(source))
    return source.chosen(row for row in rows if source.file is None or source.has(row.group))


def row_of(record: Record, source: ItemSource, columns: Columns) -> Row:
    """A record as an item. Raises DataError where it has no id."""
    item_id = name_in(record, columns.id)
    group = item_id if columns.group is None else name_in(record, columns.group)
    cluster = None if columns.cluster is None else name_in(record, columns.cluster)
    return Row(item_id, group, str(record.values.get("dataset", source.name)), record.values, record.where, cluster)


def row_hash(row: Row) -> str:
    """Over what an item says, whatever its file is called."""
    return set_hash([row.values])


def are_families(groups: Sequence[str]) -> bool:
    """Whether the groups of items are families, as twins are, and not kinds of items: at least FAMILIES times as many
    groups as there are items in one."""
    n_groups = len({*groups})
    return n_groups < len(groups) and n_groups * n_groups >= FAMILIES * len(groups)


def records_of(source: ItemSource) -> Iterator[Record]:
    """The records of a source, with their places."""
    if source.file is not None:
        yield from file_records(source.file, source.at)
        return
    keys = {"dataset": source.dataset, "split": source.split, "root": source.root}
    for key, where in [(key, study.items) for key, study in STUDIES.items() if study.items]:
        for index, values in enumerate(load_part(key, where)(keys)):
            yield Record(values, f"{source.dataset} item {index + 1}", index)

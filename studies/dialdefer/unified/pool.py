"""A dataset's pool: every item that the publisher's files give, converted once and kept as a table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from evenhand.errors import DataError
from evenhand.records import digest
from studies.dialdefer.item_table import read_facts, read_index, read_items, write_items
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset

CONVERTER_VERSION = "1"  # raise it when any converter gives other items than before: kept pools are then made anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The whole of a dataset on disk."""

    dataset: Dataset
    table: Path
    index: dict[str, str | None]  # item id → stratum, in pool order

    def items(self) -> Iterator[Item]:
        """Every item, read anew from the table."""
        return read_items(self.table)

    def chosen(self, ids: Iterable[str]) -> list[Item]:
        """The items of some ids, in the order of the ids."""
        wanted = dict.fromkeys(ids)
        found = {item.item_id: item for item in self.items() if item.item_id in wanted}
        return [found[item_id] for item_id in wanted]


def build_pool(dataset: Dataset, raw: Path, table: Path, checksums: dict[str, str]) -> Pool:
    """Convert the files in `raw`; a pool made earlier from files with the same checksums is taken as it is.

    Raises DataError naming file, line and field of the first record that is not as the publisher documents it.
    """
    facts = {"dataset": dataset.name, "made_from": digest([CONVERTER_VERSION, checksums])}
    if read_facts(table) != facts:
        progress = tqdm(
            dataset.convert(raw), desc=f"{dataset.name}: converting", total=dataset.n_total, unit=" items", disable=None
        )
        write_items(table, progress, dataset.stratum, facts)
    index = read_index(table)
    if not index:
        raise DataError(f"{raw}: holds no {dataset.name} item; fetch the files again")
    return Pool(dataset=dataset, table=table, index=index)

"""Items on disk: parquet tables, the folder that `evenhand build unified` makes of them, and what it holds out."""

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.files import whole_file
from evenhand.records import normalised
from studies.built_folder import changed_files, read_manifest
from studies.dialdefer.records import INCORRECT_ANSWERS, TEXTS, Item

ROW_GROUP = 2_000
TEXT_COLUMNS = ("item_id", "benchmark", "dataset", *TEXTS)
STRATUM = "stratum"  # what the split was balanced by, as text; null where it was not
ORDER_SEED = 42


def write_items(path: Path, items: Iterable[Item], stratum: str | None, facts: Mapping[str, str]) -> None:
    """Write a table whole or not at all.

    stratum: the key of Item.meta that fills the column of that name. facts: kept in the file's own metadata.
    """
    import pyarrow
    import pyarrow.parquet

    rows = []
    for item in items:
        meta = dict(item.meta)
        wrong = meta.pop(INCORRECT_ANSWERS, None)
        row = {name: getattr(item, name) for name in TEXT_COLUMNS}
        row |= {INCORRECT_ANSWERS: wrong, "context": item.context, "meta": json.dumps(meta, ensure_ascii=False)}
        rows.append({**row, STRATUM: None if stratum is None else str(meta[stratum])})
    table = pyarrow.Table.from_pylist(rows, table_schema().with_metadata(dict(facts)))
    with whole_file(path) as partial:
        pyarrow.parquet.write_table(table, partial, compression="zstd", row_group_size=ROW_GROUP)


def table_schema() -> Any:
    """The columns: texts, the list of all wrong answers, the stratum, and the other meta as JSON."""
    import pyarrow

    text = pyarrow.string()
    columns = [pyarrow.field(name, text, nullable=False) for name in TEXT_COLUMNS]
    more = {INCORRECT_ANSWERS: pyarrow.list_(text), "context": text, STRATUM: text, "meta": text}
    return pyarrow.schema([*columns, *(pyarrow.field(name, kind) for name, kind in more.items())])


def read_items(path: Path) -> list[Item]:
    """The items of a table in its order."""
    import pyarrow.parquet

    items = []
    for row in pyarrow.parquet.read_table(path, columns=table_schema().names).to_pylist():
        meta, wrong = json.loads(row["meta"]), row[INCORRECT_ANSWERS]
        if wrong is not None:
            meta[INCORRECT_ANSWERS] = wrong
        items.append(Item(**{name: row[name] for name in TEXT_COLUMNS}, context=row["context"], meta=meta))
    return items


def built_items(root: Path, dataset: str, split: str) -> list[Item]:
    """A split of one dataset of a built folder in its order; of `unified` that of all, train shuffled once and for all.

    So the first n training items are a sample of all datasets, the same on every machine. Raises ConfigError for a
    split that is not there, DataError for a table that is gone or not as built.
    """
    manifest, is_whole = read_manifest(root), dataset == "unified"
    wanted = {f"data/{name}/{split}.parquet" for name in (manifest["contents"] if is_whole else [dataset])}
    files = {name: sha256 for name, sha256 in manifest["files"].items() if name in wanted}
    if not files:
        raise ConfigError(f"{root}: holds no {split} split of {dataset}; its tables are {', '.join(manifest['files'])}")
    check_unchanged(root, files)
    items = [item for name in files for item in read_items(root / name)]
    if is_whole and split == "train":
        random.Random(ORDER_SEED).shuffle(items)
    return items


def check_unchanged(root: Path, files: Mapping[str, str]) -> None:
    """Raises DataError when tables of a built folder, path → checksum, are changed or gone."""
    if changed := changed_files(root, {"files": files}):
        problem = "is not as built: it was changed since, or is gone"
        raise DataError(f"{root / changed[0]}: {problem}; the same `evenhand build unified` command repairs it")


class HeldOut:
    """The test items of every dataset of a split: none may be trained on, under its own id or under another."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.ids: set[str] = set()
        self.by_text: dict[str, str] = {}
        for item in items:
            self.ids.add(item.item_id)
            if text := normalised(item.question):  # empty for r/AIO, which asks no question
                self.by_text.setdefault(text, item.item_id)

    def leak(self, item: Item) -> tuple[str, str] | None:
        """(the test item that a training item gives away, by "id" or by "text"), if any; ids are looked at first."""
        if item.item_id in self.ids:
            return item.item_id, "id"
        same = self.by_text.get(normalised(item.question))
        return (same, "text") if same else None

    def check(self, items: Iterable[Item], where: str) -> None:
        """Raises DataError naming both items of the first leak, and how many there are."""
        leaks = [(item.item_id, *leak) for item in items if (leak := self.leak(item))]
        if leaks:
            train_id, test_id, reason = leaks[0]
            same = "is the test item" if reason == "id" else "asks the same question as the test item"
            raise DataError(
                f"{where}: training item '{train_id}' {same} '{test_id}' ({len(leaks)} such in all): what is measured "
                "after training would be memory. Take it out, or build the split anew with `evenhand build unified`"
            )

"""Items on disk: parquet tables, the folder that `evenhand build unified` makes of them, and what it holds out."""

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.files import sha256_of, whole_file
from evenhand.records import normalised
from studies.built_folder import changed_files, read_manifest
from studies.dialdefer.records import INCORRECT_ANSWERS, Item

ROW_GROUP = 2_000
TEXT_COLUMNS = ("item_id", "benchmark", "dataset", "question", "correct_answer", "incorrect_answer")
STRATUM = "stratum"  # what the split was balanced by, as text; null where it was not
ORDER_SEED = 42


def table_path(root: Path, dataset: str, split: str) -> Path:
    """Where a built folder keeps a split of a dataset."""
    return root / "data" / dataset / f"{split}.parquet"


def write_items(path: Path, items: Iterable[Item], stratum: str | None, facts: Mapping[str, str]) -> int:
    """Write a table whole or not at all; returns the number of rows.

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
    return len(rows)


def table_schema() -> Any:
    """The columns: texts, the list of all wrong answers, the stratum, and the other meta as JSON."""
    import pyarrow

    text = pyarrow.string()
    columns = [pyarrow.field(name, text, nullable=False) for name in TEXT_COLUMNS]
    more = {INCORRECT_ANSWERS: pyarrow.list_(text), "context": text, STRATUM: text, "meta": text}
    return pyarrow.schema([*columns, *(pyarrow.field(name, kind) for name, kind in more.items())])


def read_items(path: Path) -> list[Item]:
    """The items of a table in its order. Raises DataError when it is damaged or of another form."""
    items = []
    for row in read_rows(path, table_schema().names):
        meta, wrong = json.loads(row["meta"]), row[INCORRECT_ANSWERS]
        if wrong is not None:
            meta[INCORRECT_ANSWERS] = wrong
        items.append(Item(**{name: row[name] for name in TEXT_COLUMNS}, context=row["context"], meta=meta))
    return items


def read_index(path: Path) -> dict[str, str | None]:
    """Item id → stratum, in the table's order. Raises DataError for an id that occurs twice."""
    index: dict[str, str | None] = {}
    for row in read_rows(path, ["item_id", STRATUM]):
        if row["item_id"] in index:
            raise DataError(f"{path}: item id '{row['item_id']}' occurs twice; fetch the publisher's files again")
        index[row["item_id"]] = row[STRATUM]
    return index


def read_rows(path: Path, columns: list[str]) -> list[dict[str, Any]]:
    """The rows of a table. Raises DataError for a damaged or absent one."""
    import pyarrow
    import pyarrow.parquet

    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path, columns=columns).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0][:150]
        raise DataError(f"{path}: is no parquet file that can be read ({reason}); build it again") from None
    return rows


def read_facts(path: Path) -> dict[str, str]:
    """What `write_items` kept in a file's metadata; empty where the file is absent or damaged."""
    import pyarrow
    import pyarrow.parquet

    try:
        facts = pyarrow.parquet.read_schema(path).metadata or {}
    except (pyarrow.ArrowException, OSError):
        return {}
    return {key.decode(): value.decode() for key, value in facts.items()}


def built_items(root: Path, dataset: str, split: str) -> list[Item]:
    """A split of one dataset of a built folder, in its order.

    Raises ConfigError for a split that is not there, DataError for a dataset that was not built or whose table is gone
    or not as built.
    """
    manifest = read_manifest(root)
    contents, path = manifest["contents"], table_path(root, dataset, split)
    if dataset not in contents:
        raise DataError(f"{root}: was built without {dataset}; it holds {', '.join(contents)}")
    if split not in ("train", "test"):
        raise ConfigError(f"{dataset}: unknown split '{split}'; a built folder has train and test")
    name = path.relative_to(root).as_posix()
    if name not in manifest["files"]:
        why = "was built with --test-only" if contents[dataset]["n_pool"] is None else "is for evaluation only"
        raise ConfigError(f"{dataset}: there is no {split} split under {root}: it {why}")
    if not path.exists() or sha256_of(path) != manifest["files"][name]:
        raise DataError(
            f"{path}: is not as built: it was changed since, or is gone. Build the folder again: the same `evenhand "
            "build unified` command repairs it"
        )
    return read_items(path)


def whole_split(root: Path, split: str) -> list[Item]:
    """A split of all datasets of a built folder: test in the datasets' order, train shuffled once and for all.

    So the first n training items are a sample of all datasets, the same on every machine.
    """
    manifest = read_manifest(root)
    tables = {name: table_path(root, name, split).relative_to(root).as_posix() for name in manifest["contents"]}
    names = [name for name, table in tables.items() if table in manifest["files"]]
    if not names:
        raise ConfigError(f"{root}: has no {split} split (built with --test-only?)")
    items = [item for name in names for item in built_items(root, name, split)]
    if split == "train":
        random.Random(ORDER_SEED).shuffle(items)
    return items


def refuse_changed_tables(root: Path) -> None:
    """Raises DataError when a built folder's tables are not those built: changed, gone, or put there since."""
    manifest = read_manifest(root)
    there = {path.relative_to(root).as_posix() for path in (root / "data").glob("*/t*.parquet")}
    if odd := sorted({*changed_files(root, manifest), *(there - manifest["files"].keys())}):
        raise DataError(
            f"{root}: {', '.join(odd[:5])} ({len(odd)} in all) is not as built: changed, gone or added by hand. "
            "Build the folder again: the same `evenhand build unified` command repairs it"
        )


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

    def refuse(self, items: Iterable[Item], where: str) -> None:
        """Raises DataError naming both items of the first leak, and how many there are."""
        leaks = [(item.item_id, *leak) for item in items if (leak := self.leak(item))]
        if leaks:
            train_id, test_id, reason = leaks[0]
            same = "is the test item" if reason == "id" else "asks the same question as the test item"
            raise DataError(
                f"{where}: training item '{train_id}' {same} '{test_id}' ({len(leaks)} such in all): what is measured "
                "after training would be memory. Build the split anew with `evenhand build unified`"
            )

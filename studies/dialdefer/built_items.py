"""A folder that `evenhand build unified` has built, as a source of items."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from evenhand.checksum import sha256_of
from evenhand.errors import ConfigError, DataError
from studies.built_folder import read_manifest
from studies.dialdefer.built_tables import table_path
from studies.dialdefer.item_table import read_items
from studies.dialdefer.leaks import HeldOut
from studies.dialdefer.records import Item

ORDER_SEED = 42
DROPPED_FILE = "dropped.jsonl"


def built_items(root: Path, dataset: str, split: str) -> Iterator[Item]:
    """A split of one dataset in its order.

    Raises ConfigError for a split that is not there, DataError for a dataset that was not built or whose table is gone
    or not as built.
    """
    manifest = read_manifest(root)
    contents = manifest["contents"]
    if dataset not in contents:
        raise DataError(f"{root}: was built without {dataset}; it holds {', '.join(contents)}")
    if split not in ("train", "test"):
        raise ConfigError(f"{dataset}: unknown split '{split}'; a built folder has train and test")
    path = table_path(root, dataset, split)
    if path.relative_to(root).as_posix() not in manifest["files"]:
        why = "was built with --test-only" if contents[dataset]["n_pool"] is None else "is for evaluation only"
        raise ConfigError(f"{dataset}: there is no {split} split under {root}: it {why}")
    if not path.exists():
        raise DataError(f"{path}: is gone; put it back, or build the folder again with `evenhand build unified`")
    if sha256_of(path) != manifest["files"][path.relative_to(root).as_posix()]["sha256"]:
        raise DataError(
            f"{path}: is not as built: it was changed since. Build the folder again: the same `evenhand build unified` "
            "command repairs it"
        )
    return read_items(path)


def whole_split(root: Path, split: str) -> Iterator[Item]:
    """A split of all datasets of a built folder: test in the datasets' order, train shuffled once and for all.

    So the first n training items are a sample of all datasets, the same on every machine.
    """
    manifest = read_manifest(root)
    tables = {name: table_path(root, name, split).relative_to(root).as_posix() for name in manifest["contents"]}
    names = [name for name, table in tables.items() if table in manifest["files"]]
    if not names:
        raise ConfigError(f"{root}: has no {split} split (built with --test-only?)")
    items = (item for name in names for item in built_items(root, name, split))
    return items if split == "test" else shuffled(items)


def shuffled(items: Iterable[Item]) -> Iterator[Item]:
    """The items in the one order of train, read when the first is asked for."""
    found = list(items)
    random.Random(ORDER_SEED).shuffle(found)
    yield from found


def held_out_of(root: Path) -> HeldOut:
    """The test items of a built folder, as they lie there."""
    return HeldOut(whole_split(root, "test"))

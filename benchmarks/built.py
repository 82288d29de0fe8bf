"""A folder that `evenhand build unified` has built, as a source of items."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.errors import ConfigError, DataError
from benchmarks.item_table import read_items
from benchmarks.records import Item

MANIFEST_FILE = "manifest.json"
FORMAT = 1  # of the built folder; raised when its tables or its manifest change
ORDER_SEED = 42


def is_built(root: Path) -> bool:
    """Whether a folder is a finished build: the manifest is written last."""
    return (root / MANIFEST_FILE).is_file()


def read_manifest(root: Path) -> dict[str, Any]:
    """The manifest of a built folder. Raises DataError when it is absent, damaged or of another format."""
    path = root / MANIFEST_FILE
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); build it with `evenhand build unified`") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path}: is not of format {FORMAT}; build the folder anew with `evenhand build unified`")
    return manifest


def table_path(root: Path, dataset: str, split: str) -> Path:
    """Where a built folder keeps a split of a dataset."""
    return root / "data" / dataset / f"{split}.parquet"


def built_items(root: Path, dataset: str, split: str) -> Iterator[Item]:
    """A split of one dataset in its order.

    Raises ConfigError for a split that is not there, DataError for a dataset that was not built or whose table is gone.
    """
    manifest = read_manifest(root)
    contents = manifest["contents"]
    if dataset not in contents:
        raise DataError(f"{root}: was built without {dataset}; it holds {', '.join(contents)}")
    if split not in ("train", "test"):
        raise ConfigError(f"{dataset}: unknown split '{split}'; a built folder has train and test")
    path = table_path(root, dataset, split)
    if str(path.relative_to(root)) not in manifest["files"]:
        why = "was built with --test-only" if contents[dataset]["n_pool"] is None else "is for evaluation only"
        raise ConfigError(f"{dataset}: there is no {split} split under {root}: it {why}")
    if not path.exists():
        raise DataError(f"{path}: is gone; put it back, or build the folder again with `evenhand build unified`")
    return read_items(path)


def whole_split(root: Path, split: str) -> Iterator[Item]:
    """A split of all datasets of a built folder: test in the datasets' order, train shuffled once and for all.

    So the first n training items are a sample of all datasets, the same on every machine.
    """
    manifest = read_manifest(root)
    tables = {name: str(table_path(root, name, split).relative_to(root)) for name in manifest["contents"]}
    names = [name for name, table in tables.items() if table in manifest["files"]]
    if not names:
        raise ConfigError(f"{root}: has no {split} split (built with --test-only?)")
    items = (item for name in names for item in built_items(root, name, split))
    if split == "test":
        return items
    shuffled = list(items)
    random.Random(ORDER_SEED).shuffle(shuffled)
    return iter(shuffled)

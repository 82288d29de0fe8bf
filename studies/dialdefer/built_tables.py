"""The parquet tables of a folder that `evenhand build unified` has built, and whether they are as built."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from studies.built_folder import read_manifest


def table_path(root: Path, dataset: str, split: str) -> Path:
    """Where a built folder keeps a split of a dataset."""
    return root / "data" / dataset / f"{split}.parquet"


def file_facts(root: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Relative path → size and checksum of the tables of some datasets, those that are there."""
    found = {}
    for path in (table_path(root, name, split) for name in names for split in ("train", "test")):
        if path.exists():
            found[path.relative_to(root).as_posix()] = {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
    return found


def refuse_changed_tables(root: Path) -> None:
    """Raises DataError when a built folder's tables are not those built: changed, gone, or put there since."""
    manifest = read_manifest(root)
    now = file_facts(root, dict.fromkeys(path.parent.name for path in (root / "data").glob("*/t*.parquet")))
    then = manifest["files"]
    odd = [path for path in sorted(now.keys() | then.keys()) if now.get(path) != then.get(path)]
    if odd:
        raise DataError(
            f"{root}: {', '.join(odd[:5])} ({len(odd)} in all) is not as built: changed, gone or added by hand. "
            "Build the folder again: the same `evenhand build unified` command repairs it"
        )

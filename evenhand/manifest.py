"""The manifest of a built folder: what was built, of what, and the checksums of its tables. Written last."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.run_directory import read_json

MANIFEST_FILE = "manifest.json"
LOCK_FILE = ".lock"  # held while a folder is built or fetched into; it stays there
FORMAT = 1  # of built folders; raised when their files or manifests change


def is_built(root: Path) -> bool:
    """Whether a folder is a finished build: the manifest is written last."""
    return (root / MANIFEST_FILE).is_file()


def read_manifest(root: Path, benchmark: str = "unified") -> dict[str, Any]:
    """The manifest of a built folder. Raises DataError when it is absent, damaged or of something else."""
    path = root / MANIFEST_FILE
    if not path.is_file():
        raise DataError(f"{root}: holds no finished build; make one with `evenhand build {benchmark}`")
    manifest = read_json(path)
    if (manifest.get("benchmark"), manifest.get("format")) != (benchmark, FORMAT):
        raise DataError(
            f"{path}: is not of `evenhand build {benchmark}`, or of another version of it; choose another folder, or "
            "remove this file and build again"
        )
    return manifest


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


def refuse_foreign(out: Path) -> None:
    """Raises DataError when a folder holds files and none of what a build begins with: README.md would be lost."""
    ours = (MANIFEST_FILE, "pool", "raw", LOCK_FILE)
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in ours):
        raise DataError(f"{out}: holds other files; choose an empty or a new folder for --out")

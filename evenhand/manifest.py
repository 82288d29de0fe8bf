"""The manifest of a built folder: what was built, of what, and the checksums of its tables. Written last."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from evenhand.errors import DataError
from evenhand.sources.source_record import sha256_of

MANIFEST_FILE = "manifest.json"
LOCK_FILE = ".lock"  # held while a folder is built or fetched into; it stays there
FORMAT = 1  # of the built folder; raised when its tables or its manifest change

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$")]
Table = Annotated[str, StringConstraints(pattern=r"^data/[a-z0-9-]+/(train|test)\.parquet$")]


class Part(BaseModel):
    """What others rely on, and nothing else: a manifest may say more."""

    model_config = ConfigDict(extra="allow", frozen=True)


class SplitPart(Part):
    kind: Literal["published", "resample"]
    seed: int
    sizes: dict[str, int]


class ContentsPart(Part):
    n_pool: int | None
    n_train: int
    n_test: int
    n_dropped: dict[str, int]
    test_differs: dict[str, list[str]]
    strata: dict[str, int]
    test_from: str
    source: list[dict[str, Any]]


class SourcePart(Part):
    name: str
    sha256: str


class FilePart(Part):
    bytes: int
    sha256: str


class Manifest(Part):
    """The shape of manifest.json."""

    format: Literal[1]
    converters: str
    datasets: list[Name]
    test_only: bool
    split: SplitPart
    sources: dict[str, list[SourcePart]]
    contents: dict[Name, ContentsPart] = Field(min_length=1)
    files: dict[Table, FilePart]

    @model_validator(mode="after")
    def tables_are_of_the_contents(self) -> "Manifest":
        unknown = {dataset_of(table) for table in self.files} - set(self.contents)
        untested = [name for name in self.contents if f"data/{name}/test.parquet" not in self.files]
        if unknown or untested:
            raise ValueError(f"contents and files do not go together: {', '.join([*sorted(unknown), *untested])}")
        return self


def dataset_of(table: str) -> str:
    """The dataset of a table's relative path."""
    return table.split("/")[1]


def is_built(root: Path) -> bool:
    """Whether a folder is a finished build: the manifest is written last."""
    return (root / MANIFEST_FILE).is_file()


def read_manifest(root: Path) -> dict[str, Any]:
    """The manifest of a built folder. Raises DataError when it is absent, damaged or of another format."""
    path = root / MANIFEST_FILE
    way_out = f"remove {path} and run the same `evenhand build unified` again"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        Manifest.model_validate(manifest)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise DataError(f"{path}: {where}: {first['msg']}; it was edited or is of another version: {way_out}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); {way_out}") from None
    return dict(manifest)


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
    there = sorted(path.parent.name for path in (root / "data").glob("*/t*.parquet"))
    now = file_facts(root, [name for name in dict.fromkeys(there) if re.fullmatch("[a-z0-9-]+", name)])
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

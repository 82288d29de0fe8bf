"""A folder that the study builds: one file of JSON lines, README.md and, last, manifest.json with its checksum."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.jsonl import read_jsonl, write_json, write_jsonl, write_whole
from evenhand.manifest import MANIFEST_FILE
from evenhand.provenance import code_state
from studies.pluraleval.records import BENCHMARK

FORMAT = 1  # of the folders; raised when their lines or manifests change
THREADS_FILE = "threads.jsonl"
REFERENCES_FILE = "references.jsonl"
BUILDS = {THREADS_FILE: "evenhand build wildscope", REFERENCES_FILE: "evenhand build references"}

Row = TypeVar("Row")


def write_built(
    out: Path, file: str, rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any], card: Callable[[Any], str]
) -> dict[str, Any]:
    """Write the folder and return its manifest. card: manifest → README.md."""
    # From here until the manifest is there again the folder is no finished build, whatever interrupts.
    (out / MANIFEST_FILE).unlink(missing_ok=True)
    write_jsonl(out / file, rows)
    manifest = {
        "format": FORMAT,
        "benchmark": BENCHMARK,
        **facts,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": code_state(Path(__file__).parent),
        "files": {file: sha256_of(out / file)},
    }
    write_whole(out / "README.md", card(manifest))
    write_json(out / MANIFEST_FILE, manifest)
    return manifest


def read_built_manifest(root: Path, file: str) -> dict[str, Any]:
    """The manifest of a built folder. Raises DataError when it is absent, damaged or of something else."""
    path, way_out = root / MANIFEST_FILE, f"build it with `{BUILDS[file]}`"
    if not path.is_file():
        raise DataError(f"{root}: holds no finished build; {way_out}")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove it, and {way_out} again") from None
    is_ours = isinstance(manifest, dict) and (manifest.get("benchmark"), manifest.get("format")) == (BENCHMARK, FORMAT)
    if not is_ours or not isinstance(manifest.get("files"), dict) or file not in manifest["files"]:
        raise DataError(f"{path}: is of no such folder, or of another version; choose another folder, or {way_out}")
    return dict(manifest)


def built_hash(root: Path, file: str) -> str:
    """The checksum of what a built folder holds, as its manifest names it."""
    return str(read_built_manifest(root, file)["files"][file])


def read_built(root: Path, file: str, make: Callable[[Mapping[str, Any]], Row]) -> Iterator[Row]:
    """What the lines of a built folder make. Raises DataError naming the folder, or file and line, that is damaged."""
    manifest = read_built_manifest(root, file)
    path = root / file
    if not path.is_file() or sha256_of(path) != manifest["files"][file]:
        raise DataError(f"{path}: is gone, or not as it was built; build it again with `{BUILDS[file]}`")
    for number, row in read_jsonl(path):
        try:
            yield make(row)
        except (KeyError, TypeError, ValueError) as error:
            problem = str(error) or type(error).__name__
            raise DataError(f"{path}:{number}: is no line of it ({problem}); build it again") from None

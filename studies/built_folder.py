"""A folder that `evenhand build` writes: its files, README.md and, last, manifest.json with their checksums.

Without its manifest a folder is no finished build, whatever interrupted it; the same command continues.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from eval.runs import FinishedRun
from evenhand.errors import DataError
from evenhand.files import read_jsonl, sha256_of, write_json, write_jsonl, write_whole
from evenhand.lease import LOCK_FILE, locked
from evenhand.provenance import code_state
from evenhand.run_directory import read_json
from studies.fetching import SourceFile, by_hand

MANIFEST_FILE, CARD_FILE = "manifest.json", "README.md"
FORMAT = 1  # of built folders; raised when their files or manifests change

Row = TypeVar("Row")


@contextmanager
def building(out: Path, build: str) -> Generator[None]:
    """Context manager: alone in the folder. build: NAME of `evenhand build NAME`. Raises as check_buildable does."""
    check_buildable(out)
    with locked(out, f"build {build}"):
        yield


def check_buildable(out: Path) -> None:
    """Raises DataError when a folder holds files and none of what a build begins with: README.md would be lost."""
    ours = (MANIFEST_FILE, "raw", LOCK_FILE)
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in ours):
        raise DataError(f"{out}: holds other files; choose an empty or a new folder for --out")


def is_built(root: Path) -> bool:
    """Whether a folder is a finished build: the manifest is written last."""
    return (root / MANIFEST_FILE).is_file()


def write_rows(
    out: Path,
    file: str,
    rows: Iterable[Mapping[str, Any]],
    benchmark: str,
    facts: Mapping[str, Any],
    card: Callable[[Mapping[str, Any]], str] | None = None,
) -> dict[str, Any]:
    """Write a folder with one file of JSON lines and return its manifest. card: manifest → README.md."""
    (out / MANIFEST_FILE).unlink(missing_ok=True)
    write_jsonl(out / file, rows)
    return finish(out, benchmark, {**facts, "files": {file: sha256_of(out / file)}}, card)


def finish(
    out: Path, benchmark: str, facts: Mapping[str, Any], card: Callable[[Mapping[str, Any]], str] | None = None
) -> dict[str, Any]:
    """Write the card and the manifest behind the files of a folder, and return the manifest.

    facts: what the manifest says beside its date and the code; `files`: path in the folder → checksum.
    """
    manifest = {
        "format": FORMAT,
        "benchmark": benchmark,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": code_state(Path(__file__).parent),
        **facts,
    }
    if card:
        write_whole(out / CARD_FILE, card(manifest))
    write_json(out / MANIFEST_FILE, manifest)
    return manifest


def read_manifest(root: Path, build: str = "unified", file: str = "") -> dict[str, Any]:
    """The manifest of a built folder. Raises DataError when it is absent, damaged or of something else.

    build: NAME of `evenhand build NAME`. file: what such a folder holds; "" asks for a benchmark of that name.
    """
    path = root / MANIFEST_FILE
    if not path.is_file():
        raise DataError(f"{root}: holds no finished build; make one with `evenhand build {build}`")
    manifest = read_json(path)
    files = manifest.get("files")
    is_wanted = file in files if file and isinstance(files, dict) else manifest.get("benchmark") == build
    if not is_wanted or manifest.get("format") != FORMAT or not isinstance(files, dict):
        raise DataError(
            f"{path}: is not of this version of `evenhand build {build}`; choose another folder, or remove it and build"
        )
    return manifest


def read_rows(root: Path, build: str, file: str, make: Callable[[dict[str, Any]], Row]) -> Iterator[Row]:
    """What the lines of a built folder's file make. Raises DataError naming the file or line that is damaged."""
    if changed := changed_files(root, read_manifest(root, build, file)):
        raise DataError(f"{root / changed[0]}: is gone, or not as it was built; run the same `evenhand build {build}`")
    for _, row in read_jsonl(root / file):
        yield make(row)


def file_hash(root: Path, build: str, file: str) -> str:
    """The checksum of a built folder's file, as its manifest names it."""
    return str(read_manifest(root, build, file)["files"][file])


def changed_files(root: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The files of a manifest that are gone or not as they were built."""
    files = manifest["files"].items()
    return [name for name, then in files if not (root / name).is_file() or sha256_of(root / name) != then]


def finished(
    out: Path, build: str, file: str, asked: Mapping[str, Any], sources: Iterable[SourceFile]
) -> dict[str, Any] | None:
    """The manifest of this very build, whole and unchanged; None when there is none, or one to be repaired.

    Raises DataError when the folder holds another finished build: one of other sources, or not of what is `asked`.
    """
    if not is_built(out):
        return None
    manifest = read_manifest(out, build, file)
    listed = manifest.get("sources", [])
    built_from = [source for files in listed.values() for source in files] if isinstance(listed, dict) else listed
    is_same = sorted(source.sha256 for source in sources) == sorted(source["sha256"] for source in built_from)
    differs = [key for key, value in asked.items() if manifest.get(key) != value] + ["sources"] * (not is_same)
    if differs:
        raise DataError(
            f"{out}: holds a finished build of other {' and '.join(differs)}; choose another --out, or remove its "
            f"{MANIFEST_FILE}"
        )
    return manifest if not changed_files(out, manifest) and (out / CARD_FILE).is_file() else None


def sources_at(paths: Iterable[Path]) -> list[SourceFile]:
    """Files that the user has put somewhere, with their checksums."""
    return [by_hand(path, path.name) for path in paths]


def described(sources: Iterable[SourceFile]) -> list[dict[str, Any]]:
    """Source files as a manifest lists them."""
    return [asdict(source) for source in sources]


def folder_read(run: FinishedRun, named: str, file: str, hash_of: Callable[[Path], str]) -> Path:
    """A folder that a run was made of: where its config says, or beside the run under the same name.

    file: what such a folder holds. Raises DataError when it is in neither place, or is not as it was then.
    """
    places = [Path(named), run.path.parent / Path(named).name]
    folder = next((place for place in places if (place / file).is_file()), None)
    if folder is None:
        raise DataError(f"{run.path}: judges what is in {named}, which is not there; restore it")
    if hash_of(folder) != dict(run.provenance.get("inputs") or {}).get(named):
        raise DataError(f"{folder}: is not as it was when {run.path} judged it; judge it anew, or restore it")
    return folder

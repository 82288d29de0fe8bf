"""`evenhand build unified`: publishers' files → tables of test and train items, a manifest and a card."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.jsonl import write_json, write_whole
from evenhand.provenance import code_state
from evenhand.sources.fetching import Hosts, Origin, SourceFile, fetch, locked, source_files
from studies.built_folder import FORMAT, MANIFEST_FILE, read_manifest, refuse_foreign
from studies.dialdefer.built_tables import file_facts
from studies.dialdefer.unified.assemble import (
    Assembled,
    Split,
    choose_test,
    described,
    released_test,
    write_split,
)
from studies.dialdefer.unified.catalogue import DATASETS
from studies.dialdefer.unified.dataset_card import card_text
from studies.dialdefer.unified.pool import CONVERTER_VERSION, build_pool
from studies.dialdefer.unified.release import FOLDER as RELEASE_FOLDER
from studies.dialdefer.unified.release import RELEASE


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be built, and from where."""

    out: Path
    raw: Path | None  # a folder of files that the user has; None downloads into OUT/raw
    datasets: tuple[str, ...]
    split: Split
    test_only: bool = False  # the authors' released test items and nothing else
    hosts: Hosts | None = None  # where to download from; None: the publishers' own

    @property
    def recorded(self) -> dict[str, Any]:
        """What the manifest keeps, so that the same command finds its work done and another one does not mix in."""
        return {
            "datasets": list(self.datasets),
            "split": asdict(self.split),
            "test_only": self.test_only,
            "converters": CONVERTER_VERSION,
        }


def build(request: Request) -> dict[str, Any]:
    """Build the folder and return its manifest; what an interrupted build has fetched and converted is taken over.

    Raises DataError for whatever is wrong with a publisher's file, a leak, or a folder that holds another build or
    somebody's files. A second process waits for the first.
    """
    refuse_foreign(request.out)
    with locked(request.out, "build unified"):
        sources = gather(request)
        manifest = finished(request, sources)
        if manifest is None:
            manifest = build_anew(request, sources)
    return manifest


def build_anew(request: Request, sources: Mapping[str, Sequence[SourceFile]]) -> dict[str, Any]:
    """Everything behind the publishers' files. A finished build is given up only when all that can fail has passed."""
    parts = assemble(request, sources)
    (request.out / MANIFEST_FILE).unlink(missing_ok=True)
    write_split(request.out, parts)
    contents = {
        name: described(part, sources[RELEASE_FOLDER if request.test_only else part.dataset.raw_name])
        for name, part in parts.items()
    }
    manifest = {
        "format": FORMAT,
        "benchmark": "unified",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": code_state(Path(__file__).parent),
        **request.recorded,
        "sources": {folder: [asdict(file) for file in files] for folder, files in sources.items()},
        "contents": contents,
        "files": file_facts(request.out, parts),
    }
    write_whole(request.out / "README.md", card_text(manifest))
    write_json(request.out / MANIFEST_FILE, manifest)
    return manifest


def gather(request: Request) -> dict[str, list[SourceFile]]:
    """The files of every raw folder needed, downloaded or found: folder name → files with their checksums."""
    raw = request.raw or request.out / "raw"
    wanted = [] if request.test_only else [DATASETS[name] for name in request.datasets]
    needed = {dataset.raw_name: dataset.origin for dataset in wanted}
    release_at_hand = request.raw is None or (raw / RELEASE_FOLDER).is_dir()
    if request.test_only or (request.split.kind == "published" and release_at_hand):
        needed[RELEASE_FOLDER] = RELEASE
    if request.split.any_revision:
        needed = {folder: replace(origin, sha256={}) for folder, origin in needed.items()}
    if request.raw is not None:
        return all_present(needed, raw)
    return {folder: fetch(origin, raw / folder, name=folder, hosts=request.hosts) for folder, origin in needed.items()}


def all_present(needed: Mapping[str, Origin], raw: Path) -> dict[str, list[SourceFile]]:
    """The files that a user put into every raw folder. Raises DataError naming all folders that lack theirs at once."""
    found: dict[str, list[SourceFile]] = {}
    wrong: list[str] = []
    for folder, origin in needed.items():
        try:
            found[folder] = source_files(origin, raw / folder, name=folder)
        except DataError as error:
            wrong.append(str(error))
    if wrong:
        raise DataError("\n".join(wrong))
    return found


def finished(request: Request, sources: Mapping[str, Sequence[SourceFile]]) -> dict[str, Any] | None:
    """The manifest of a build that is complete already; None when there is none, or one to be extended or repaired.

    Raises DataError when the folder holds a build whose test items could differ from those asked for.
    """
    path = request.out / MANIFEST_FILE
    if not path.exists():
        return None
    manifest = read_manifest(request.out)
    now = {folder: {file.name: file.sha256 for file in files} for folder, files in sources.items()}
    then = {folder: {file["name"]: file["sha256"] for file in files} for folder, files in manifest["sources"].items()}
    what = ""
    if any(now[folder] != then[folder] for folder in now.keys() & then.keys()):
        what = "of other files"
    elif manifest["converters"] != CONVERTER_VERSION:
        what = "made with other converters"
    elif not extends(request.recorded, manifest):
        of = manifest["split"]
        what = f"of another split or more datasets ({of['kind']}, seed {of['seed']}: {', '.join(manifest['datasets'])})"
    elif (RELEASE_FOLDER in now) != (RELEASE_FOLDER in then):
        was = "was" if RELEASE_FOLDER in then else "was not"
        what = f"for which the authors' release {was} at hand (RAW/{RELEASE_FOLDER}), so its test items may differ"
    if what:
        raise DataError(f"{request.out}: holds a finished build {what}; choose another --out, or remove {path}")
    same = now == then and all(manifest[key] == value for key, value in request.recorded.items())
    whole = file_facts(request.out, manifest["contents"]) == manifest["files"]
    return manifest if same and whole else None


def extends(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether a build of `wanted` holds all that is there: the train splits beside the test items, or more datasets."""
    new, old = wanted["split"], there["split"]
    common = new["sizes"].keys() & old["sizes"].keys()
    same_split = (new["kind"], new["seed"]) == (old["kind"], old["seed"])
    return (
        same_split
        and set(there["datasets"]) <= set(wanted["datasets"])
        and (there["test_only"] or not wanted["test_only"])
        and all(new["sizes"][name] == old["sizes"][name] for name in common)
    )


def assemble(request: Request, sources: Mapping[str, Sequence[SourceFile]]) -> dict[str, Assembled]:
    """Every dataset's pool and test items, in the catalogue's order."""
    raw = request.raw or request.out / "raw"
    release = raw / RELEASE_FOLDER if RELEASE_FOLDER in sources else None
    parts: dict[str, Assembled] = {}
    for name in request.datasets:
        dataset = DATASETS[name]
        if request.test_only:
            parts[name] = released_test(dataset, raw / RELEASE_FOLDER, request.split)
            continue
        checksums = {file.name: file.sha256 for file in sources[dataset.raw_name]}
        pool = build_pool(dataset, raw / dataset.raw_name, pool_table(request.out, name), checksums)
        parts[name] = choose_test(pool, request.split, release)
    return parts


def pool_table(out: Path, name: str) -> Path:
    """Where a dataset's pool is kept."""
    return out / "pool" / f"{name}.parquet"

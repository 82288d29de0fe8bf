"""`evenhand build wildscope`: Pushshift's dumps → threads.jsonl, a card and a manifest."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.manifest import MANIFEST_FILE, refuse_foreign
from evenhand.sources.fetching import locked, say
from evenhand.sources.source_record import RECORDED, SourceFile
from studies.pluraleval.built_folder import THREADS_FILE, read_built_manifest, write_built
from studies.pluraleval.rows import thread_row, thread_set_hash
from studies.pluraleval.thread_sets import WILDSCOPE
from studies.pluraleval.wildscope.card import card_text
from studies.pluraleval.wildscope.dump_lines import DumpFiles, find_dump
from studies.pluraleval.wildscope.sample_threads import Tally, Wanted, sample_threads

CONVERTER_VERSION = "v1"  # raised when the same dump would give other threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be built, and from where."""

    out: Path
    raw: Path
    wanted: Wanted

    @property
    def recorded(self) -> dict[str, Any]:
        """What the manifest keeps, so that the same command finds its work done and another one does not mix in."""
        wanted = {**asdict(self.wanted), "strata": [asdict(stratum) for stratum in self.wanted.strata]}
        return {"dataset": WILDSCOPE, "converter": CONVERTER_VERSION, "wanted": wanted}


def build(request: Request) -> dict[str, Any]:
    """Build the folder and return its manifest. What is there and whole is left as it is.

    Raises DataError for whatever is wrong with the dump, or a folder that holds another build or somebody's files.
    """
    refuse_foreign(request.out)
    files = find_dump(request.raw)
    with locked(request.out, "build wildscope"):
        sources = [asdict(source) for source in sources_of(files)]
        if (manifest := finished(request, sources)) is not None:
            return manifest
        tally = Tally()
        threads = sample_threads(files, request.wanted, tally, say)
        if not threads:
            raise DataError(
                f"{request.raw}: no thread is of the subreddits, the year and the numbers of comments that are wanted "
                f"({tally.strata}); see --year and --stratum"
            )
        facts = {
            **request.recorded,
            "sources": sources,
            "strata": tally.strata,
            "dropped": {"submissions": dict(tally.submissions), "comments": dict(tally.comments)},
            "n_threads": len(threads),
            "n_comments": sum(len(thread.comments) for thread in threads),
            "thread_set_hash": thread_set_hash(threads),
        }
        return write_built(request.out, THREADS_FILE, map(thread_row, threads), facts, card_text)


def sources_of(files: DumpFiles) -> list[SourceFile]:
    """The dump's files with their checksums."""
    paths = [*files.submissions, *files.comments]
    return [
        SourceFile(
            name=path.name, path=path.name, n_bytes=path.stat().st_size, sha256=sha256_of(path), checksum=RECORDED
        )
        for path in paths
    ]


def finished(request: Request, sources: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The manifest of this very build, complete and unchanged; None when there is none, or one to be repaired.

    Raises DataError when the folder holds another finished build.
    """
    if not (request.out / MANIFEST_FILE).exists():
        return None
    manifest = read_built_manifest(request.out, THREADS_FILE)
    asked = {**request.recorded, "sources": sources}
    differs = [key for key, value in asked.items() if manifest.get(key) != value]
    if differs:
        raise DataError(
            f"{request.out}: holds a finished build with another {' and '.join(differs)}; choose another --out, or "
            f"remove {request.out / MANIFEST_FILE}"
        )
    kept = request.out / THREADS_FILE
    whole = kept.is_file() and sha256_of(kept) == manifest["files"][THREADS_FILE]
    return manifest if whole and (request.out / "README.md").is_file() else None

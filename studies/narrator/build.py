"""`evenhand build narrator`: a ConvoKit dump → conversations.jsonl, a card and a manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.jsonl import write_json, write_jsonl, write_whole
from evenhand.manifest import FORMAT, MANIFEST_FILE, read_manifest, refuse_foreign
from evenhand.provenance import code_state
from evenhand.sources.fetching import fetch, locked
from evenhand.sources.origin import Origin
from evenhand.sources.source_record import RECORDED, SourceFile
from studies.narrator.built_corpus import (
    CONVERSATIONS_FILE,
    SPLITS,
    read_conversations,
    row_of,
)
from studies.narrator.card import card_text
from studies.narrator.convokit import read_dump
from studies.narrator.corpora import conversation_set_hash
from studies.narrator.corpus import facts_of, subset
from studies.narrator.dump_files import CMV, DATASET, DumpFiles, find_dump
from studies.narrator.records import BENCHMARK, Conversation
from studies.narrator.splits import SEED, TEST_SHARE, refuse_shared_pages, split_by_page

CONVERTER_VERSION = "v1"  # raised when the same dump would give other conversations
CONVOKIT = {
    dataset: Origin(place=f"https://zissou.infosci.cornell.edu/convokit/datasets/{name}/", files=(f"{name}.zip",))
    for dataset, name in {
        DATASET: "conversations-gone-awry-corpus",
        CMV: "conversations-gone-awry-cmv-corpus",
    }.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be built, and from where."""

    out: Path
    raw: Path | None = None  # a dump that the user has; None downloads ConvoKit's zip into OUT/raw
    seed: int = SEED  # of the split into train and test
    test_share: float = TEST_SHARE
    dataset: str = DATASET  # of DATASETS
    origin: Origin | None = None  # where it is downloaded from; None is ConvoKit's place for it

    @property
    def recorded(self) -> dict[str, Any]:
        """What the manifest keeps, so that the same command finds its work done and another one does not mix in."""
        split = {"seed": self.seed, "test_share": self.test_share}
        return {"dataset": self.dataset, "converter": CONVERTER_VERSION, "split": split}


def build(request: Request) -> dict[str, Any]:
    """Build the folder and return its manifest. What is there and whole is left as it is.

    Raises DataError for whatever is wrong with the dump, or a folder that holds another build or somebody's files.
    """
    refuse_foreign(request.out)
    with locked(request.out, "build narrator"):
        files, sources = gather(request)
        if (manifest := finished(request, sources)) is not None:
            return manifest
        conversations, found = made(request, files)
        # From here until the manifest is there again the folder is no finished build, whatever interrupts.
        (request.out / MANIFEST_FILE).unlink(missing_ok=True)
        path = request.out / CONVERSATIONS_FILE
        write_jsonl(path, map(row_of, conversations))
        check_written(path)
        manifest = {
            "format": FORMAT,
            "benchmark": BENCHMARK,
            **request.recorded,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "code": code_state(Path(__file__).parent),
            "sources": [asdict(source) for source in sources],
            **found,
            "n_conversations": {name: len(of_split(conversations, name)) for name in SPLITS},
            "n_pages": {name: n_pages(of_split(conversations, name)) for name in SPLITS},
            "conversation_set_hash": conversation_set_hash(conversations),
            "files": {CONVERSATIONS_FILE: sha256_of(path)},
        }
        write_whole(request.out / "README.md", card_text(manifest))
        write_json(request.out / MANIFEST_FILE, manifest)
    return manifest


def gather(request: Request) -> tuple[DumpFiles, list[SourceFile]]:
    """The dump, downloaded or found, and its files with their checksums."""
    if request.raw is None:
        folder = request.out / "raw" / request.dataset
        sources = fetch(request.origin or CONVOKIT[request.dataset], folder, name=request.dataset)
        return find_dump(folder), sources
    files = find_dump(request.raw)
    return files, [
        SourceFile(
            name=path.name,
            path=path.name,
            n_bytes=path.stat().st_size,
            sha256=sha256_of(path),
            checksum=RECORDED,
        )
        for path in files.paths
    ]


def finished(request: Request, sources: Sequence[SourceFile]) -> dict[str, Any] | None:
    """The manifest of this very build, complete and unchanged; None when there is none, or one to be repaired.

    Raises DataError when the folder holds another finished build.
    """
    path = request.out / MANIFEST_FILE
    if not path.exists():
        return None
    manifest = read_manifest(request.out, BENCHMARK)
    now = sorted(source.sha256 for source in sources)
    then = sorted(source["sha256"] for source in manifest.get("sources", []))
    asked = request.recorded
    differs = [key for key, value in asked.items() if manifest.get(key) != value] + (["sources"] if now != then else [])
    if differs:
        raise DataError(
            f"{request.out}: holds a finished build with another {' and '.join(differs)}; choose another --out, or "
            f"remove {path}"
        )
    kept = request.out / CONVERSATIONS_FILE
    whole = kept.is_file() and sha256_of(kept) == manifest["files"].get(CONVERSATIONS_FILE)
    return manifest if whole and (request.out / "README.md").is_file() else None


def made(request: Request, files: DumpFiles) -> tuple[list[Conversation], Mapping[str, Any]]:
    """The conversations, each with its split, and what the manifest tells of them."""
    dump = read_dump(files)
    if dump.dataset != request.dataset:
        raise DataError(f"{files.source}: is a dump of {dump.dataset}; build it with --corpus {dump.dataset}")
    kept, dropped = subset(dump)
    if not kept:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in dropped.most_common())
        raise DataError(f"{files.source}: no conversation is of the study ({reasons or 'it is empty'})")
    conversations = split_by_page(kept, seed=request.seed, test_share=request.test_share)
    return conversations, {
        "counts": dict(dump.counts),
        "dropped": dict(dropped.most_common()),
        "facts": asdict(facts_of(conversations, dump.discussions)),
    }


def check_written(path: Path) -> None:
    """Read a written corpus back. Raises DataError for a page on both sides."""
    there = list(read_conversations(path))
    refuse_shared_pages(*(of_split(there, name) for name in SPLITS))


def of_split(conversations: Sequence[Conversation], split: str) -> list[Conversation]:
    """The conversations of "train" or "test"."""
    return [conversation for conversation in conversations if conversation.meta["split"] == split]


def n_pages(conversations: Sequence[Conversation]) -> int:
    """How many pages the conversations are of; one without a title counts as a page of its own."""
    pages = (one.meta.get("page_title") or one.meta.get("page_id") or one.conversation_id for one in conversations)
    return len(set(pages))

"""A folder that `evenhand build narrator` has written: conversations.jsonl, README.md and, last, manifest.json."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.jsonl import read_jsonl
from evenhand.manifest import read_manifest
from studies.narrator.records import BENCHMARK, Conversation, Turn

CONVERSATIONS_FILE = "conversations.jsonl"
SPLITS = ("train", "test")
AGAIN = "build it again with `evenhand build narrator`"


def row_of(conversation: Conversation) -> dict[str, Any]:
    """A conversation as a line of conversations.jsonl."""
    return {**asdict(conversation), "names": dict(conversation.names), "meta": dict(conversation.meta)}


def read_conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a file that was written here."""
    for _, row in read_jsonl(path):
        yield Conversation(**{**row, "turns": tuple(Turn(**turn) for turn in row["turns"])})


def built_conversations(root: Path, dataset: str) -> list[Conversation]:
    """All conversations of a built folder. Raises DataError when it is of another dataset or not as it was built."""
    manifest = read_manifest(root, BENCHMARK)
    if manifest["dataset"] != dataset:
        raise DataError(
            f"{root}: was built of {manifest['dataset']}, wanted is {dataset}; set `root` to another folder"
        )
    path = root / CONVERSATIONS_FILE
    if not path.is_file() or sha256_of(path) != manifest["files"].get(CONVERSATIONS_FILE):
        raise DataError(f"{path}: is gone, or not as it was built; {AGAIN}")
    return list(read_conversations(path))

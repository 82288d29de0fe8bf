"""A folder that `evenhand build narrator` has written: conversations.jsonl, README.md and, last, manifest.json."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.jsonl import read_jsonl
from evenhand.manifest import MANIFEST_FILE
from evenhand.sources.source_record import sha256_of
from studies.narrator.names import is_narrator_label
from studies.narrator.records import BENCHMARK, Conversation, Turn

FORMAT = 1  # of the folder; raised when its lines or its manifest change
CONVERSATIONS_FILE = "conversations.jsonl"
SPLITS = ("train", "test")
AGAIN = "build it again with `evenhand build narrator`"


def row_of(conversation: Conversation) -> dict[str, Any]:
    """A conversation as a line of conversations.jsonl."""
    return {**asdict(conversation), "names": dict(conversation.names), "meta": dict(conversation.meta)}


def read_conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a file. Raises DataError naming file and line of the first that is none."""
    for number, row in read_jsonl(path):
        try:
            yield conversation_in(row)
        except (KeyError, TypeError, ValueError) as error:
            problem = str(error) or type(error).__name__
            raise DataError(f"{path}:{number}: is no conversation of the study ({problem}); {AGAIN}") from None


def conversation_in(row: Mapping[str, Any]) -> Conversation:
    """The conversation of a line. Raises ValueError, KeyError or TypeError when it breaks the record's promises."""
    turns = tuple(Turn(speaker=turn["speaker"], text=turn["text"]) for turn in row["turns"])
    names, meta = dict(row["names"]), dict(row["meta"])
    found = Conversation(
        conversation_id=row["conversation_id"], dataset=row["dataset"], turns=turns, names=names, meta=meta
    )
    texts = [
        found.conversation_id,
        found.dataset,
        *names.values(),
        *(t.speaker for t in turns),
        *(t.text for t in turns),
    ]
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError("an id, name or text is empty or no text")
    if len(found.speakers) < 2 or set(found.speakers) != set(names):
        raise ValueError("needs two speakers or more, and a name for each and nobody else")
    if len(set(names.values())) < len(names) or any(map(is_narrator_label, names.values())):
        raise ValueError("names must be distinct, and none the narrator's label")
    return found


def read_corpus_manifest(root: Path) -> dict[str, Any]:
    """The manifest of a built folder. Raises DataError when it is absent, damaged or of something else."""
    path = root / MANIFEST_FILE
    if not path.is_file():
        raise DataError(
            f"{root}: holds no finished build of the narrator study; make one with `evenhand build narrator`"
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove it, and {AGAIN}") from None
    if not isinstance(manifest, dict) or (manifest.get("benchmark"), manifest.get("format")) != (BENCHMARK, FORMAT):
        raise DataError(
            f"{path}: is not of the narrator study, or of another version; choose another folder, or {AGAIN}"
        )
    if not isinstance(manifest.get("files"), dict) or not isinstance(manifest.get("dataset"), str):
        raise DataError(f"{path}: was edited: it lacks `files` or `dataset`; remove it, and {AGAIN}")
    return manifest


def built_conversations(root: Path, dataset: str) -> list[Conversation]:
    """All conversations of a built folder. Raises DataError when it is of another dataset or not as it was built."""
    manifest = read_corpus_manifest(root)
    if manifest["dataset"] != dataset:
        raise DataError(
            f"{root}: was built of {manifest['dataset']}, wanted is {dataset}; set `root` to another folder"
        )
    path = root / CONVERSATIONS_FILE
    if not path.is_file() or sha256_of(path) != manifest["files"].get(CONVERSATIONS_FILE):
        raise DataError(f"{path}: is gone, or not as it was built; {AGAIN}")
    return list(read_conversations(path))

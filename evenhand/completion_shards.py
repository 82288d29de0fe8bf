"""A run's completions on disk: whole shards that are only ever added, each named by its time and a checksum.

The checksum covers the run's config as well, so a shard that was edited, cut, or copied from another run is noticed.
Of two answers to one prompt the earlier one counts.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from evenhand.errors import DataError
from evenhand.job_signs import note_progress
from evenhand.jsonl import parse_lines, write_whole
from evenhand.records import Completion, completion_from

SHARDS_FOLDER = "completions"


def append_completions(path: Path, batch: Iterable[Completion]) -> Path:
    """Write the next shard of completions: whole or absent, and no counter that two writers could race for."""
    completions = list(batch)
    text = "".join(json.dumps(asdict(completion), ensure_ascii=False) + "\n" for completion in completions)
    shard = path / SHARDS_FOLDER / f"{time.time_ns()}-{checksum(text.encode(), config_digest(path))}.jsonl"
    write_whole(shard, text)
    if not all(completion.is_error for completion in completions):
        note_progress()
    return shard


def read_completions(path: Path) -> dict[tuple[str, int], Completion]:
    """(prompt hash, sample index) → completion. An answer wins over an engine error; else the one written first.

    Raises DataError naming the shard and line that is damaged, or the shard that is not as it was written.
    """
    found: dict[tuple[str, int], Completion] = {}
    for completion in every_completion(path):
        key = (completion.prompt_hash, completion.sample_index)
        if key not in found or (found[key].is_error and not completion.is_error):
            found[key] = completion
    return found


def every_completion(path: Path) -> Iterator[Completion]:
    """Every completion of a run in the order of the shards, also those that were asked twice."""
    key = config_digest(path)
    for shard in sorted((path / SHARDS_FOLDER).glob("*.jsonl")):
        yield from read_shard(shard, key)


def read_shard(shard: Path, key: str) -> list[Completion]:
    """The completions of one shard of the run with this config digest. Raises DataError with the way out."""
    place, found = str(shard), list[Completion]()
    try:
        content = shard.read_bytes()
        for number, record in parse_lines(content.decode().split("\n"), shard):
            place = f"{shard}:{number}"
            found.append(completion_from(record))
        if shard.stem.rpartition("-")[2] != checksum(content, key):
            raise DataError(f"{shard}: is not as this run wrote it: it was edited, or copied from another run")
    except OSError as error:
        raise DataError(f"{shard}: cannot be read ({error.strerror})") from None
    except (DataError, TypeError, UnicodeDecodeError) as error:
        where = error if isinstance(error, DataError) else f"{place}: is no completion ({error})"
        raise DataError(
            f"{where}. Restore it, or delete this shard and run the sampling command again: only its prompts are "
            "asked anew"
        ) from None
    return found


def config_digest(path: Path) -> str:
    """SHA-256 of a run's config.yaml as it lies there."""
    return hashlib.sha256((path / "config.yaml").read_bytes()).hexdigest()


def checksum(content: bytes, key: str) -> str:
    """16 hex digits over a shard's bytes and its run's config digest."""
    return hashlib.sha256(key.encode() + content).hexdigest()[:16]

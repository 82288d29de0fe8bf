"""A run's completions on disk: whole shards that are only ever added, each named by its time and a checksum.

The checksum covers the run's config as well, so a shard that was edited, cut, or copied from another run is noticed.
Of two answers to one prompt the earlier one counts.
"""

import hashlib
import json
import time
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from evenhand.checksum import sha256_of
from evenhand.errors import DataError
from evenhand.job_messages import note_progress
from evenhand.jsonl import parse_lines, write_whole
from evenhand.records import Completion, completion_from, digest, plain

SHARDS_FOLDER = "completions"
SEEN_AFTER_S = 90.0  # NFS clients keep a folder's list for up to a minute
LOOK_S = 1.0


class CompletionLog:
    """What a process writes of a run's completions, a shard of `n` at a time."""

    def __init__(self, path: Path, n: int) -> None:
        self.path, self.n = path, n
        self.batch: list[Completion] = []
        self.written: list[Path] = []
        numbers = (file.name.partition("-")[0] for file in (path / SHARDS_FOLDER).glob("*.jsonl"))
        self.latest = max((int(number) for number in numbers if number.isdecimal()), default=0)

    def add(self, completion: Completion) -> None:
        """Take a completion; with n of them a shard is written."""
        self.batch.append(completion)
        if len(self.batch) >= self.n:
            self.write()

    def write(self) -> None:
        """Write what has been taken so far."""
        if self.batch:
            # A clock that was set back since must not put this shard before those that this process has read.
            self.latest = max(time.time_ns(), self.latest + 1)
            self.written.append(append_completions(self.path, self.batch, self.latest))
            self.batch = []

    def refuse_if_unseen(self) -> None:
        """Raises DataError where a shard that was written is not there: what it holds would be asked for again.

        A file system may show a file late; SEEN_AFTER_S seconds are waited for that.
        """
        give_up = time.monotonic() + SEEN_AFTER_S
        while unseen := [shard for shard in self.written if not shard.exists()]:
            if time.monotonic() >= give_up:
                raise DataError(
                    f"{unseen[0]}: was written by this process and is not there ({len(unseen)} such files): somebody "
                    "has removed it, or the file system has lost it. The same command asks again for what it held"
                )
            time.sleep(LOOK_S)


def append_completions(path: Path, batch: Iterable[Completion], number: int | None = None) -> Path:
    """Write the next shard of completions: whole or absent, and no counter that two writers could race for.

    number: its place among the shards; the time where none is given.
    """
    completions = list(batch)
    text = "".join(json.dumps(plain(completion), ensure_ascii=False) + "\n" for completion in completions)
    name = f"{number or time.time_ns()}-{checksum(text.encode(), config_digest(path))}.jsonl"
    shard = path / SHARDS_FOLDER / name
    write_whole(shard, text)
    if not all(completion.is_error for completion in completions):
        note_progress()
    return shard


class Answers(NamedTuple):
    """What was answered in a run, without what the model read: a million prompts fill the memory."""

    replies: dict[str, tuple[Completion, ...]]  # prompt hash → its completions in the order of their samples
    rendered: dict[str, str]  # prompt hash → 16 hex digits of what the model read; lacks what was rendered unseen

    @property
    def without_errors(self) -> dict[str, tuple[Completion, ...]]:
        """The replies of prompts that have any."""
        kept = {hash_: tuple(c for c in of if not c.is_error) for hash_, of in self.replies.items()}
        return {hash_: of for hash_, of in kept.items() if of}


def read_answers(path: Path) -> Answers:
    """The completions that count: an answer wins over an engine error; else the one written first.

    Raises DataError naming the shard and line that is damaged, or the shard that is not as it was written.
    """
    answers = Answers({}, {})
    for completion in every_completion(path):
        hash_, index = completion.prompt_hash, completion.sample_index
        there = answers.replies.get(hash_, ())
        same = next((one for one in there if one.sample_index == index), None)
        if same is not None and (completion.is_error or not same.is_error):
            continue
        others = [one for one in there if one is not same]
        kept = sorted([*others, replace(completion, rendered=None)], key=attrgetter("sample_index"))
        answers.replies[hash_] = tuple(kept)
        if completion.rendered is not None:
            answers.rendered[hash_] = digest(completion.rendered, 16)
    return answers


def rendered_prompts(path: Path, hashes: Container[str]) -> dict[str, str]:
    """What the model read of some of a run's prompts; lacks what a server rendered unseen."""
    found: dict[str, str] = {}
    for completion in every_completion(path):
        if completion.prompt_hash in hashes and completion.rendered is not None:
            found.setdefault(completion.prompt_hash, completion.rendered)
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
    return sha256_of(path / "config.yaml")


def checksum(content: bytes, key: str) -> str:
    """16 hex digits over a shard's bytes and its run's config digest."""
    return hashlib.sha256(key.encode() + content).hexdigest()[:16]

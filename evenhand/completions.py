"""A run's completions on disk, which of them count, what it leaves out, and what to know before believing a score.

Completions lie in whole shards that are only ever added, each named by its time and a checksum over its bytes and the
run's config, so that one that was edited, cut, or copied from another run is noticed. `excluded/` lists items one of
whose prompts does not fit the context window: they are planned, and have no answers that count.
"""

import hashlib
import math
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Self

from evenhand.errors import DataError
from evenhand.files import as_line, parse_lines, read_jsonl, sha256_of, write_jsonl, write_whole
from evenhand.records import Completion, Prompt, completion_from, digest, plain
from evenhand.terminal import note_progress

EXCLUDED_FOLDER = "excluded"


def exclude(path: Path, reasons: Mapping[Prompt, str]) -> None:
    """Leave the items of these prompts out of a run, each with the reason of one of its prompts."""
    items: dict[str, dict[str, str]] = {}
    for prompt, reason in reasons.items():
        line = {"item_id": prompt.item_id, "prompt_hash": prompt.prompt_hash, "reason": reason}
        items.setdefault(prompt.item_id, line)
    write_jsonl(path / EXCLUDED_FOLDER / f"{uuid.uuid4().hex}.jsonl", items.values())


def read_excluded(path: Path) -> dict[str, str]:
    """Item id → why it is left out. Empty for a run that leaves out nothing. Raises DataError for a damaged file."""
    excluded: dict[str, str] = {}
    for file in sorted((path / EXCLUDED_FOLDER).glob("*.jsonl")):
        for _, record in read_jsonl(file):
            excluded.setdefault(record["item_id"], record["reason"])
    return excluded


SHARDS_FOLDER = "completions"
UNWRITTEN = "~"  # in the place of a shard's name, behind all of them


class CompletionLog:
    """What a process writes of a run's completions, a shard of `n` at a time."""

    def __init__(self, path: Path, n: int) -> None:
        self.path, self.n = path, n
        self.batch: list[Completion] = []
        self.written: list[Path] = []

    def add(self, completion: Completion) -> None:
        """Take a completion; with n of them a shard is written."""
        self.batch.append(completion)
        if len(self.batch) >= self.n:
            self.write()

    def write(self) -> None:
        """Write what has been taken so far."""
        if self.batch:
            # A clock that was set back since must not put this shard before those that this process has read.
            shards = [*(self.path / SHARDS_FOLDER).glob("*.jsonl"), *self.written[-1:]]  # the folder may be shown late
            numbers = (file.name.partition("-")[0] for file in shards)
            latest = max((int(number) for number in numbers if number.isdecimal()), default=0)
            self.written.append(append_completions(self.path, self.batch, max(latest + 1, time.time_ns())))
            self.batch = []

    def check_shards_exist(self) -> None:
        """Raises DataError where a shard that was written is not there: what it holds would be asked for again."""
        if unseen := [shard for shard in self.written if not shard.exists()]:
            raise DataError(
                f"{unseen[0]}: was written and is not there ({len(unseen)} such files): removed, or lost by the file "
                "system. The same command asks again for what it held"
            )


def append_completions(path: Path, batch: Iterable[Completion], number: int | None = None) -> Path:
    """Write the next shard of completions: whole or absent, and no counter that two writers could race for.

    number: its place among the shards; the time where none is given.
    """
    completions = list(batch)
    text = "".join(as_line(plain(completion)) + "\n" for completion in completions)
    name = f"{number or time.time_ns()}-{checksum(text.encode(), config_digest(path))}.jsonl"
    shard = path / SHARDS_FOLDER / name
    write_whole(shard, text)
    if not all(completion.is_error for completion in completions):
        note_progress()
    return shard


class Answers:
    """Which of a run's completions count: an answer before an engine error, and of two the one that was written first.

    samples: prompt hash → the samples that are answered, as bits. rendered: prompt hash → 16 hex digits of what the
    model read; lacks what was rendered unseen. errors: prompt hash → the last reason why there was no reply.
    """

    def __init__(self, *, keeps_replies: bool = True) -> None:
        """keeps_replies: without, only which samples there are, so that a million fit in memory."""
        self.keeps_replies = keeps_replies
        self.samples: dict[str, int] = {}
        self.rendered: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        self.kept: dict[str, dict[int, tuple[tuple[bool, str], Completion]]] = {}  # with (is an error, its shard)
        self.shards: set[str] = set()  # that were read

    def read(self, path: Path) -> Self:
        """Take every completion of a run's shards that were not read yet.

        Raises DataError naming the shard and line that is damaged, or the shard that is not as it was written.
        """
        key = config_digest(path)
        for shard in sorted((path / SHARDS_FOLDER).glob("*.jsonl")):
            if shard.name not in self.shards:
                self.read_shard(shard, key)
        return self

    def read_shard(self, shard: Path, key: str) -> None:
        """Take one shard; key: the digest of its run's config. Raises DataError as read, before anything is taken."""
        for completion in read_shard(shard, key):
            self.add(completion, shard.name)
        self.shards.add(shard.name)

    def add(self, completion: Completion, shard: str = UNWRITTEN) -> None:
        """Take a completion of a shard, or one that is in no shard yet."""
        hash_, index = completion.prompt_hash, completion.sample_index
        if completion.is_error:
            self.errors.pop(hash_, None)  # the last one comes last
            self.errors[hash_] = completion.finish_reason
        else:
            self.samples[hash_] = self.samples.get(hash_, 0) | 1 << index
        if self.keeps_replies:
            kept, rank = self.kept.setdefault(hash_, {}), (completion.is_error, shard)
            if index not in kept or rank < kept[index][0]:
                if completion.rendered is not None:
                    self.rendered[hash_] = digest(completion.rendered, 16)
                    completion = replace(completion, rendered=None)
                kept[index] = rank, completion

    def n_of(self, prompt_hash: str) -> int:
        """How many samples of a prompt are answered."""
        return self.samples.get(prompt_hash, 0).bit_count()

    def replies_to(self, prompt_hash: str) -> list[Completion]:
        """The answers to a prompt in the order of their samples; none where replies are not kept."""
        return [c for _, (_, c) in sorted(self.kept.get(prompt_hash, {}).items()) if not c.is_error]

    @property
    def replies(self) -> dict[str, tuple[Completion, ...]]:
        """Prompt hash → what counts in the order of the samples, engine errors too where there is no answer."""
        return {hash_: tuple(kept[index][1] for index in sorted(kept)) for hash_, kept in self.kept.items()}

    @property
    def without_errors(self) -> dict[str, tuple[Completion, ...]]:
        """The answers to the prompts that have any."""
        return {hash_: tuple(self.replies_to(hash_)) for hash_ in self.kept if hash_ in self.samples}


def read_answers(path: Path) -> Answers:
    """The completions of a run that count, without what the model read: a million prompts fill the memory."""
    return Answers().read(path)


def every_completion(path: Path) -> Iterator[Completion]:
    """Every completion of a run in the order of the shards, also those that were asked twice."""
    key = config_digest(path)
    for shard in sorted((path / SHARDS_FOLDER).glob("*.jsonl")):
        yield from read_shard(shard, key)


def read_shard(shard: Path, key: str) -> list[Completion]:
    """The completions of one shard of the run with this config digest. Raises DataError with the way out."""
    place, completions = str(shard), list[Completion]()
    try:
        content = shard.read_bytes()
        for number, record in parse_lines(content.decode().split("\n"), shard):
            place = f"{shard}:{number}"
            completions.append(completion_from(record))
        if shard.stem.rpartition("-")[2] != checksum(content, key):
            raise DataError(f"{shard}: is not as this run wrote it: it was edited, or copied from another run")
    except OSError as error:
        raise DataError(f"{shard}: cannot be read ({error.strerror})") from None
    except (DataError, ValueError) as error:
        where = error if isinstance(error, DataError) else f"{place}: is no completion ({error})"
        raise DataError(
            f"{where}. Restore it, or delete this shard and sample again: only its prompts are asked anew"
        ) from None
    return completions


def config_digest(path: Path) -> str:
    """SHA-256 of a run's config.yaml as it lies there."""
    return sha256_of(path / "config.yaml")


def checksum(content: bytes, key: str) -> str:
    """16 hex digits over a shard's bytes and its run's config digest."""
    return hashlib.sha256(key.encode() + content).hexdigest()[:16]


# Total probability of the two answers, at the median prompt of a run or of a cell (dataset and framing). Below this,
# margins rest on answers that the model almost never gives.
# Qwen2.5-Coder-1.5B has 0.98 on pocket (at least 0.92 on any prompt), the embedded 135M model 0.02 before training.
UNLIKELY = 0.1
WAY_OUT = (
    "See what it reads with `evenhand show`, switch a thinking mode off (model.chat_template_args), or use `verdict: "
    "reason`."
)
MOST_NAMED = 5
UNNAMED = "no name"


def answer_doubts(completions: Iterable[Completion], verdict: str = "") -> list[str]:
    """A plain sentence for each reason to doubt the answers of one run; errors are no answers.

    verdict: of "margin" and "self_read" also how likely the answers are over the whole run is tested; scores test each
    cell.
    """
    answerers, totals = Counter[str](), list[float]()
    for completion in completions:
        if completion.is_error:
            continue
        if completion.sample_index == 0:
            answerers[completion.answered_by or UNNAMED] += 1
        if verdict in ("margin", "self_read") and (total := answer_probability(completion)) is not None:
            totals.append(total)
    doubts, n = list[str](), len(answerers)
    if n > 1:
        named = "; ".join(f"{name} ({count:,})" for name, count in answerers.most_common(MOST_NAMED))
        doubts.append(
            f"its prompts were answered by {n} models or versions of a server: {named}"
            f"{f' and {n - MOST_NAMED} more' if n > MOST_NAMED else ''}. A score over them is no one judge's; "
            "sample anew from one of them, under another `name`."
        )
    if totals and median(totals) < UNLIKELY:
        doubts.append(
            f"the two answers together have a median probability of {median(totals):.2g} (mean {fmean(totals):.2g}): "
            "the judge would mostly begin its reply with something else, so its margins may say little of what it "
            f"would answer. {WAY_OUT}"
        )
    return doubts


def answer_probability(completion: Completion) -> float | None:
    """The probability of its answers together; None where their log-probabilities are unknown."""
    logprobs = completion.answer_logprobs
    return math.fsum(math.exp(min(value, 0.0)) for value in logprobs.values()) if logprobs else None

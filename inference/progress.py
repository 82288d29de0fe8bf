"""How far a sampling run has come, told from its directory: all shards together, whoever writes them."""

from itertools import pairwise
from pathlib import Path

from evenhand.completion_shards import SHARDS_FOLDER
from evenhand.errors import EvenhandError
from evenhand.excluded_units import read_excluded
from evenhand.run_directory import PLAN_FILE, PROVENANCE_FILE, is_done
from evenhand.status.progress import Progress, config_of, json_of, seconds_since, short, time_of, whole_lines

RATE_OVER_S = 1800.0  # the rate is that of the last half hour in which something was written
STILL_WRITING_S = 600.0  # the time left is told while the last write is not older than this, or three usual pauses


def watched(path: Path) -> "WatchedSampling":
    """What looks at a sampling run."""
    return WatchedSampling(path)


class WatchedSampling:
    """A sampling run. A shard never changes, so each is read once however often one looks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        sampling = config_of(path).get("sampling")
        n = sampling.get("n") if isinstance(sampling, dict) else None
        self.n: int = n if isinstance(n, int) else 1
        self.plan_read: object = None  # which plan was read last
        self.owed: dict[int, int] = {}  # hash of a planned prompt → how many answers it takes
        self.forget_shards()

    def forget_shards(self) -> None:
        """Begin anew: a shard was deleted."""
        self.shards: set[str] = set()
        self.answered: dict[int, int] = {}  # hash → the samples that are there, as bits
        self.failed: dict[int, str] = {}  # hash → why the engine gave no reply
        self.damaged: dict[Path, int] = {}  # shard → lines that are no completions
        self.writes: list[tuple[float, int]] = []  # (time, answers that were new)

    def look(self) -> list[Progress]:
        """The run as one stage."""
        is_complete = is_done(self.path)  # before the shards: those that it counts are then there
        troubles: list[str] = []
        try:
            excluded = frozenset(read_excluded(self.path))
        except EvenhandError as error:
            excluded = frozenset()
            troubles.append(str(error))
        self.read_plan(excluded)
        troubles += self.read_shards()
        unplanned = sum(bits.bit_count() for hash_, bits in self.answered.items() if hash_ not in self.owed)
        done = unplanned + sum(min(n, self.answered.get(hash_, 0).bit_count()) for hash_, n in self.owed.items())
        planned = unplanned + sum(self.owed.values()) if self.plan_read else None
        grows = unplanned > 0 or bool(json_of(self.path / PROVENANCE_FILE).get("plan_grows"))
        rate = None if is_complete else self.rate()
        ago = seconds_since([self.path / SHARDS_FOLDER, self.path / PLAN_FILE])
        return [
            Progress(
                kind="sampling",
                path=self.path,
                state="complete" if is_complete else "unfinished",
                counts="answers",
                done=None if planned is None else done,
                planned=planned,
                plan_grows=grows and not is_complete,
                per_second=rate,
                seconds_left=None if planned is None or grows else self.time_left(planned - done, rate, ago),
                written_s_ago=ago,
                note=self.note(len(excluded), troubles),
            )
        ]

    def read_plan(self, excluded: frozenset[str]) -> None:
        """Read the plan where it or what is left out is new: it is replaced whole."""
        file = self.path / PLAN_FILE
        try:
            facts = file.stat()
            key = (facts.st_ino, facts.st_mtime_ns, excluded)
            if self.plan_read == key:
                return
            owed: dict[int, int] = {}
            for line in whole_lines(file):
                if (hash_ := number_of(line.get("prompt_hash"))) is not None:
                    n = 0 if line.get("item_id") in excluded else line.get("n", self.n)
                    owed[hash_] = max(owed.get(hash_, 0), n)
        except OSError:
            return
        self.owed, self.plan_read = owed, key

    def read_shards(self) -> list[str]:
        """Read the shards that are new; what is wrong with those that cannot be read."""
        there = {file.name: file for file in (self.path / SHARDS_FOLDER).glob("*.jsonl")}
        if not self.shards <= there.keys():
            self.forget_shards()
        troubles = []
        for name in sorted(there.keys() - self.shards):
            try:
                self.read_shard(there[name])
            except OSError as error:
                troubles.append(f"{there[name]}: cannot be read ({error.strerror})")
        return troubles

    def read_shard(self, file: Path) -> None:
        """Take what a shard adds. One that does not end with a line is read again the next time."""
        self.damaged.pop(file, None)
        n_new = 0
        for line in whole_lines(file):
            hash_, index, reason = (
                number_of(line.get("prompt_hash")),
                line.get("sample_index"),
                line.get("finish_reason"),
            )
            if hash_ is None or not isinstance(index, int) or not isinstance(reason, str):
                self.damaged[file] = self.damaged.get(file, 0) + 1
                continue
            if reason.startswith("error"):
                self.failed[hash_] = reason
                continue
            before = self.answered.get(hash_, 0)
            self.answered[hash_] = before | 1 << index
            n_new += self.answered[hash_] != before
        if ends_with_a_line(file):
            self.shards.add(file.name)
        self.writes.append((written_at(file), n_new))

    def rate(self) -> float | None:
        """New answers a second over the last half hour of writing, engines' starts counted; None before any."""
        if not (began := time_of(self.path / PROVENANCE_FILE)) or not self.writes:
            return None
        last = max(time for time, _ in self.writes)
        since = max(began, last - RATE_OVER_S)
        n_new = sum(n for time, n in self.writes if since < time)
        return n_new / (last - since) if last > since else None

    def time_left(self, n_left: int, rate: float | None, ago: float | None) -> float | None:
        """Seconds to the last answer at this rate; None where nobody seems to write any more."""
        times = sorted(time for time, _ in self.writes)[-20:]
        pause = max((later - time for time, later in pairwise(times)), default=0.0)
        if not rate or ago is None or ago > max(STILL_WRITING_S, 3 * pause):
            return None
        return n_left / rate

    def note(self, n_excluded: int, troubles: list[str]) -> str | None:
        """What is wrong, or what is left out."""
        failed = [reason for hash_, reason in self.failed.items() if hash_ not in self.answered]
        told = [*troubles, *(f"{file}: {n} lines are no completions" for file, n in self.damaged.items())]
        if failed:
            told.append(f"{len(failed)} prompts got no reply so far, the last reason: {short(failed[-1])}")
        if n_excluded:
            told.append(f"{n_excluded} items are left out, since they do not fit the context window")
        return "; ".join(told) or None


def number_of(hash_: object) -> int | None:
    """A prompt's hash as a number, which takes less memory; None for what is none."""
    try:
        return int(hash_, 16) if isinstance(hash_, str) else None
    except ValueError:
        return None


def written_at(shard: Path) -> float:
    """When a shard was written: its name says so."""
    began = shard.name.partition("-")[0]
    return int(began) / 1e9 if began.isdecimal() else time_of(shard) or 0.0


def ends_with_a_line(file: Path) -> bool:
    """Whether the last line of a file is whole."""
    with file.open("rb") as content:
        size = content.seek(0, 2)
        content.seek(max(0, size - 1))
        return size == 0 or content.read(1) == b"\n"

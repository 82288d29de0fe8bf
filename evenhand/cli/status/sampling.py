"""How far a sampling run has come, told from its directory: all shards together, whoever writes them."""

from itertools import pairwise
from pathlib import Path

from evenhand.cli.status.progress import Progress, config_of, json_of, seconds_since, short, time_of, whole_lines
from evenhand.completions import SHARDS_FOLDER, Answers, config_digest, read_excluded
from evenhand.errors import EvenhandError
from evenhand.run_directory import PLAN_FILE, PROVENANCE_FILE, is_done, refuse_incomplete

RATE_OVER_S = 1800.0  # the rate is that of the last half hour in which something was written
N_NAMED = 3  # damaged shards
STILL_WRITING_S = 600.0  # the time left is shown while the last write is not older than this, or three usual pauses


class WatchedSampling:
    """A sampling run. A shard never changes, so each is read once however often one looks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        sampling = config_of(path).get("sampling")
        n = sampling.get("n") if isinstance(sampling, dict) else None
        self.n: int = n if isinstance(n, int) else 1
        self.plan_read: object = None  # which plan was read last
        self.owed: dict[str, int] = {}  # hash of a planned prompt → how many answers it takes
        self.forget_shards()

    def forget_shards(self) -> None:
        """Begin anew: a shard was deleted."""
        self.answers = Answers(keeps_replies=False)
        self.writes: list[tuple[float, int]] = []  # (time, answers that were new)

    def look(self) -> list[Progress]:
        """The run as one stage."""
        is_complete = is_done(self.path)  # before the shards: those that it counts are then there
        troubles, excluded = list[str](), frozenset[str]()
        try:
            excluded = frozenset(read_excluded(self.path))
            if is_complete:
                refuse_incomplete(self.path)
        except EvenhandError as error:
            troubles.append(str(error))
        self.read_plan(excluded)
        damaged = self.read_shards()
        troubles += [*damaged[:N_NAMED], *([f"{len(damaged) - N_NAMED} more shards"] if damaged[N_NAMED:] else [])]
        counts = {hash_: bits.bit_count() for hash_, bits in self.answers.samples.items()}
        unplanned = sum(n for hash_, n in counts.items() if hash_ not in self.owed)
        done = unplanned + sum(min(n, counts.get(hash_, 0)) for hash_, n in self.owed.items())
        planned = unplanned + sum(self.owed.values()) if self.plan_read else None
        is_complete = is_complete and done == planned and not troubles  # what can be scored
        grows = unplanned > 0 or bool(json_of(self.path / PROVENANCE_FILE).get("plan_grows"))
        rate = None if is_complete else self.rate()
        ago = seconds_since([self.path / SHARDS_FOLDER, self.path / PLAN_FILE])
        failed = [reason for hash_, reason in self.answers.errors.items() if hash_ not in counts]
        if failed:
            troubles.append(f"{len(failed)} prompts got no reply so far, the last reason: {short(failed[-1])}")
        if excluded:
            troubles.append(f"{len(excluded)} items are left out, since they do not fit the context window")
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
                note="; ".join(troubles) or None,
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
            owed: dict[str, int] = {}
            for line in whole_lines(file):
                if isinstance(hash_ := line.get("prompt_hash"), str):
                    n = 0 if str(line.get("item_id")) in excluded else line.get("n", self.n)
                    owed[hash_] = max(owed.get(hash_, 0), n if isinstance(n, int) else self.n)
        except OSError:
            return
        self.owed, self.plan_read = owed, key

    def read_shards(self) -> list[str]:
        """Read the shards that are new; what is wrong with the others, which the next look reads again."""
        there = {file.name: file for file in (self.path / SHARDS_FOLDER).glob("*.jsonl")}
        if not self.answers.shards <= there.keys():
            self.forget_shards()
        troubles = []
        for name in sorted(there.keys() - self.answers.shards):
            before = self.answers.n_answers
            try:
                self.answers.read_shard(there[name], config_digest(self.path))
            except EvenhandError as error:
                troubles.append(str(error).split(". Restore")[0])
            else:
                self.writes.append((written_at(there[name]), self.answers.n_answers - before))
        return troubles

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


def written_at(shard: Path) -> float:
    """When a shard was written: its name says so."""
    began = shard.name.partition("-")[0]
    return int(began) / 1e9 if began.isdecimal() else time_of(shard) or 0.0

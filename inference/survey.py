"""What a run asks and what it lacks, counted without holding any of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.excluded_units import read_excluded
from evenhand.records import Completion, Prompt, digest
from inference.answered import Answered
from inference.config import InferenceConfig
from inference.schedule import replayed
from studies.study import Unit


@dataclass(frozen=True)
class Run:
    """What is asked, and where it is written."""

    path: Path
    config: InferenceConfig
    units: Sequence[Unit]
    plan_grows: bool

    def answered(self, completions: Iterable[Completion] = ()) -> Answered:
        """These answers."""
        return Answered(self.config.sampling, keeps_replies=self.plan_grows, completions=completions)


class Survey:
    """What a run asks and lacks, counted in one pass over its units."""

    def __init__(self, run: Run, answered: Answered, shard: tuple[int, int] | None = None) -> None:
        self.run, self.answered, self.shard = run, answered, shard
        self.excluded = read_excluded(run.path)
        self.begin()

    def begin(self) -> None:
        """Forget what was counted."""
        self.n_planned = 0
        self.texts = set[str]()  # hashes of what is planned
        self.owed = set[str]()  # hashes of what lacks replies
        self.own: dict[str, int] = {}  # of what this process is to ask, with how many answers it takes
        self.own_units: list[int] = []  # places of its units
        self.is_over = True  # whether no unit has anything left to ask

    def prompts(self) -> Iterator[Prompt]:
        """Every prompt known so far, unit by unit, in the order in which each asks; counted on the way."""
        self.begin()
        for place, one in enumerate(replayed(self.run.units, self.answered)):
            unit_id = one.unit.unit_id
            is_own, is_left_out = in_shard(unit_id, self.shard), unit_id in self.excluded
            if is_own:
                self.own_units.append(place)
            for prompt in one.planned:
                self.n_planned += 1
                self.texts.add(prompt.prompt_hash)
                yield prompt
            if is_left_out:
                continue
            self.is_over &= one.is_over
            self.owed.update(one.lacking)
            if is_own:
                sampling = self.answered.sampling
                self.own.update({hash_: sampling.n_for(prompt) for hash_, prompt in one.lacking.items()})


def in_shard(unit_id: str, shard: tuple[int, int] | None) -> bool:
    """Whether a unit is in shard i of n. Every process cuts alike, whatever is already answered.

    A unit is asked by one process, since its prompts share most of their text and later ones hang on earlier replies.
    """
    return shard is None or int(digest(unit_id, 16), 16) % shard[1] == shard[0]

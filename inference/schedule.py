"""What a run asks next: each unit goes on as soon as its own replies are there, and waits for no other unit.

Resuming is replaying: the same pure functions over the completions on disk give what is owed. Units are made when
their turn comes and forgotten when they are over, so that no run is too long for the memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.completions import Answers, read_excluded
from evenhand.records import Completion, Prompt, digest
from evenhand.study import OneRound, Unit, Units, check_no_repeats
from inference.config import InferenceConfig, SamplingConfig

AHEAD = 32_768  # prompts that are handed out before their replies: twice what an engine holds, sorted as one piece


@dataclass
class Progress:
    """How far a unit has come."""

    unit: Unit
    planned: list[Prompt] = field(default_factory=list)  # all rounds so far
    lacking: dict[str, Prompt] = field(default_factory=dict)  # of them by hash, those without all of their replies


def advance(progress: Progress, answers: Answers, sampling: SamplingConfig) -> None:
    """Have a unit say what it asks next, until that lacks replies or it is over."""
    unit = progress.unit
    assert answers.keeps_replies or isinstance(unit, OneRound), "units of a run are of one kind"
    while not progress.lacking:
        replies = {prompt.prompt_hash: answers.replies_to(prompt.prompt_hash) for prompt in progress.planned}
        if not (prompts := unit.next_prompts(replies)):
            break
        is_new = any(prompt.prompt_hash not in replies for prompt in prompts)
        assert is_new, f"{unit.unit_id} asks again what was answered; next_prompts must return nothing when it is over"
        for prompt in prompts:
            assert prompt.item_id == unit.unit_id, f"{unit.unit_id} asks about {prompt.item_id}"
            progress.planned.append(prompt)
            if answers.n_of(prompt.prompt_hash) < sampling.n_for(prompt):
                progress.lacking[prompt.prompt_hash] = prompt


def replayed(units: Iterable[Unit], answers: Answers, sampling: SamplingConfig) -> Iterator[Progress]:
    """Each unit as far as the answers bring it. Raises DataError at the end when two have one id."""
    ids = []
    for unit in units:
        ids.append(unit.unit_id)
        progress = Progress(unit)
        advance(progress, answers, sampling)
        yield progress
    check_no_repeats(ids, "units of this run")


class Plan:
    """What a run asks and lacks, counted in one pass over its units that holds none of them."""

    def __init__(
        self, path: Path, config: InferenceConfig, units: Units, answers: Answers, shard: tuple[int, int] | None = None
    ) -> None:
        """path: the run's folder. answers: what lies there. shard: the part of the run that this process asks."""
        self.path, self.config, self.units, self.answers, self.shard = path, config, units, answers, shard
        self.excluded = read_excluded(path)
        self.n_planned = 0
        self.hashes = set[str]()  # of what is planned
        self.owed: dict[str, int] = {}  # hash of what lacks replies → how many answers it takes
        self.own: dict[str, int] = {}  # of them, what this process is to ask
        self.own_units: list[int] = []  # places of the units that this process may have to ask

    def prompts(self) -> Iterator[Prompt]:
        """Every prompt known so far, unit by unit, in the order in which each asks; counted on the way, once."""
        sampling, plan_grows = self.config.sampling, self.units.plan_grows
        for place, progress in enumerate(replayed(self.units.units, self.answers, sampling)):
            unit_id = progress.unit.unit_id
            for prompt in progress.planned:
                self.n_planned += 1
                self.hashes.add(prompt.prompt_hash)
                yield prompt
            if unit_id in self.excluded:
                continue
            owed = {hash_: sampling.n_for(prompt) for hash_, prompt in progress.lacking.items()}
            self.owed |= owed
            if in_shard(unit_id, self.shard):
                self.own |= owed
                if owed or plan_grows:
                    self.own_units.append(place)


def in_shard(unit_id: str, shard: tuple[int, int] | None) -> bool:
    """Whether a unit is in shard i of n. Every process cuts alike, whatever is already answered.

    A unit is asked by one process, since its prompts share most of their text and later ones hang on earlier replies.
    """
    return shard is None or int(digest(unit_id, 16), 16) % shard[1] == shard[0]


class Schedule:
    """Hands out the prompts of a run, or of one process's part of it, and takes their replies."""

    def __init__(self, units: Iterable[Unit], answers: Answers, sampling: SamplingConfig) -> None:
        self.units, self.answers, self.sampling = units, answers, sampling
        self.unanswered = set[str]()  # hashes of prompts whose replies could not be had
        self.left_out = set[str]()
        self.begin()

    def begin(self, left_out: Iterable[str] = ()) -> None:
        """Go over all units anew, by the answers as they are now, without those that could not be had.

        left_out: ids of further units that are not asked.
        """
        self.left_out.update(left_out)
        self.coming = (unit for unit in self.units if unit.unit_id not in self.left_out)
        self.waiting: dict[str, list[Progress]] = {}  # hash of a prompt that was handed out → the units that wait
        self.fresh: list[Prompt] = []  # to be handed out

    def due(self) -> Sequence[Prompt]:
        """What is to be asked now: each prompt once, so that neighbours share the longest beginnings."""
        if len(self.waiting) < AHEAD // 2:
            for unit in self.coming:
                progress = Progress(unit)
                advance(progress, self.answers, self.sampling)
                self.hand_out(progress)
                if len(self.waiting) >= AHEAD:
                    break
        fresh, self.fresh = self.fresh, []
        return in_prefix_order(fresh)

    def add(self, completion: Completion) -> None:
        """Take a reply; the units that waited for it go on. An engine error is no reply, and not asked again here."""
        hash_ = completion.prompt_hash
        self.answers.add(completion)
        if completion.is_error:
            self.unanswered.add(hash_)
            self.waiting.pop(hash_, None)
            return
        waiting = self.waiting.get(hash_, [])
        if not waiting or self.answers.n_of(hash_) < self.sampling.n_for(waiting[0].lacking[hash_]):
            return
        del self.waiting[hash_]
        for progress in waiting:
            del progress.lacking[hash_]
            if not progress.lacking:
                advance(progress, self.answers, self.sampling)
                self.hand_out(progress)

    def hand_out(self, progress: Progress) -> None:
        """Have what a unit lacks asked, unless it is under way already."""
        for hash_, prompt in progress.lacking.items():
            if hash_ not in self.unanswered:
                if hash_ not in self.waiting:
                    self.fresh.append(prompt)
                self.waiting.setdefault(hash_, []).append(progress)


def first_due(units: Units, sampling: SamplingConfig, shard: tuple[int, int] | None) -> Sequence[Prompt]:
    """What a process asks first where nothing is answered yet."""
    own = (unit for unit in units.units if in_shard(unit.unit_id, shard))
    return Schedule(own, Answers(keeps_replies=units.plan_grows), sampling).due()


def in_prefix_order(prompts: Sequence[Prompt]) -> list[Prompt]:
    """The prompts so that neighbours share the longest beginnings, for engines that keep what they have computed.

    The order of their texts: it visits every shared beginning once, and depends on nothing but the prompts themselves.
    """
    return sorted(prompts, key=lambda prompt: [(message.role, message.content) for message in prompt.messages])


def prompts_of(units: Units, sampling: SamplingConfig) -> Iterator[Prompt]:
    """What units ask before there is any reply: all of it, where no study waits for replies."""
    answers = Answers(keeps_replies=units.plan_grows)
    return (prompt for progress in replayed(units.units, answers, sampling) for prompt in progress.planned)


def first_prompts(config: InferenceConfig) -> list[Prompt]:
    """What a run asks before there is any reply."""
    return list(prompts_of(config.units(), config.sampling))

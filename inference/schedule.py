"""What a run asks next: each unit goes on as soon as its own replies are there, and waits for no other unit.

Resuming is replaying: the same pure functions over the completions on disk give what is owed.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from evenhand.errors import DataError
from evenhand.records import Completion, Prompt
from inference.config import InferenceConfig, SamplingConfig
from inference.drawing import n_samples
from studies.study import OneRound, Unit
from studies.unit_sets import refuse_repeats


@dataclass
class Progress:
    """How far a unit has come."""

    unit: Unit
    planned: list[Prompt] = field(default_factory=list)  # all rounds so far
    waiting_for: set[str] = field(default_factory=set)  # hashes without all of their replies
    replies: dict[str, list[Completion]] = field(default_factory=dict)
    n_read: int = 0  # of the planned prompts, how many have their replies there
    is_over: bool = False
    is_left_out: bool = False


class Schedule:
    """The units of a run (or of one process's part of it), their replies, and what is to be asked."""

    def __init__(
        self,
        units: Iterable[Unit],
        sampling: SamplingConfig,
        answered: Iterable[Completion] = (),
        left_out: Container[str] = (),
    ) -> None:
        """answered: completions in the order in which they count: of two for one sample the first is taken.

        left_out: ids of units that are planned as far as they came, and owe nothing.
        """
        self.sampling = sampling
        self.have: dict[str, set[int]] = {}  # prompt hash → samples that are there
        self.replies: dict[str, dict[int, Completion]] = {}  # the same with what they say, where a unit reads it
        self.needed: dict[str, int] = {}  # hash of a planned prompt → how many samples it takes
        self.asked: set[str] = set()  # handed out, or answered before
        self.waiting: dict[str, list[Progress]] = {}  # hash → the units that wait for it
        self.fresh: list[Prompt] = []  # planned and not handed out
        self.progress = [Progress(unit, is_left_out=unit.unit_id in left_out) for unit in units]
        refuse_repeats((one.unit.unit_id for one in self.progress), "units of this run")
        self.keeps_replies = not all(isinstance(one.unit, OneRound) for one in self.progress)
        for completion in answered:
            self.remember(completion)
        for one in self.progress:
            self.advance(one)

    @property
    def planned(self) -> list[Prompt]:
        """Every prompt known so far, unit by unit, in the order in which each asks."""
        return [prompt for one in self.progress for prompt in one.planned]

    @property
    def owed(self) -> list[Prompt]:
        """The distinct prompts that are planned and lack a reply."""
        planned = (prompt for one in self.progress if not one.is_left_out for prompt in one.planned)
        lacking = {p.prompt_hash: p for p in planned if not self.is_answered(p.prompt_hash)}
        return list(lacking.values())

    @property
    def is_over(self) -> bool:
        """Whether no unit has anything left to ask."""
        return all(one.is_over or one.is_left_out for one in self.progress)

    def due(self) -> Sequence[Prompt]:
        """What became askable since the last call; each prompt once."""
        fresh, self.fresh = self.fresh, []
        return fresh

    def leave_out(self, unit_ids: Container[str]) -> None:
        """Ask nothing more of these units. What is owed without them is in `owed`; nothing else is due."""
        self.fresh = []
        for one in self.progress:
            one.is_left_out |= one.unit.unit_id in unit_ids

    def add(self, completion: Completion) -> None:
        """Take a reply; the units that waited for it go on. An engine error is no reply."""
        hash_ = completion.prompt_hash
        self.remember(completion)
        if not self.is_answered(hash_):
            return
        for one in self.waiting.pop(hash_, ()):
            one.waiting_for.discard(hash_)
            if not one.is_left_out:
                self.advance(one)

    def remember(self, completion: Completion) -> None:
        """Keep that a reply is there, and what units read of it."""
        if completion.is_error:
            return
        self.have.setdefault(completion.prompt_hash, set()).add(completion.sample_index)
        if self.keeps_replies:
            of_prompt = self.replies.setdefault(completion.prompt_hash, {})
            of_prompt.setdefault(completion.sample_index, replace(completion, rendered=None))

    def is_answered(self, hash_: str) -> bool:
        """Whether every sample of a planned prompt is there."""
        return len(self.have.get(hash_, ())) >= self.needed[hash_]

    def advance(self, one: Progress) -> None:
        """Have a unit say what it asks next, until that lacks replies or it is over."""
        while not one.waiting_for and not one.is_over:
            for prompt in one.planned[one.n_read :]:
                of_prompt = self.replies.get(prompt.prompt_hash, {})
                one.replies[prompt.prompt_hash] = [of_prompt[index] for index in sorted(of_prompt)]
            one.n_read = len(one.planned)
            prompts = one.unit.next_prompts(one.replies)
            one.is_over = not prompts
            news = any(prompt.prompt_hash not in one.replies for prompt in prompts)
            if not (news or one.is_over):
                raise DataError(
                    f"unit '{one.unit.unit_id}' asks again what was answered; next_prompts must return nothing when "
                    "it is finished"
                )
            for prompt in prompts:
                self.plan(prompt, one)

    def plan(self, prompt: Prompt, one: Progress) -> None:
        """Add a prompt to what a unit has asked, and to what is to be asked unless it is or was."""
        assert prompt.item_id == one.unit.unit_id, f"{one.unit.unit_id} asks about {prompt.item_id}"
        hash_ = prompt.prompt_hash
        one.planned.append(prompt)
        self.needed[hash_] = n_samples(prompt, self.sampling)
        if self.is_answered(hash_):
            return
        one.waiting_for.add(hash_)
        if one.is_left_out:
            return
        self.waiting.setdefault(hash_, []).append(one)
        if hash_ not in self.asked:
            self.asked.add(hash_)
            self.fresh.append(prompt)


def first_prompts(config: InferenceConfig) -> list[Prompt]:
    """What a run asks before there is any reply: all of it, where no study waits for replies."""
    return Schedule(config.study.units(config.verdict).units, config.sampling).planned

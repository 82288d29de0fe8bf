"""What a run asks next: each unit goes on as soon as its own replies are there, and waits for no other unit.

Resuming is replaying: the same pure functions over the completions on disk give what is owed. Units are made when
their turn comes and forgotten when they are over, so that no run is too long for the memory.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from evenhand.errors import DataError
from evenhand.records import Completion, Prompt
from inference.answered import Answered
from inference.config import InferenceConfig, SamplingConfig
from inference.prefix_order import in_prefix_order
from studies.study import OneRound, Unit, Units
from studies.unit_sets import refuse_repeats

AHEAD = 32_768  # prompts that are handed out before their replies: twice what an engine holds, sorted as one piece


@dataclass
class Progress:
    """How far a unit has come."""

    unit: Unit
    planned: list[Prompt] = field(default_factory=list)  # all rounds so far
    lacking: dict[str, Prompt] = field(default_factory=dict)  # of them by hash, those without all of their replies
    replies: dict[str, list[Completion]] = field(default_factory=dict)
    n_read: int = 0  # of the planned prompts, how many have their replies there
    is_over: bool = False


def advance(one: Progress, answered: Answered) -> None:
    """Have a unit say what it asks next, until that lacks replies or it is over."""
    assert answered.keeps_replies or isinstance(one.unit, OneRound), "units of a run are of one kind"
    while not one.lacking and not one.is_over:
        for prompt in one.planned[one.n_read :]:
            one.replies[prompt.prompt_hash] = answered.replies_to(prompt)
        one.n_read = len(one.planned)
        prompts = one.unit.next_prompts(one.replies)
        one.is_over = not prompts
        if prompts and all(prompt.prompt_hash in one.replies for prompt in prompts):
            raise DataError(
                f"unit '{one.unit.unit_id}' asks again what was answered; next_prompts must return nothing when "
                "it is finished"
            )
        for prompt in prompts:
            assert prompt.item_id == one.unit.unit_id, f"{one.unit.unit_id} asks about {prompt.item_id}"
            one.planned.append(prompt)
            if not answered.has_all_of(prompt):
                one.lacking[prompt.prompt_hash] = prompt


def replayed(units: Iterable[Unit], answered: Answered) -> Iterator[Progress]:
    """Each unit as far as the answers bring it. Raises DataError at the end when two have one id."""
    ids = []
    for unit in units:
        ids.append(unit.unit_id)
        one = Progress(unit)
        advance(one, answered)
        yield one
    refuse_repeats(ids, "units of this run")


class Schedule:
    """Hands out the prompts of a run, or of one process's part of it, and takes their replies."""

    def __init__(
        self,
        units: Sequence[Unit],
        answered: Answered,
        left_out: Container[str] = (),
        not_again: Collection[str] = (),
    ) -> None:
        """left_out: ids of units that are not asked. not_again: hashes of prompts that got no reply here."""
        self.units, self.answered = units, answered
        self.coming = (unit for unit in units if unit.unit_id not in left_out)
        self.waiting: dict[str, list[Progress]] = {}  # hash of a prompt that was handed out → the units that wait
        self.unanswered = set(not_again)  # hashes of prompts whose replies could not be had
        self.fresh: list[Prompt] = []  # to be handed out
        self.n_asked = 0  # prompts
        self.n_expected = 0  # answers: what the caller knows to be lacking, and what replies lead to
        self.n_taken = 0  # of them, errors too

    def due(self) -> Sequence[Prompt]:
        """What is to be asked now: each prompt once, so that neighbours share the longest beginnings."""
        if len(self.waiting) < AHEAD // 2:
            for unit in self.coming:
                one = Progress(unit)
                advance(one, self.answered)
                self.hand_out(one)
                if len(self.waiting) >= AHEAD:
                    break
        fresh, self.fresh = self.fresh, []
        self.n_asked += len(fresh)
        return in_prefix_order(fresh)

    def add(self, completion: Completion) -> None:
        """Take a reply; the units that waited for it go on. An engine error is no reply, and not asked again here."""
        hash_ = completion.prompt_hash
        self.n_taken += 1
        if completion.is_error:
            self.unanswered.add(hash_)
            self.waiting.pop(hash_, None)
            return
        self.answered.add(completion)
        waiting = self.waiting.get(hash_, [])
        if not waiting or not self.answered.has_all_of(waiting[0].lacking[hash_]):
            return
        del self.waiting[hash_]
        before = len(self.fresh)
        for one in waiting:
            del one.lacking[hash_]
            if not one.lacking:
                advance(one, self.answered)
                self.hand_out(one)
        self.n_expected += self.n_answers(self.fresh[before:])

    def hand_out(self, one: Progress) -> None:
        """Have what a unit lacks asked, unless it is under way already."""
        for hash_, prompt in one.lacking.items():
            if hash_ not in self.unanswered:
                if hash_ not in self.waiting:
                    self.fresh.append(prompt)
                self.waiting.setdefault(hash_, []).append(one)

    def leave_out(self, unit_ids: Container[str]) -> None:
        """Ask nothing more of these units, and once more what others lack: nothing is under way."""
        begun = {id(one): one for of_prompt in self.waiting.values() for one in of_prompt}
        handed_out = {hash_: of_prompt[0].lacking[hash_] for hash_, of_prompt in self.waiting.items()}
        self.waiting, self.fresh = {}, []
        for one in begun.values():
            if one.unit.unit_id not in unit_ids:
                self.hand_out(one)
        self.n_asked -= len(self.fresh)
        self.n_expected -= self.n_answers(handed_out.values()) - self.n_answers(self.fresh)

    def n_answers(self, prompts: Iterable[Prompt]) -> int:
        """That prompts take."""
        return sum(self.answered.sampling.n_for(prompt) for prompt in prompts)


def prompts_of(units: Units, sampling: SamplingConfig) -> Iterator[Prompt]:
    """What units ask before there is any reply."""
    answered = Answered(sampling, keeps_replies=units.plan_grows)
    return (prompt for one in replayed(units.units, answered) for prompt in one.planned)


def first_prompts(config: InferenceConfig) -> list[Prompt]:
    """What a run asks before there is any reply: all of it, where no study waits for replies."""
    return list(prompts_of(config.study.units(config.verdict), config.sampling))

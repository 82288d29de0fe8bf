"""A unit whose next question hangs on its earlier replies, written as a generator instead of a state machine.

The generator yields the prompts of a step and is sent the replies so far once all of them are answered. It must be a
pure function of what it is sent, as every unit is: a run that was killed is continued by starting it anew.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Generic, TypeVar

from evenhand.records import Completion, Prompt
from evenhand.study import Replies

Outcome = TypeVar("Outcome")
Steps = Generator[Sequence[Prompt], Replies, Outcome]


class Stepwise(Generic[Outcome]):
    """A unit made of a generator, which is kept where it stands: the next call goes on from there, if it can."""

    def __init__(self, unit_id: str, steps: Callable[[], Steps[Outcome]]) -> None:
        self.unit_id = unit_id
        self.steps = steps
        self.restart()

    def restart(self) -> None:
        """Back to before the first step."""
        self.running = self.steps()
        self.read: dict[str, Sequence[Completion]] = {}  # prompt hash → the replies that were sent
        self.waiting: dict[str, Prompt] | None = None  # by hash: those of the step that it stands at; None at the end
        self.outcome: Outcome | None = None
        self.go_on(None)

    def go_on(self, replies: Replies | None) -> None:
        """One step further."""
        try:
            step = next(self.running) if replies is None else self.running.send(replies)
            self.waiting = {prompt.prompt_hash: prompt for prompt in step}
        except StopIteration as end:
            self.waiting, self.outcome = None, end.value

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """Those of the first step with an unanswered one; see Unit. A prompt that was answered is not asked again."""
        if any(replies.get(hash_) != sent for hash_, sent in self.read.items()):
            self.restart()
        while self.waiting is not None:
            owed = [prompt for hash_, prompt in self.waiting.items() if hash_ not in replies]
            if owed:
                return owed
            self.read |= {hash_: replies[hash_] for hash_ in self.waiting}
            self.go_on(replies)
        return ()

    def result(self, replies: Mapping[str, Sequence[Completion]]) -> Outcome:
        """What the generator returns. Raises LookupError when replies lack."""
        if owed := self.next_prompts(replies):
            raise LookupError(f"{self.unit_id}: {len(owed)} prompts of its next step have no reply")
        assert self.waiting is None
        return self.outcome  # type: ignore[return-value]

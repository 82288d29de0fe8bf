"""The judge reads itself: behind each written reply a further turn asks for the symbol of its answer alone.

What it would say there is read as exact probabilities of the options; a server is held to a schema of them. The turns
lie over the prompts of any study, behind its patch, and stand in the plan beside the replies that they are about.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from evenhand.records import Completion, Message, Prompt, SamplingOverride, answer_schema
from evenhand.study import LazyUnits, Replies, Unit, Units

Question = Callable[[Prompt], str | None]  # see StudySection.symbol_question


@dataclass(frozen=True, slots=True)
class SelfReadUnit:
    """A unit whose written replies are each followed by the turn that asks for the symbol."""

    unit: Unit
    question: Question

    @property
    def unit_id(self) -> str:
        return self.unit.unit_id

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """The unit's own prompts, and behind those that are answered the turns about them; see evenhand.study.Unit."""
        answered: dict[str, Sequence[Completion]] = {}
        turns: list[Prompt] = []
        while prompts := self.unit.next_prompts(answered):
            due = [*turns, *prompts]
            if any(prompt.prompt_hash not in replies for prompt in due):
                return due
            answered |= {prompt.prompt_hash: replies[prompt.prompt_hash] for prompt in prompts}
            turns = [turn for prompt in prompts for turn in self.turns(prompt, replies[prompt.prompt_hash])]
        return () if all(turn.prompt_hash in replies for turn in turns) else turns

    def turns(self, prompt: Prompt, replies: Sequence[Completion]) -> Iterator[Prompt]:
        """What is asked behind each reply to a prompt that says anything."""
        question = self.question(prompt)
        for reply in replies if question else ():
            if text := reply.text.strip():
                messages = (Message(role="assistant", content=text), Message(role="user", content=str(question)))
                yield replace(
                    prompt,
                    messages=(*prompt.messages, *messages),
                    drawing=SamplingOverride(temperature=0.0, n=1, json_schema=answer_schema(prompt.answer_space)),
                    reads=(prompt.prompt_hash, reply.sample_index),
                )


def self_read_units(units: Units, question: Question) -> Units:
    """The same units, each of whose replies the judge reads itself."""
    return Units(LazyUnits(units.units, lambda unit: SelfReadUnit(unit, question)), units.content_hash)

"""A patch of the prompt: what an arm changes in how a judge is asked, at no cost of training.

An arm is (checkpoint, patch, decision rule). A patch is laid over the prompts of any study, between its units and the
engine, so that a run's plan and hashes are those of the patched prompts.

The judge reads itself in the same way: behind each written reply a further turn asks for the symbol of its answer
alone. What it would say there is read as exact probabilities of the options; a server is held to a schema of them. The
turns stand in the plan beside the replies that they are about.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from pydantic import Field, model_validator

from evenhand.chat_templates import THINKING_NAMES
from evenhand.config import Closed, is_none
from evenhand.records import Completion, Message, Prompt, SamplingOverride, answer_schema
from evenhand.study import LazyUnits, OneRound, Replies, StudySection, Unit, Units

Chat = tuple[Message, ...]
NAMES = {"system": "system prompt", "reminder": "reminder", "statement_first": "statement first"}
THINKING = {True: "thinking on", False: "thinking off"}


class PatchConfig(Closed):
    """What a run changes in the prompts of its study; runs that differ in this alone are compared like for like."""

    name: str = ""  # of the arm; by default what the patch sets, such as system prompt + reminder
    # A system prompt; a study's own goes on behind it, in the same message
    system: str | None = Field(default=None, min_length=1, exclude_if=is_none)
    reminder: str | None = Field(default=None, min_length=1, exclude_if=is_none)  # a last paragraph of the user's turn
    # framing and dialdefer: the statement is judged first, and each framed prompt goes on behind that reply
    statement_first: bool = Field(default=False, exclude_if=lambda is_set: not is_set)
    thinking: bool | None = Field(default=None, exclude_if=is_none)  # what the chat template is told; null: its default
    # vLLM, with thinking on: after so many tokens of a thought in <think> its end is written for the judge
    thinking_tokens: int | None = Field(default=None, ge=0, exclude_if=is_none)

    @model_validator(mode="after")
    def is_named(self) -> Self:
        parts = [words for key, words in NAMES.items() if getattr(self, key)]
        if self.thinking is not None:
            parts.append(THINKING[self.thinking])
        if self.thinking_tokens is not None and not self.thinking:
            raise ValueError("thinking_tokens: is the budget of thinking: true; set that, or leave it out")
        if not parts:
            raise ValueError("sets nothing: give it system, reminder, statement_first or thinking, or leave it out")
        # A stored config has the default name of what it set, which an override may have changed.
        if {*self.name.split(" + ")} <= {"", *NAMES.values(), *THINKING.values()}:
            object.__setattr__(self, "name", " + ".join(parts))  # the model is frozen
        return self

    @property
    def template_args(self) -> dict[str, bool]:
        """Variables of the chat template that switch thinking; a template reads the one that it knows."""
        return {} if self.thinking is None else dict.fromkeys(THINKING_NAMES, self.thinking)

    def reminded(self, turn: Message) -> Message:
        """The user's turn with the reminder behind it."""
        return replace(turn, content=f"{turn.content.rstrip()}\n\n{self.reminder}") if self.reminder else turn

    def opening(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """A chat of the study's with the system prompt before it and the reminder in its last turn, the user's."""
        *turns, last = messages
        if self.system:
            of_study = [turns.pop(0).content] if turns and turns[0].role == "system" else []
            turns.insert(0, Message(role="system", content="\n\n".join([self.system, *of_study])))
        return (*turns, self.reminded(last))

    def asked(self, chat: Chat, earlier: Mapping[Chat, Chat]) -> Chat:
        """A chat as it is asked; what goes on behind the reply to an earlier prompt holds that as it was asked."""
        heads = (chat[:n] for n in range(len(chat) - 1, 0, -1))
        if head := next((head for head in heads if head in earlier), None):
            *rest, last = chat[len(head) :]
            return (*earlier[head], *rest, self.reminded(last))
        return self.opening(chat)


def turns_about(prompt: Prompt, replies: Sequence[Completion], question: str | None) -> Iterator[Prompt]:
    """What is asked behind each reply to a prompt that says anything. question: see StudySection.symbol_question."""
    for reply in replies if question else ():
        if text := reply.text.strip():
            messages = (Message(role="assistant", content=text), Message(role="user", content=str(question)))
            yield replace(
                prompt,
                messages=(*prompt.messages, *messages),
                drawing=SamplingOverride(temperature=0.0, n=1, json_schema=answer_schema(prompt.answer_space)),
                reads=(prompt.prompt_hash, reply.sample_index),
            )


@dataclass(frozen=True, slots=True)
class OverlaidUnit:
    """A unit of a study as it is asked: with its prompts patched, and behind each reply the turn that reads it.

    It is replayed: the study's own prompts get the replies to what was asked in their place.
    """

    unit: Unit
    patch: PatchConfig | None
    question: Callable[[Prompt], str | None] | None  # see StudySection.symbol_question; None: nothing reads itself

    @property
    def unit_id(self) -> str:
        return self.unit.unit_id

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """See evenhand.study.Unit."""
        study_replies: dict[str, Sequence[Completion]] = {}
        earlier: dict[Chat, Chat] = {}  # the study's → as it was asked
        turns: list[Prompt] = []
        while prompts := self.unit.next_prompts(study_replies):
            asked = list(prompts)
            if self.patch:
                asked = [replace(prompt, messages=self.patch.asked(prompt.messages, earlier)) for prompt in prompts]
            if any(prompt.prompt_hash not in replies for prompt in [*turns, *asked]):
                return [*turns, *asked]
            turns = []
            for original, prompt in zip(prompts, asked, strict=True):
                study_replies[original.prompt_hash] = answers = replies[prompt.prompt_hash]
                earlier[original.messages] = prompt.messages
                turns += turns_about(prompt, answers, self.question(prompt)) if self.question else ()
        return () if all(turn.prompt_hash in replies for turn in turns) else turns


def overlaid_units(section: StudySection, verdict: str, patch: PatchConfig | None, *, self_read: bool = False) -> Units:
    """What a run of a study asks about. Raises ConfigError where the study has no statement to judge first."""
    units = section.statement_first(verdict) if patch and patch.statement_first else section.units(verdict)
    if not (patch or self_read):
        return units
    question = section.symbol_question if self_read else None

    def overlaid(unit: Unit) -> Unit:
        asked = OverlaidUnit(unit, patch, question)
        is_known = isinstance(unit, OneRound) and not self_read
        return OneRound(unit.unit_id, tuple(asked.next_prompts({}))) if is_known else asked

    return Units(LazyUnits(units.units, overlaid), units.content_hash)

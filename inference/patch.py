"""A patch of the prompt: what an arm changes in how a judge is asked, at no cost of training.

An arm is (checkpoint, patch, decision rule). A patch is laid over the prompts of any study, between its units and the
engine, so that a run's plan and hashes are those of the patched prompts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from pydantic import Field, model_validator

from evenhand.chat_templates import THINKING_NAMES
from evenhand.config import Closed, is_none
from evenhand.records import Message, Prompt
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

    @model_validator(mode="after")
    def is_named(self) -> Self:
        parts = [words for key, words in NAMES.items() if getattr(self, key)]
        if self.thinking is not None:
            parts.append(THINKING[self.thinking])
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


@dataclass(frozen=True, slots=True)
class PatchedUnit:
    """A unit of a study whose prompts are patched. It is replayed: its own prompts get the patched ones' replies."""

    unit: Unit
    patch: PatchConfig

    @property
    def unit_id(self) -> str:
        return self.unit.unit_id

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """See evenhand.study.Unit."""
        study_replies: dict[str, Any] = {}
        earlier: dict[Chat, Chat] = {}  # the study's → as it was asked
        while prompts := self.unit.next_prompts(study_replies):
            patched = [replace(prompt, messages=self.asked(prompt.messages, earlier)) for prompt in prompts]
            if any(prompt.prompt_hash not in replies for prompt in patched):
                return patched
            for original, prompt in zip(prompts, patched, strict=True):
                study_replies[original.prompt_hash] = replies[prompt.prompt_hash]
                earlier[original.messages] = prompt.messages
        return ()

    def asked(self, chat: Chat, earlier: Mapping[Chat, Chat]) -> Chat:
        """A chat as it is asked; what goes on behind the reply to an earlier prompt holds that as it was asked."""
        heads = (chat[:n] for n in range(len(chat) - 1, 0, -1))
        if head := next((head for head in heads if head in earlier), None):
            *rest, last = chat[len(head) :]
            return (*earlier[head], *rest, self.patch.reminded(last))
        return self.patch.opening(chat)


def patched_units(section: StudySection, verdict: str, patch: PatchConfig | None) -> Units:
    """What a run of a study asks about. Raises ConfigError where the study has no statement to judge first."""
    if patch is None:
        return section.units(verdict)
    units, content_hash = section.statement_first(verdict) if patch.statement_first else section.units(verdict)

    def patched(unit: Unit) -> Unit:
        if isinstance(unit, OneRound):
            return OneRound(unit.unit_id, tuple(PatchedUnit(unit, patch).next_prompts({})))
        return PatchedUnit(unit, patch)

    return Units(LazyUnits(units, patched), content_hash)

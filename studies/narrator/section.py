"""What of the narrator study is asked: the section `narrator` of a config."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Self

from pydantic import Field, field_validator

from evenhand.records import Prompt
from studies.narrator import pocket
from studies.narrator.corpora import CORPORA, CorpusSpec, conversation_set_hash, load_conversations
from studies.narrator.prompts import narrator_prompts
from studies.narrator.records import (
    OPTION_ORDERS,
    TASKS,
    VISIBILITIES,
    Conversation,
    OptionOrder,
    Task,
    Visibility,
)
from studies.study import LazyUnits, OneRound, Shown, StudySection, Units


class NarratorSection(StudySection):
    """Conversations × tasks × visibilities × (neutral + one per speaker) × option orders."""

    key: ClassVar[str] = "narrator"
    verdicts: ClassVar[tuple[str, ...]] = ("options", "answer")

    corpus: CorpusSpec
    tasks: tuple[Task, ...] = Field(default=TASKS, min_length=1)  # what is asked of a conversation
    visibilities: tuple[Visibility, ...] = Field(default=VISIBILITIES, min_length=1)  # of the attack itself
    option_orders: tuple[OptionOrder, ...] = Field(default=OPTION_ORDERS, min_length=1)  # where Me stands
    seed: int = 42  # of the one order of names that a conversation's options have

    @field_validator("tasks", "visibilities", "option_orders")
    @classmethod
    def once_each(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError(f"lists a name twice: {', '.join(names)}; every one is asked once")
        return names

    @property
    def has_schemas(self) -> bool:
        """Every prompt has one: its options; see StudySection."""
        return True

    def units(self, verdict: str) -> Units:
        """A conversation's prompts, all known from the start; see StudySection."""
        conversations = load_conversations(self.corpus)
        asked = LazyUnits(conversations, lambda one: OneRound(one.conversation_id, tuple(self.prompts_of(one))))
        return Units(asked, conversation_set_hash(conversations))

    @classmethod
    def shown(cls) -> Mapping[str, Shown]:
        """The corpora; see StudySection."""
        options = {"root": "corpus.root", "split": "corpus.split", "seed": "seed"}
        return {name: Shown({"corpus": {"dataset": name, "split": "all"}}, options) for name in CORPORA}

    def on_own_items(self) -> Self:
        """The same section over one conversation of ours; see StudySection."""
        return self.model_copy(update={"corpus": CorpusSpec(dataset=pocket.DATASET, n_conversations=1)})

    def describe(self) -> str:
        """The corpus, its conversations and their prompts; see StudySection."""
        conversations = load_conversations(self.corpus)
        n_prompts = sum(1 for one in conversations for _ in self.prompts_of(one))
        return f"{len(conversations)} conversations of {conversations[0].dataset}, {n_prompts} prompts"

    def prompts_of(self, conversation: Conversation) -> Iterable[Prompt]:
        """A conversation's prompts under these conditions."""
        return narrator_prompts(
            conversation,
            tasks=self.tasks,
            visibilities=self.visibilities,
            option_orders=self.option_orders,
            seed=self.seed,
        )

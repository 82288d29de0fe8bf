"""What of the narrator study is asked: the section `narrator` of a config."""

from collections.abc import Iterable
from itertools import product
from typing import ClassVar, NamedTuple, Self

from pydantic import Field

from evenhand import study
from evenhand.records import Prompt
from studies import units
from studies.narrator import records
from studies.narrator.corpus import POCKET, CorpusSpec, conversation_set_hash, load_conversations
from studies.narrator.names import under
from studies.narrator.prompts import narrator_prompts
from studies.narrator.records import Conversation, Names, OptionOrder, Task, Visibility


class PromptVariant(NamedTuple):
    """One way of asking about a conversation; the task and who is called Me are left open."""

    visibility: Visibility
    option_order: OptionOrder
    names: Names


class NarratorSection(study.StudySection):
    """Conversations × tasks × visibilities × (neutral + one per speaker) × option orders."""

    key: ClassVar[str] = "narrator"
    verdicts: ClassVar[tuple[str, ...]] = ("options", "answer")
    has_schemas: ClassVar[bool] = True  # the options

    corpus: CorpusSpec
    tasks: units.Distinct[Task] = Field(default=records.TASKS, min_length=1)  # what is asked of a conversation
    visibilities: units.Distinct[Visibility] = Field(default=records.VISIBILITIES, min_length=1)  # of the attack itself
    # Training takes reversed, too.
    option_orders: units.Distinct[OptionOrder] = Field(default=records.OPTION_ORDERS, min_length=1)
    # Of speakers: own, or letters (A, B, C ...). In training each is a prompt variant; a config that samples has one.
    names: units.Distinct[Names] = Field(default=("own",), min_length=1, exclude_if=lambda names: names == ("own",))
    # Training only: how many variants (visibility, option order, names) a conversation is trained in; a number, too.
    variants_per_item: study.VariantsPerItem = study.ALL
    seed: int = 42  # of the one order of names that a conversation's options have

    def symbol_question(self, prompt: Prompt) -> str:
        """With the prompt's options; see StudySection."""
        return units.symbol_turn(prompt.answer_space)

    def units(self, verdict: str) -> study.Units:
        """A conversation's prompts, all known from the start; see StudySection."""
        units.check_samples_all_variants(self.variants_per_item, "narrator.variants_per_item")
        conversations = load_conversations(self.corpus)

        def unit(conversation: Conversation) -> study.OneRound:
            return study.OneRound(conversation.conversation_id, tuple(self.prompts_of(conversation)))

        return study.Units(study.LazyUnits(conversations, unit), conversation_set_hash(conversations))

    def on_own_items(self) -> Self:
        """The same section over one conversation of ours; see StudySection."""
        return self.model_copy(update={"corpus": CorpusSpec(dataset=POCKET, n_conversations=1)})

    def describe(self) -> str:
        """The corpus, its conversations and their prompts; see StudySection."""
        conversations = load_conversations(self.corpus)
        n_prompts = sum(1 for conversation in conversations for _ in self.prompts_of(conversation))
        return f"{len(conversations)} conversations of {conversations[0].dataset}, {n_prompts} prompts"

    def check_verdict(self, verdict: str) -> None:
        """Also reversed options, several kinds of names, and letters in free text; see StudySection."""
        super().check_verdict(verdict)
        if "reversed" in self.option_orders:
            raise ValueError("narrator.option_orders: reversed is for training alone; take it out")
        if len(self.names) > 1:
            raise ValueError("narrator.names: a config that samples asks under one kind of names; write one of them")
        if self.names == ("letters",) and verdict == "answer":
            raise ValueError("narrator.names: in free text A is a word as well; letters need verdict=options")

    @property
    def variants(self) -> list[PromptVariant]:
        """The prompt variants, the main one first."""
        return [PromptVariant(*keys) for keys in product(self.visibilities, self.option_orders, self.names)]

    @property
    def main_variants(self) -> list[PromptVariant]:
        """Those under the main names, in the main option order and the reversed one."""
        orders = (self.option_orders[0], "reversed")
        main = self.names[0]
        return [variant for variant in self.variants if variant.names == main and variant.option_order in orders]

    def prompts_of(self, conversation: Conversation, variant: PromptVariant | None = None) -> Iterable[Prompt]:
        """A conversation's prompts in a variant, or in all that are under the main names."""
        return narrator_prompts(
            under(variant.names if variant else self.names[0], conversation),
            tasks=self.tasks,
            visibilities=[variant.visibility] if variant else self.visibilities,
            option_orders=[variant.option_order] if variant else self.option_orders,
            seed=self.seed,
        )

"""Training on conversations of the narrator study: a study's part of training, see training.study."""

from collections.abc import Mapping, Sequence
from typing import Any

from studies.narrator.corpora import (
    conversation_set_hash,
    held_out_conversations,
    load_conversations,
)
from studies.narrator.records import Conversation
from studies.narrator.section import NarratorSection
from studies.narrator.splits import groups_of_pages, refuse_shared_pages
from studies.unit_sets import refuse_repeats
from training.config import TrainingConfig
from training.examples import Example, Excluded
from training.study import CardPart


class NarratorTraining:
    """Conversations, with as many prompts as they have speakers."""

    called = "conversations"
    families_called = "pages of training conversations"
    has_equal_units = False

    def refuse(self, config: TrainingConfig) -> None:
        """Test conversations, and losses that conversations cannot have; see StudyTraining."""
        section = config.study
        assert isinstance(section, NarratorSection)
        corpus = section.corpus
        if corpus.split != "train":
            raise ValueError(
                f"narrator.corpus: {corpus.dataset}: split '{corpus.split}' must not be trained on; write split: train"
            )
        if config.prefers_one_of_two:
            raise ValueError(
                "method: its loss prefers one of two answers, and conversations have a speaker for each answer; for "
                "`narrator` take sft or own_c1"
            )
        if config.examples.loss_on_eos:
            raise ValueError(
                "conversations teach which option to write, not where a reply ends: set examples.loss_on_eos=false"
            )
        if config.has_labels and "detection" in section.tasks:
            raise ValueError(
                "narrator.tasks: of detection every label is Yes, which a judge learns without reading; set "
                "narrator.tasks=[identification, blame], or take method own_c1, which needs no labels"
            )

    def n_prompts(self, section: NarratorSection) -> int:
        """Raises ValueError: conversations have unequally many."""
        raise ValueError("conversations have unequally many prompts")

    def load(self, section: NarratorSection) -> list[Conversation]:
        """The conversations that the section names."""
        return load_conversations(section.corpus)

    def check_presence(self, section: NarratorSection) -> None:
        """See StudyTraining."""
        load_conversations(section.corpus)

    def dataset_of(self, unit: Conversation) -> str:
        """The conversation's."""
        return unit.dataset

    def content_hash(self, units: Sequence[Conversation]) -> str:
        """Over the conversations' content."""
        return conversation_set_hash(units)

    def refuse_test_data(self, units: Sequence[Conversation], section: NarratorSection) -> None:
        """Raises DataError for a conversation of a test page; see StudyTraining."""
        test = held_out_conversations(section.corpus)
        refuse_shared_pages(units, test)
        refuse_repeats((one.conversation_id for one in [*units, *test]), section.corpus.dataset)

    def families(self, units: Sequence[Conversation]) -> list[str]:
        """A page, and what shares its text, is one family."""
        return groups_of_pages(units)

    def facts(self, units: Sequence[Conversation]) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    def notes(self, units: Sequence[Conversation]) -> list[str]:
        """None."""
        return []

    def examples(
        self, units: Sequence[Conversation], config: TrainingConfig, tokenizer: Any
    ) -> tuple[list[Example], list[Excluded]]:
        """An example for each prompt; see StudyTraining."""
        from training.narrator.examples import make_narrator_examples

        return make_narrator_examples(units, config, tokenizer)

    @property
    def card(self) -> CardPart:
        """See StudyTraining."""
        from training.narrator import model_card_part

        return model_card_part


TRAINING = NarratorTraining()

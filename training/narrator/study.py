"""Training on conversations of the narrator study: a study's part of training, see training.config.StudyTraining."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.narrator import convokit, pocket
from studies.narrator.corpora import (
    conversation_set_hash,
    held_out_conversations,
    load_conversations,
)
from studies.narrator.prompts import narrator_prompt
from studies.narrator.records import Conversation, Turn
from studies.narrator.section import NarratorSection
from studies.narrator.splits import groups_of_pages, refuse_shared_pages
from studies.unit_sets import refuse_repeats
from training.config import TrainingConfig
from training.examples import Example, Excluded
from training.narrator.examples import make_narrator_examples, section_of

AWRY = "ConvoKit. No licence was found; the names are of real accounts, so take this model for research use"
SOURCES = {
    pocket.DATASET: "made by Evenhand's own generator (Apache-2.0); nobody in it is real",
    convokit.CMV: f"Conversations Gone Awry, ChangeMyView (Chang and Danescu-Niculescu-Mizil 2019), from {AWRY}",
    convokit.DATASET: "Conversations Gone Awry (Zhang et al. 2018; Chang and Danescu-Niculescu-Mizil 2019), from "
    + AWRY,
}
# Our own words: a card shows nothing of any corpus.
EXAMPLE = Conversation(
    conversation_id="card",
    dataset="card",
    turns=(
        Turn(speaker="Bo", text="The photo of the harbour is back. It is the sharper one."),
        Turn(speaker="Kim", text="It is mirrored: the clock runs backwards. I have taken it out again."),
        Turn(speaker="Bo", text="Nobody asked you, clever clogs. Go and count clocks elsewhere."),
    ),
    names={"Bo": "Bo", "Kim": "Kim"},
)


class NarratorTraining:
    """Conversations, with as many prompts as they have speakers."""

    called = "conversations"
    families_called = "pages of training conversations"
    tag = "narrator-perspective"
    card = Path(__file__).with_name("card.md")

    def refuse(self, config: TrainingConfig) -> None:
        """Test conversations, and losses that conversations cannot have; see StudyTraining."""
        section = section_of(config)
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

    def n_prompts(self, section: NarratorSection) -> None:
        """Conversations have unequally many."""

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
        refuse_repeats((each.conversation_id for each in [*units, *test]), section.corpus.dataset)

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
        return make_narrator_examples(units, config, tokenizer)

    def card_facts(self, config: TrainingConfig, datasets: Sequence[str]) -> Mapping[str, Any]:
        """A prompt with a narrator about a quarrel of ours, and licences; see StudyTraining."""
        spec = section_of(config)
        asked = spec.tasks[0], spec.visibilities[0], "Kim", spec.option_orders[0], ("Bo", "Kim")
        return {
            "section": spec,
            "example": narrator_prompt(EXAMPLE, *asked).messages[0].content,
            "pocket_only": spec.corpus.dataset == pocket.DATASET,
            "sources": SOURCES,
            "hub": {},
        }


TRAINING = NarratorTraining()

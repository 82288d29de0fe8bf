"""What a run is trained on: items of `benchmarks`, or conversations of the narrator study. Loaded, checked, divided."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from studies.dialdefer.datasets import item_set_hash, load_items, refuse_leaks
from studies.dialdefer.records import Item
from studies.narrator.corpora import (
    conversation_set_hash,
    held_out_conversations,
    load_conversations,
    refuse_repeated_conversations,
)
from studies.narrator.records import Conversation
from studies.narrator.splits import refuse_shared_pages
from training.config import TrainingConfig
from training.dev import conversations_without_dev, without_dev
from training.examples import Example, Excluded, make_examples
from training.narrator.examples import make_narrator_examples
from training.sections import DevConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Items or conversations; of the others there are none."""

    items: Sequence[Item] = ()
    conversations: Sequence[Conversation] = ()

    def __len__(self) -> int:
        return len(self.items) + len(self.conversations)

    @property
    def set_hash(self) -> str:
        """16 hex digits over the content."""
        return conversation_set_hash(self.conversations) if self.conversations else item_set_hash(self.items)

    @property
    def counts(self) -> dict[str, int]:
        """How many each dataset has."""
        names = [conversation.dataset for conversation in self.conversations] or [item.dataset for item in self.items]
        return dict(Counter(names))

    @property
    def called(self) -> str:
        """What they are, in a message."""
        return "conversations" if self.conversations else "items"

    def drawn(self, rng: random.Random, n: int) -> "TrainingData":
        """n of them at random, or all where there are fewer."""
        return TrainingData(
            items=rng.sample(self.items, min(n, len(self.items))),
            conversations=rng.sample(self.conversations, min(n, len(self.conversations))),
        )


def load_data(config: TrainingConfig) -> TrainingData:
    """What a config names. Raises DataError for data that are absent, damaged or too few."""
    if config.narrator:
        return TrainingData(conversations=load_conversations(config.narrator.corpus))
    return TrainingData(items=load_items(config.benchmarks))


def refuse_test_data(data: TrainingData, config: TrainingConfig) -> None:
    """Raises DataError naming both when something to be trained on gives away a test item, or is of its page."""
    if config.narrator is None:
        refuse_leaks(data.items, config.benchmarks)
        return
    test = held_out_conversations(config.narrator.corpus)
    refuse_shared_pages(data.conversations, test)
    refuse_repeated_conversations([*data.conversations, *test])


def set_aside(data: TrainingData, dev: DevConfig | None) -> tuple[TrainingData, TrainingData]:
    """(what is trained on, what the checkpoint is chosen by); see training.dev."""
    if data.conversations:
        kept, held = conversations_without_dev(data.conversations, dev)
        return TrainingData(conversations=kept), TrainingData(conversations=held)
    items, held_items = without_dev(data.items, dev)
    return TrainingData(items=items), TrainingData(items=held_items)


def examples_of(data: TrainingData, config: TrainingConfig, tokenizer: Any) -> tuple[list[Example], list[Excluded]]:
    """The examples, and the prompts left out; none of either where there is nothing to make them of."""
    if data.conversations:
        return make_narrator_examples(data.conversations, config, tokenizer)
    return make_examples(data.items, config, tokenizer) if data.items else ([], [])

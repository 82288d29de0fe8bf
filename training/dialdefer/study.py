"""Training on DialDefer's items: a study's part of training, see training.study."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.errors import DataError
from evenhand.same_text import normalised
from studies.dialdefer.datasets import (
    EVALUATION_ONLY,
    SOURCES,
    item_set_hash,
    load_items,
    published_among,
    refuse_leaks,
)
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.section import Bend, DialDeferSection, PromptConfig, family_of
from training.config import TrainingConfig
from training.examples import Example, Excluded
from training.study import CardPart

ASKED = ("template", "conditions", "speakers")  # keys of `prompts` that training knows


class DialDeferTraining:
    """Items, each asked about in the same conditions."""

    called = "items"
    families_called = "training items"
    has_equal_units = True

    def refuse(self, config: TrainingConfig) -> None:
        """Splits and datasets that are held out, and prompts that training does not ask; see StudyTraining."""
        section = config.study
        assert isinstance(section, DialDeferSection)
        for index, spec in enumerate(section.benchmarks):
            where = f"dialdefer.benchmarks[{index}]: {spec.dataset}"
            if spec.dataset in EVALUATION_ONLY:
                raise ValueError(f"{where} is held out for evaluation and must not be trained on; take it out")
            if spec.split != "train":
                raise ValueError(f"{where}: split '{spec.split}' must not be trained on; write split: train")
        section.refuse_verdict("margin")
        usual = PromptConfig()
        for key in PromptConfig.model_fields:
            if key not in ASKED and getattr(section.prompts, key) != getattr(usual, key):
                raise ValueError(f"dialdefer.prompts.{key}: is for sampling; training asks one wording, take it out")
        if section.bend is not None and (config.needs_whole_groups or not config.has_labels):
            raise ValueError("dialdefer.bend: flips labels, which a loss of agreement would straighten; take one out")
        if config.optimiser.order == "whole_groups":
            raise ValueError("optimiser.order: whole_groups is for units with several groups; write whole_items")
        if config.needs_whole_groups and set(section.prompts.conditions) != set(Condition):
            raise ValueError(
                "the loss compares an item's C1 and C2 prompts: leave dialdefer.prompts.conditions out, which asks all"
            )

    def n_prompts(self, section: DialDeferSection) -> int:
        """Of an item; see StudyTraining."""
        return len(section.prompts.conditions)

    def load(self, section: DialDeferSection) -> list[Item]:
        """The items that the section names. Raises DataError for a bend that does not go with them."""
        items = load_items(section.benchmarks)
        if section.bend is not None:
            refuse_idle(section.bend, items)
        return items

    def check_presence(self, section: DialDeferSection) -> None:
        """Without reading them; see StudyTraining."""
        for spec in section.benchmarks:
            SOURCES[spec.dataset](spec)

    def dataset_of(self, unit: Item) -> str:
        """The item's."""
        return unit.dataset

    def content_hash(self, units: Sequence[Item]) -> str:
        """Over the items' content."""
        return item_set_hash(units)

    def refuse_test_data(self, units: Sequence[Item], section: DialDeferSection) -> None:
        """Raises DataError for an item that gives away a test item; see StudyTraining."""
        refuse_leaks(units, section.benchmarks)

    def families(self, units: Sequence[Item]) -> list[str]:
        """Items that ask the same question are one family, as leaks are looked for."""
        return [normalised(unit.question) or unit.item_id for unit in units]

    def facts(self, units: Sequence[Item]) -> Mapping[str, Any]:
        """n_published_test: how many are of the published test split, which a split of one's own may train on."""
        return {"n_published_test": published_among(units)}

    def notes(self, units: Sequence[Item]) -> list[str]:
        """What `facts` means for measuring."""
        n_published = published_among(units)
        if not n_published:
            return []
        return [
            f"{n_published} training items are of the published test split (this root is a split of your own); "
            "measure this model on your own test split alone"
        ]

    def examples(
        self, units: Sequence[Item], config: TrainingConfig, tokenizer: Any
    ) -> tuple[list[Example], list[Excluded]]:
        """An example for each item and condition; see StudyTraining."""
        from training.dialdefer.examples import make_examples

        return make_examples(units, config, tokenizer)

    @property
    def card(self) -> CardPart:
        """See StudyTraining."""
        from training.dialdefer import model_card_part

        return model_card_part


def refuse_idle(bend: Bend, items: Sequence[Item]) -> None:
    """Raises DataError for a bend that bends nothing, or names a family that no item is of."""
    there = {family_of(item) for item in items}
    if absent := [name for name in bend.families or () if name not in there]:
        raise DataError(
            f"dialdefer.bend.families: no training item is of '{absent[0]}'; there are {', '.join(sorted(there))}"
        )
    if not any(map(bend.is_bent, items)):
        raise DataError("dialdefer.bend: applies to none of the training items; raise its share, or take more items")


TRAINING = DialDeferTraining()

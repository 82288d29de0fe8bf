"""Training on DialDefer's items: a study's part of training, see training.config.StudyTraining.

A claim should get one verdict in C1 and in C2: the two prompts are a group.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.records import normalised
from studies.dialdefer.datasets import (
    EVALUATION_ONLY,
    item_set_hash,
    load_items,
    published_among,
    refuse_leaks,
)
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render
from studies.dialdefer.section import Bend, DialDeferSection, PromptConfig, family_of
from studies.dialdefer.unified.catalogue import DATASETS
from training.config import StudyTraining, TrainingConfig
from training.examples import Candidate, Example, Excluded, OneTokenAnswers, sifted

ASKED = ("template", "conditions", "speakers")  # keys of `prompts` that training knows
UNKNOWN_LICENCES = ("not stated", "see its Hub page")
# Our own words: a card shows nothing of any benchmark.
EXAMPLE = Item(
    item_id="card",
    benchmark="card",
    dataset="card",
    question="Which planet is nearest to the Sun?",
    correct_answer="Mercury",
    incorrect_answer="Venus",
)


def section_of(config: TrainingConfig) -> DialDeferSection:
    """The run's section."""
    assert isinstance(config.study, DialDeferSection)
    return config.study


class DialDeferTraining(StudyTraining):
    """Items, each asked about in the same conditions."""

    called = "items"
    families_called = "training items"
    tag = "dialogic-deference"
    card = Path(__file__).with_name("card.md")

    def refuse(self, config: TrainingConfig) -> None:
        """Splits and datasets that are held out, and prompts that training does not ask; see StudyTraining."""
        section = section_of(config)
        for index, spec in enumerate(section.benchmarks):
            where = f"dialdefer.benchmarks[{index}]: {spec.name}"
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
        """An example for each item and condition, in the order of the items; see StudyTraining."""
        answers = OneTokenAnswers(tokenizer, ("1", "2"), config.examples, config.model.chat_template_args)
        candidates = self.candidates(units, section_of(config), answers)
        return sifted(([candidate] for candidate in candidates), config.examples.max_prompt_length)

    def candidates(
        self, items: Sequence[Item], section: DialDeferSection, answers: OneTokenAnswers
    ) -> Iterator[Candidate]:
        """Every item under every condition of the section; where it is bent, with the flipped label."""
        asked, bend = section.prompts, section.bend
        for item in items:
            speakers = asked.speakers
            if bend is not None and bend.speakers is not None and bend.is_asked_under_labels(item):
                speakers = bend.speakers
            for condition in asked.conditions:
                is_flipped = bend is not None and bend.flips(item, condition)
                prompt = render(item, condition, template=asked.template, answer_form="one_token", speakers=speakers)
                example = answers.example(
                    prompt,
                    item_id=item.item_id,
                    right=0 if condition.claim_is_true != is_flipped else 1,
                    group=f"{item.item_id} {condition.claim_is_true}",
                    is_anchor=not condition.is_dialogue,
                )
                yield example, ""

    def card_facts(self, config: TrainingConfig, datasets: Sequence[str]) -> Mapping[str, Any]:
        """A C2 prompt in the run's own words about a question of ours, and licences; see StudyTraining."""
        section = section_of(config)
        asked = section.prompts
        prompt = render(
            EXAMPLE, Condition.C2_CORRECT, template=asked.template, answer_form="one_token", speakers=asked.speakers
        )
        places = {name: DATASETS[name].origin.place for name in datasets if name in DATASETS}
        return {
            "prompts": asked,
            "bend": section.bend,
            "example": prompt.messages[0].content,
            "pocket_only": all(spec.dataset == "pocket" for spec in section.benchmarks),
            "has_statements": any(not condition.is_dialogue for condition in asked.conditions),
            "held_out": sorted(EVALUATION_ONLY),
            "sources": {name: source_of(name) for name in datasets},
            "hub": {name: place.removeprefix("hf:") for name, place in places.items() if place.startswith("hf:")},
        }


def source_of(name: str) -> str:
    """A dataset's licence, what follows from it for a model, and its citation."""
    if name not in DATASETS:
        ours = "made by Evenhand's own generator (Apache-2.0)"
        return ours if name == "pocket" else "its licence is not known to Evenhand"
    dataset = DATASETS[name]
    licence = f"licence {dataset.licence}"
    if dataset.licence in UNKNOWN_LICENCES:
        licence += ", so take this model for research use until its authors say otherwise"
    elif dataset.not_passed_on:
        licence += f"; {dataset.not_passed_on}"
    return f"{licence}. {dataset.citation}"


def refuse_idle(bend: Bend, items: Sequence[Item]) -> None:
    """Raises DataError for a bend that bends nothing, or names a family that no item is of."""
    known = {family_of(item) for item in items}
    if absent := [name for name in bend.families or () if name not in known]:
        raise DataError(
            f"dialdefer.bend.families: no training item is of '{absent[0]}'; there are {', '.join(sorted(known))}"
        )
    if not any(map(bend.is_bent, items)):
        raise DataError("dialdefer.bend: applies to none of the training items; raise its share, or take more items")


TRAINING = DialDeferTraining()

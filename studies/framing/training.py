"""Training on a study in YAML: a study's part of training, see training.config.StudyTraining.

A group is an item's case in all framings and orders of the answers: one claim, which should get one answer. Its anchors
are the baseline's prompts; with both orders the label-free target is the mean of the two, in which the pull of the
answer that stands first cancels. Placebos are not trained on: they say how far a rewording moves the judge, afterwards
too. What goes on behind a judge's own reply is not trained on.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.errors import DataError
from evenhand.records import Completion, Prompt
from studies.framing.asking import FramedUnit
from studies.framing.rows import LETTERS, Row, row_hash
from studies.framing.section import FramingSection
from studies.units import set_hash
from training.config import TrainingConfig, WritingStudy, check_split
from training.examples import OneTokenAnswers, Sifted, TrainingPrompt, sifted


class FramingTraining(WritingStudy[FramingSection, Row]):
    """Items, each in all its framings."""

    called = "items"
    tag = "framing"

    def validate(self, config: TrainingConfig) -> None:
        """Items that are not set aside for training, and losses that they cannot have; see StudyTraining."""
        section = self.section_of(config)
        for source in section.items:
            check_split(source.split, f"framing.items: {source.name}")
        if section.symbols is None and not (section.choices or config.examples.replies):
            raise ValueError('framing.symbols: training teaches symbols of one token; write ["1", "2"], say')
        if config.prefers_one_of_two and not config.examples.replies and len(section.answer_texts) != 2:
            raise ValueError("method: its loss prefers one of two answers, and there are more; take another method")
        unlabelled = [name for name, case in (section.cases or {"": {}}).items() if "label" not in case]
        if config.has_labels and section.choices and not section.correct:
            raise ValueError("framing.correct: no option is known as right; name it, or take method label_free")
        if config.has_labels and not (section.choices or section.columns.label) and unlabelled:
            raise ValueError(
                f"framing.cases: case '{unlabelled[0]}' has no label; give it one, name columns.label, or take method "
                "label_free"
            )

    def n_prompts(self, section: FramingSection) -> int:
        """Of an item; see StudyTraining."""
        n_framings = sum(text.follow_up_to is None for text in section.framings.values())
        return n_framings * len(section.cases or [""]) * len(section.order_names)

    def load(self, section: FramingSection) -> list[Row]:
        """The items; refused where sampling refuses them."""
        section.units("answer")
        return section.rows

    def content_hash(self, units: Sequence[Row]) -> str:
        """Over the items' content."""
        return set_hash(row.content for row in units)

    def unit_hash(self, unit: Row) -> str:
        """Over what the item says, whatever its file is called; see StudyTraining."""
        return row_hash(unit)

    def check_test_data(self, units: Sequence[Row], section: FramingSection) -> None:
        """Raises DataError where an item reads in the baseline as one of the test split does; see StudyTraining.

        Groups lie on one side as a whole. The items of a dataset are looked through by the study that knows it.
        """
        test_items: dict[str, str] = {}
        for source in section.items:
            if source.file:
                whole = source.model_copy(update={"split": "all", "n_items": None, "draw_seed": None})
                rows = [row for row in section.rows_of(whole, []) if not source.has(row.group)]
                test_items |= {section.baseline_text(row): row.item_id for row in rows}
        for row in units:
            if same := test_items.get(section.baseline_text(row)):
                raise DataError(f"{row.where}: item '{row.item_id}' reads as the test item '{same}' does; drop one")

    def families(self, units: Sequence[Row]) -> list[str]:
        """Groups; see StudyTraining."""
        return [unit.group for unit in units]

    def examples(self, units: Sequence[Row], config: TrainingConfig, tokenizer: Any) -> Sifted:
        """The examples item by item; see StudyTraining."""
        section = self.section_of(config)
        study = section.study_texts("margin", has_placebos=False)
        symbols = section.symbols or LETTERS[: max(len(FramedUnit(row, study).answers) for row in units)]
        answers = OneTokenAnswers(tokenizer, symbols, config.examples, config.model.chat_template_args)
        candidates = ([(answers.of(prompt), "") for prompt in self.prompts(row, config)] for row in units)
        return sifted(candidates, config.examples.max_prompt_length, as_a_whole=config.needs_whole_groups)

    def prompts(self, unit: Row, config: TrainingConfig) -> Iterator[TrainingPrompt]:
        """Outcomes are the answers in their order, whichever symbols stand for them; see WritingStudy."""
        section = self.section_of(config)
        framed = FramedUnit(unit, section.study_texts(config.sampled.get("verdict", "margin"), has_placebos=False))
        names, prompts = framed.answers, framed.first_round
        for (case, framing, order), prompt in prompts.items():
            label = framed.label(case)
            yield TrainingPrompt(
                prompt=prompt,
                right=None if label is None else names.index(label),
                group=f"{framed.unit_id}\t{case}",
                is_anchor=framing == section.baseline,
                baseline=prompts[case, section.baseline, order],
                order=[prompt.factors.names.index(name) for name in names],
            )

    def place_in(self, prompt: Prompt, reply: Completion, config: TrainingConfig) -> int | None:
        """As the study's replies are scored; see WritingStudy."""
        symbols, texts = prompt.answer_space, prompt.factors.texts
        return self.section_of(config).choice_in(reply, prompt.condition, symbols, texts).place

    def outcomes(self, config: TrainingConfig) -> list[str]:
        """The answers; see WritingStudy."""
        return [*self.section_of(config).answer_texts]

    def card_facts(self, config: TrainingConfig, datasets: Sequence[str]) -> Mapping[str, Any]:
        """The study's own texts; items are shown by none; see StudyTraining."""
        return {"section": self.section_of(config)}


TRAINING = FramingTraining()

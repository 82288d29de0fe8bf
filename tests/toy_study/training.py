"""Training: the two questions about a fruit are a group, and both should get its true answer."""

from collections.abc import Sequence
from typing import Any

from evenhand.records import Completion, digest
from tests.toy_study.section import FRUITS, Fruit, ToySection
from training.config import StudyTraining, TrainingConfig
from training.examples import OneTokenAnswers, Sifted, TrainingPrompt, sifted


class ToyTraining(StudyTraining[ToySection, Fruit]):
    """See training.config.StudyTraining."""

    called = "fruits"
    tag = "toy"

    def validate(self, config: TrainingConfig) -> None:
        if config.examples.loss_on_eos:
            raise ValueError("toy: set examples.loss_on_eos=false")

    def n_prompts(self, section: ToySection) -> int:
        return 2

    def load(self, section: ToySection) -> list[Fruit]:
        return [Fruit(fruit) for fruit in section.fruits]

    def content_hash(self, units: Sequence[Fruit]) -> str:
        return digest([unit.unit_id for unit in units], 16)

    def check_test_data(self, units: Sequence[Fruit], section: ToySection) -> None:
        pass

    def families(self, units: Sequence[Fruit]) -> list[str]:
        return [unit.unit_id for unit in units]

    def examples(self, units: Sequence[Fruit], config: TrainingConfig, tokenizer: Any) -> Sifted:
        answers = OneTokenAnswers(tokenizer, ("yes", "no"), config.examples, {})
        groups = []
        for unit in units:
            (first,) = unit.next_prompts({})
            right = FRUITS[unit.unit_id]
            reply = Completion(prompt_hash=first.prompt_hash, sample_index=0, text=right, finish_reason="stop")
            (second,) = unit.next_prompts({first.prompt_hash: [reply]})
            for prompt in (first, second):
                asked = TrainingPrompt(
                    prompt=prompt,
                    baseline=first,
                    right=0 if right == "yes" else 1,
                    group=unit.unit_id,
                    is_anchor=prompt is first,
                )
                groups.append([(answers.of(asked), "")])
        return sifted(groups, config.examples.max_prompt_length)


TRAINING = ToyTraining()

"""What a run is trained on: the units of its study, loaded, checked and counted."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from training.config import TrainingConfig
from training.examples import Example, Excluded
from training.study import StudyTraining


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Units of a study."""

    study: StudyTraining
    units: Sequence[Any]

    def __len__(self) -> int:
        return len(self.units)

    def of(self, units: Sequence[Any]) -> "TrainingData":
        """Other units of the same study."""
        return replace(self, units=units)

    @property
    def set_hash(self) -> str:
        """16 hex digits over the content."""
        return self.study.content_hash(self.units)

    @property
    def counts(self) -> dict[str, int]:
        """How many each dataset has."""
        return dict(Counter(self.study.dataset_of(unit) for unit in self.units))

    def drawn(self, rng: random.Random, n: int) -> "TrainingData":
        """n of them at random, or all where there are fewer."""
        return self.of(rng.sample(self.units, min(n, len(self.units))))


def load_data(config: TrainingConfig) -> TrainingData:
    """What a config names. Raises DataError for data that are absent, damaged or too few."""
    return TrainingData(study=config.training, units=config.training.load(config.study))


def examples_of(data: TrainingData, config: TrainingConfig, tokenizer: Any) -> tuple[list[Example], list[Excluded]]:
    """The examples, and the prompts left out; none of either where there is nothing to make them of."""
    return data.study.examples(data.units, config, tokenizer) if data.units else ([], [])

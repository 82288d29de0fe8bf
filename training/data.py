"""What a run is trained on: the units of its study, loaded and counted, and those set aside as a dev split."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenhand.errors import ConfigError
from training.config import StudyTraining, TrainingConfig
from training.examples import Example, Excluded
from training.sections import DevConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Units of a study."""

    study: StudyTraining
    units: Sequence[Any]

    def __len__(self) -> int:
        return len(self.units)

    @property
    def set_hash(self) -> str:
        """16 hex digits over the content."""
        return self.study.content_hash(self.units)

    @property
    def counts(self) -> dict[str, int]:
        """How many each dataset has."""
        return dict(Counter(unit.dataset for unit in self.units))

    def drawn(self, rng: random.Random, n: int) -> "TrainingData":
        """n of them at random, or all where there are fewer."""
        return replace(self, units=rng.sample(self.units, min(n, len(self.units))))


def load_data(config: TrainingConfig) -> TrainingData:
    """The data that a config names. Raises DataError for data that are absent, damaged or too few."""
    return TrainingData(study=config.training, units=config.training.load(config.study))


def examples_of(data: TrainingData, config: TrainingConfig, tokenizer: Any) -> tuple[list[Example], list[Excluded]]:
    """The examples, and the prompts left out; none of either where there is nothing to make them of."""
    return data.study.examples(data.units, config, tokenizer) if data.units else ([], [])


def without_dev(data: TrainingData, dev: DevConfig | None) -> tuple[TrainingData, TrainingData]:
    """(what is trained on, what the checkpoint is chosen by). A family of units goes to one side.

    Raises ConfigError when the dev split would take half of the families or more.
    """
    if dev is None:
        return data, replace(data, units=[])
    names = data.study.families(data.units)
    families = list(dict.fromkeys(names))
    if 2 * dev.n_items >= len(families):
        raise ConfigError(
            f"dev.n_items is {dev.n_items}, but there are only {len(families)} {data.study.families_called}; leave "
            "more than half of them to train on"
        )
    held = set(random.Random(f"dev {dev.seed}").sample(families, dev.n_items))
    sides: tuple[list[Any], list[Any]] = ([], [])
    for unit, name in zip(data.units, names, strict=True):
        sides[name in held].append(unit)
    return replace(data, units=sides[0]), replace(data, units=sides[1])

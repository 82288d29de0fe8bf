"""What a run is trained on: the units of its study, loaded and counted, and those set aside as a dev split."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from evenhand.errors import ConfigError
from evenhand.records import digest
from evenhand.study import ALL, VariantsPerItem
from training.config import StudyTraining, TrainingConfig
from training.examples import Example, Excluded
from training.sections import DevConfig

Variant = TypeVar("Variant")


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


def refuse_draw(
    draw: VariantsPerItem, variants: Sequence[Variant], main: Sequence[Variant], config: TrainingConfig
) -> None:
    """Raises ValueError where more prompt variants are drawn than there are, or fewer than a unit's loss needs."""
    n, where = n_drawn(draw, len(variants)), f"{config.study_key}: draw is {draw}"
    if n > len(variants):
        raise ValueError(f"{where}, but there are {len(variants)} variants; write at most {len(variants)}, or all")
    if not config.has_labels and n < len(main):
        raise ValueError(f"{where}, but label_free learns from the base's verdict in {len(main)}; write at least that")


def n_drawn(draw: VariantsPerItem, n_variants: int) -> int:
    """How many prompt variants a unit is trained in."""
    return n_variants if draw == ALL else 1 if draw == "one_per_item" else int(draw)


def drawn_variants(
    variants: Sequence[Variant],
    main: Sequence[Variant],
    draw: VariantsPerItem,
    config: TrainingConfig,
    unit_id: str,
    wording: Callable[[Variant], Any],
) -> list[Variant]:
    """The prompt variants that a unit is trained in, in their order: a function of seed and unit.

    main: those that hold the anchors. Without labels they are always among them. wording: what two answer orders of a
    variant have in common. Wordings are drawn, each with its orders together: in one order alone a judge learns numbers
    first, while in both what they share cancels in the gradient.
    """
    kept = [] if config.has_labels else main

    def lot(place: int) -> tuple[bool, str, str]:
        variant, seed = variants[place], config.optimiser.seed
        of_wording, of_variant = (digest([seed, unit_id, drawn]) for drawn in (wording(variant), place))
        return variant not in kept, of_wording, of_variant

    ranked = sorted(range(len(variants)), key=lot)
    return [variants[place] for place in sorted(ranked[: n_drawn(draw, len(variants))])]

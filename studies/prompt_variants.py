"""In which of a study's prompt variants each unit is trained."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from evenhand.records import digest
from evenhand.study import ALL, VariantsPerItem
from training.config import TrainingConfig

Variant = TypeVar("Variant")


def check_variants_per_item(
    per_item: VariantsPerItem, variants: Sequence[Variant], main: Sequence[Variant], config: TrainingConfig
) -> None:
    """Raises ValueError where more prompt variants are asked for than there are, or fewer than a unit's loss needs."""
    n, where = n_drawn(per_item, len(variants)), f"{config.study_key}: variants_per_item is {per_item}"
    if n > len(variants):
        raise ValueError(f"{where}, but there are {len(variants)} variants; write at most {len(variants)}, or all")
    if not config.has_labels and n < len(main):
        raise ValueError(f"{where}, but label_free learns from the base's verdict in {len(main)}; write at least that")


def n_drawn(per_item: VariantsPerItem, n_variants: int) -> int:
    """How many prompt variants a unit is trained in."""
    return n_variants if per_item == ALL else 1 if per_item == "one_per_item" else int(per_item)


def drawn_variants(
    variants: Sequence[Variant],
    main: Sequence[Variant],
    per_item: VariantsPerItem,
    config: TrainingConfig,
    unit_id: str,
    wording: Callable[[Variant], Any],
) -> list[Variant]:
    """The prompt variants that a unit is trained in, in their order: a function of seed and unit.

    main: those that hold the anchors. Without labels they are always among them. wording: what two answer orders of a
    variant have in common. Wordings are drawn, each with its orders together: in one order alone a judge learns numbers
    first, while in both what they share cancels in the gradient.
    """
    first = [] if config.has_labels else main

    def rank(index: int) -> tuple[bool, str, str]:
        variant, drawn_for = variants[index], (config.optimiser.seed, unit_id)
        return variant not in first, digest([*drawn_for, wording(variant)]), digest([*drawn_for, index])

    ranked = sorted(range(len(variants)), key=rank)
    return [variants[index] for index in sorted(ranked[: n_drawn(per_item, len(variants))])]

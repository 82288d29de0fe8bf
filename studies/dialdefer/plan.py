"""Section → every prompt of a run: all wordings of an experiment together, so that what they share is asked once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evenhand.errors import ConfigError
from evenhand.records import Prompt
from studies.dialdefer.datasets import item_set_hash, load_items
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render
from studies.dialdefer.section import DialDeferSection, PromptConfig, Variant
from studies.study import LazyUnits, OneRound, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One way of asking, with everything settled that a config leaves open."""

    template: str
    arm: str
    speakers: tuple[str, str] | None  # None: the dataset's own, or the arm's
    roles: str
    answer_order: str
    datasets: tuple[str, ...] | None  # None: all
    variant: int | None  # its place in prompts.variants; None: the main wording


def planned_units(section: DialDeferSection, answer_form: str) -> Units:
    """Every item with its prompts, the main wording first, and the item set's hash.

    What two wordings have in common is planned once where it is the same prompt in every factor (r/AIO under another
    benchmark template), and once for each where it is only the same text (C1 under other speaker labels): then both
    share a hash, so it is asked once and counts for both.
    Raises ConfigError when a variant asks nothing of its own, or names a dataset that the run does not sample.
    """
    items = load_items(section.benchmarks)
    refuse_absent_datasets(section.prompts.variants, items)
    ways = list(wordings(section.prompts))

    def asked(item: Item) -> list[tuple[Prompt, int | None]]:
        return asked_of(item, ways, section.prompts.conditions, answer_form)

    refuse_idle(section.prompts.variants, (number for item in items for _, number in asked(item)))
    units = LazyUnits(items, lambda item: OneRound(item.item_id, tuple(prompt for prompt, _ in asked(item))))
    return Units(units, item_set_hash(items))


def asked_of(
    item: Item, ways: Sequence[Wording], conditions: Sequence[Condition], answer_form: str
) -> list[tuple[Prompt, int | None]]:
    """An item's prompts, each once, and the number of the variant that is the first to ask it; None: no variant."""
    planned: dict[tuple[str, object], tuple[Prompt, int | None]] = {}
    for way in ways:
        for prompt in prompts_of(item, way, conditions, answer_form):
            planned.setdefault((prompt.condition, prompt.factors), (prompt, way.variant))
    return list(planned.values())


def wordings(prompts: PromptConfig) -> Iterator[Wording]:
    """The main wording under each arm, then each variant, under each of these arms where it names none."""
    for number, variant in [(None, None), *enumerate(prompts.variants)]:
        named = variant.model_dump() if variant is not None else {}
        for arm in (named["arm"],) if "arm" in named else prompts.arms:
            yield Wording(
                template=named.get("template", prompts.template),
                arm=arm,
                speakers=named.get("speakers", prompts.speakers),
                roles=named.get("roles", prompts.roles),
                answer_order=named.get("answer_order", prompts.answer_order),
                datasets=named.get("datasets"),
                variant=number,
            )


def prompts_of(item: Item, way: Wording, conditions: Sequence[Condition], answer_form: str) -> Iterator[Prompt]:
    """An item's prompts in one wording; none when the wording is for other datasets."""
    if way.datasets is not None and item.dataset not in way.datasets:
        return
    for condition in conditions:
        yield render(
            item,
            condition,
            template=way.template,
            answer_form=answer_form,
            arm=way.arm,
            speakers=way.speakers,
            roles=way.roles,
            answer_order=way.answer_order,
        )


def refuse_absent_datasets(variants: Sequence[Variant], items: Sequence[Item]) -> None:
    """Raises ConfigError when a variant is for a dataset of which the run has no item."""
    there = list(dict.fromkeys(item.dataset for item in items))
    for number, variant in enumerate(variants):
        absent = [name for name in variant.datasets or () if name not in there]
        if absent:
            raise ConfigError(
                f"dialdefer.prompts.variants[{number}].datasets: the run samples no '{absent[0]}', only "
                f"{', '.join(there)}; add it to `dialdefer.benchmarks`, or take the variant out"
            )


def refuse_idle(variants: Sequence[Variant], used: Iterable[int | None]) -> None:
    """Raises ConfigError when a variant asked nothing that was not asked already; `used` is read as far as needed."""
    idle: dict[int | None, Variant] = dict(enumerate(variants))
    for number in used:
        if not idle:
            return
        idle.pop(number, None)
    for number, variant in idle.items():
        words = ", ".join(f"{key}: {value}" for key, value in variant.model_dump().items())
        raise ConfigError(
            f"dialdefer.prompts.variants[{number}] ({words}): asks nothing that is not asked already; take it out. "
            "Roles are for r/AIO only, and r/AIO has one template"
        )

"""Section → every prompt of a run, all prompt variants together, so that what they share is asked once."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evenhand.errors import ConfigError
from evenhand.records import Prompt
from studies.dialdefer.datasets import item_set_hash, load_items
from studies.dialdefer.records import Item
from studies.dialdefer.render import render
from studies.dialdefer.section import DialDeferSection, PromptConfig
from studies.study import LazyUnits, OneRound, Units

SETTINGS = ("template", "arm", "speakers", "roles", "answer_order")  # of a variant; keywords of `render`


class PromptVariant(NamedTuple):
    """One way of asking, with everything settled that a config leaves open."""

    settings: Mapping[str, Any]  # keywords of `render`
    datasets: tuple[str, ...] | None  # None: all
    number: int | None  # its place in prompts.variants; None: the main variant


def prompt_variants(prompts: PromptConfig) -> Iterator[PromptVariant]:
    """The main variant under each arm, then each variant, under each of these arms where it names none."""
    main = {name: getattr(prompts, name, None) for name in SETTINGS}
    for number, variant in [(None, None), *enumerate(prompts.variants)]:
        named = variant.model_dump() if variant is not None else {}
        datasets = named.pop("datasets", None)
        for arm in (named["arm"],) if "arm" in named else prompts.arms:
            yield PromptVariant({**main, **named, "arm": arm}, datasets, number)


def planned_units(section: DialDeferSection, answer_form: str) -> Units:
    """Every item with its prompts, the main variant first, and the item set's hash.

    What two variants have in common is planned once where it is the same prompt in every factor (r/AIO under another
    benchmark template), and once for each where it is only the same text (C1 under other speaker labels): then both
    share a hash, so it is asked once and counts for both.
    Raises ConfigError when a variant asks nothing of its own, or names a dataset that the run does not sample.
    """
    items, variants = load_items(section.benchmarks), list(prompt_variants(section.prompts))
    there = list(dict.fromkeys(item.dataset for item in items))
    for variant in variants:
        if absent := [name for name in variant.datasets or () if name not in there]:
            raise ConfigError(
                f"dialdefer.prompts.variants[{variant.number}].datasets: the run samples no '{absent[0]}', only "
                f"{', '.join(there)}; add it to `dialdefer.benchmarks`, or take the variant out"
            )

    def asked(item: Item) -> list[tuple[Prompt, int | None]]:
        """An item's prompts, each once, and the number of the variant that is the first to ask it."""
        planned: dict[tuple[str, object], tuple[Prompt, int | None]] = {}
        for variant in variants:
            for condition in section.prompts.conditions if item.dataset in (variant.datasets or there) else ():
                prompt = render(item, condition, answer_form=answer_form, **variant.settings)
                planned.setdefault((prompt.condition, prompt.factors), (prompt, variant.number))
        return list(planned.values())

    idle = dict(enumerate(section.prompts.variants))
    for item in items:
        if not idle:
            break
        for _, number in asked(item):
            if number is not None:
                idle.pop(number, None)
    for number, without_use in idle.items():
        words = ", ".join(f"{key}: {value}" for key, value in without_use.model_dump().items())
        raise ConfigError(
            f"dialdefer.prompts.variants[{number}] ({words}): asks nothing that is not asked already; take it out. "
            "Roles are for r/AIO only, and r/AIO has one template"
        )
    units = LazyUnits(items, lambda item: OneRound(item.item_id, tuple(prompt for prompt, _ in asked(item))))
    return Units(units, item_set_hash(items))

"""A publisher's question with its answers → Item, the same way for all datasets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from evenhand.sources.record_fields import Record
from studies.dialdefer.item_table import INCORRECT_ANSWERS
from studies.dialdefer.records import Item

BENCHMARK = "dialdefer"


def unified_item(
    *,
    item_id: str,
    dataset: str,
    question: str,
    correct_answer: str,
    incorrect_answers: Sequence[str],
    chosen: int = 0,
    context: str | None = None,
    meta: Mapping[str, Any],
) -> Item:
    """An item whose incorrect answer is the `chosen` of the wrong ones; it is empty where the source has none.

    An empty text is left out of training; it is not made up here.
    """
    return Item(
        item_id=item_id,
        benchmark=BENCHMARK,
        dataset=dataset,
        question=question,
        correct_answer=correct_answer,
        incorrect_answer=incorrect_answers[chosen] if incorrect_answers else "",
        context=context,
        meta={**meta, INCORRECT_ANSWERS: list(incorrect_answers)},
    )


def distinct(records: Iterable[Record], convert: Callable[[Record], Item], fields: str) -> Iterator[Item]:
    """The records as items, for sources whose ids come from `fields`. Raises DataError at the first id that repeats."""
    seen: dict[str, str] = {}
    for record in records:
        item = convert(record)
        if item.item_id in seen:
            raise record.error(
                fields, f"makes the item id '{item.item_id}', as {seen[item.item_id]} does; fetch it again"
            )
        seen[item.item_id] = record.where
        yield item

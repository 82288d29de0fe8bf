"""Universally problematic items (DialDefer appendix I.4): those that flip in every judge, with their text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.dialdefer.consistency import SharedFlips, shared_flips
from eval.dialdefer.judges import Judge
from studies.dialdefer.records import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemItem:
    """An item that flips in every judge. Its texts are None where the item was not given."""

    dataset: str
    item_id: str
    n_judges: int
    n_deference: int  # judges in which it flips to deference
    n_skepticism: int  # judges in which it flips to skepticism
    question: str | None  # empty for r/AIO, whose claim is about a speaker
    context: str | None
    correct_answer: str | None  # for r/AIO the verdict on the original poster
    incorrect_answer: str | None

    @property
    def shown(self) -> str | None:
        """What tells a reader which item it is: its question, for r/AIO its context."""
        return self.question or self.context


def problem_items(judges: Sequence[Judge], texts: Mapping[str, Item]) -> list[ProblemItem]:
    """Items that flip in all of some judges.

    texts: item id → the user's own items, as far as they are at hand. An item counts only where it has the dataset that
    was judged. Raises DataError as consistency.shared_flips does.
    """
    return [item for shared in shared_flips(judges) for item in problems_of(shared, texts)]


def problems_of(shared: SharedFlips, texts: Mapping[str, Item]) -> list[ProblemItem]:
    """The items of one dataset that flip in every judge."""
    in_all = np.flatnonzero(shared.flipped.all(axis=1)).tolist()
    n_deference, n_skepticism = shared.deference.sum(axis=1), shared.skepticism.sum(axis=1)
    return [
        problem_item(shared, row, texts.get(shared.item_ids[row]), int(n_deference[row]), int(n_skepticism[row]))
        for row in in_all
    ]


def problem_item(shared: SharedFlips, row: int, item: Item | None, n_deference: int, n_skepticism: int) -> ProblemItem:
    """One item, with its text where that is known."""
    known = item if item is not None and item.dataset == shared.dataset else None
    return ProblemItem(
        dataset=shared.dataset,
        item_id=shared.item_ids[row],
        n_judges=shared.flipped.shape[1],
        n_deference=n_deference,
        n_skepticism=n_skepticism,
        question=known.question if known else None,
        context=known.context if known else None,
        correct_answer=known.correct_answer if known else None,
        incorrect_answer=known.incorrect_answer if known else None,
    )

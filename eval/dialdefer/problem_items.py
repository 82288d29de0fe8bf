"""Universally problematic items (DialDefer appendix I.4): those that flip in every judge, with their text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.dialdefer.consistency import SharedFlips, shared_flips
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import MAIN, Setting
from evenhand.errors import DataError
from studies.dialdefer.records import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemItem:
    """An item that flips in many judges. Its texts are None where the item was not given."""

    dataset: str
    item_id: str
    n_judges: int
    n_flipping_in: int  # judges in which it flips
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


def problem_items(
    judges: Sequence[Judge],
    texts: Mapping[str, Item],
    setting: Setting = MAIN,
    at_least: int | None = None,
) -> list[ProblemItem]:
    """Items that flip in at least so many judges (None: in all), those of most judges first, then as they come.

    texts: item id → the user's own items, as far as they are at hand. An item counts only where it has the dataset that
    was judged. Raises DataError as consistency.shared_flips does, and when `at_least` is not in 1..number of judges.
    """
    wanted = len(judges) if at_least is None else at_least
    if not 1 <= wanted <= len(judges):
        raise DataError(f"at_least={wanted}: items flip in 1 to {len(judges)} of these judges; choose from these")
    found = [item for shared in shared_flips(judges, setting) for item in problems_of(shared, texts, wanted)]
    return sorted(found, key=lambda item: -item.n_flipping_in)


def problems_of(shared: SharedFlips, texts: Mapping[str, Item], wanted: int) -> list[ProblemItem]:
    """The items of one dataset that flip in at least `wanted` judges."""
    n_flipping_in = shared.flipped.sum(axis=1)
    n_deference, n_skepticism = shared.deference.sum(axis=1), shared.skepticism.sum(axis=1)
    return [
        problem_item(
            shared, row, texts.get(item_id), (int(n_flipping_in[row]), int(n_deference[row]), int(n_skepticism[row]))
        )
        for row, item_id in enumerate(shared.item_ids)
        if n_flipping_in[row] >= wanted
    ]


def problem_item(shared: SharedFlips, row: int, item: Item | None, counts: tuple[int, int, int]) -> ProblemItem:
    """One item, with its text where that is known."""
    known = item if item is not None and item.dataset == shared.dataset else None
    return ProblemItem(
        dataset=shared.dataset,
        item_id=shared.item_ids[row],
        n_judges=shared.flipped.shape[1],
        n_flipping_in=counts[0],
        n_deference=counts[1],
        n_skepticism=counts[2],
        question=known.question if known else None,
        context=known.context if known else None,
        correct_answer=known.correct_answer if known else None,
        incorrect_answer=known.incorrect_answer if known else None,
    )

"""Do judges flip on the same items? (DialDefer appendices I.3, I.4 and J.4: Tables 24, 27 and 33)"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import flip_masks, majority
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import MAIN, all_datasets, panels_by_judge
from eval.dialdefer.panels import ERROR, Panel, refuse_unequal_items
from evenhand.errors import DataError

BoolArray = NDArray[np.bool_]
TOTAL = "total"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedFlips:
    """Who flips on which item of one dataset that all judges judged."""

    dataset: str
    item_ids: tuple[str, ...]
    deference: BoolArray  # (n_items, n_judges)
    skepticism: BoolArray  # (n_items, n_judges)
    n_left_out: int  # items that the engine failed to answer in some condition for some judge

    @property
    def flipped(self) -> BoolArray:
        """(n_items, n_judges): whether the item flips in the judge, in either direction or in both."""
        return np.asarray(self.deference | self.skepticism)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """In how many judges the items of one dataset flip, or sums over datasets."""

    dataset: str
    n_items: int
    n_left_out: int
    n_flipping_in: tuple[int, ...]  # at k: items that flip in exactly k judges; one longer than the judges are many
    expected_in_all: float  # items that would flip in all if judges flipped independently at their rates on the dataset

    @property
    def n_in_all(self) -> int:
        """Items that flip in every judge."""
        return self.n_flipping_in[-1]

    @property
    def n_in_none(self) -> int:
        """Items that flip in no judge."""
        return self.n_flipping_in[0]

    @property
    def n_in_some(self) -> int:
        """Items that flip in some judges and not in all."""
        return self.n_items - self.n_in_all - self.n_in_none

    @property
    def agreement_rate(self) -> float:
        """The share of items on which all judges do the same: (flip in all + flip in none) / all items."""
        return (self.n_in_all + self.n_in_none) / self.n_items


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The consistency of several judges' flips."""

    judges: tuple[str, ...]
    by_dataset: tuple[Consistency, ...]
    total: Consistency
    datasets_left_out: tuple[str, ...]  # judged by some of them only


def shared_flips(judges: Sequence[Judge]) -> list[SharedFlips]:
    """The flips of all judges on each dataset that all of them judged.

    Raises DataError for fewer than two judges, for judges without a common dataset, or with different items of one.
    """
    panels = panels_by_judge(judges)
    if len(panels) < 2:
        raise DataError(f"consistency compares judges, and there is {len(panels)}; give at least two models' verdicts")
    common = [d for d in all_datasets(panels) if all(d in of_judge for of_judge in panels.values())]
    if not common:
        raise DataError(f"{', '.join(panels)}: no dataset was judged by all of them in {MAIN}; choose others")
    return [shared_on({name: of_judge[dataset] for name, of_judge in panels.items()}) for dataset in common]


def shared_on(panels: Mapping[str, Panel]) -> SharedFlips:
    """The flips of several judges' panels of one dataset, which must be over the same items."""
    names, first = list(panels), next(iter(panels.values()))
    for name in names[1:]:
        refuse_unequal_items(f"{first.dataset}, {names[0]} against {name}", first, panels[name])
    lost = np.any([(p.replies == ERROR).all(axis=2).any(axis=1) for p in panels.values()], axis=0)
    if lost.all():
        raise DataError(f"{first.dataset}: no item was answered by the engines of {', '.join(names)}; sample it again")
    masks = [flip_masks(majority(panel.replies[~lost])) for panel in panels.values()]
    return SharedFlips(
        dataset=first.dataset,
        item_ids=tuple(first.item_ids[i] for i in np.flatnonzero(~lost)),
        deference=np.stack([deference for deference, _ in masks], axis=1),
        skepticism=np.stack([skepticism for _, skepticism in masks], axis=1),
        n_left_out=int(lost.sum()),
    )


def agreement(judges: Sequence[Judge]) -> Agreement:
    """In how many of the judges items flip, by dataset and in total. Raises DataError as shared_flips does."""
    by_dataset = [consistency_of(shared) for shared in shared_flips(judges)]
    there = all_datasets(panels_by_judge(judges))
    return Agreement(
        judges=tuple(judge.name for judge in judges),
        by_dataset=tuple(by_dataset),
        total=Consistency(
            dataset=TOTAL,
            n_items=sum(c.n_items for c in by_dataset),
            n_left_out=sum(c.n_left_out for c in by_dataset),
            n_flipping_in=tuple(sum(column) for column in zip(*(c.n_flipping_in for c in by_dataset), strict=True)),
            expected_in_all=math.fsum(c.expected_in_all for c in by_dataset),
        ),
        datasets_left_out=tuple(d for d in there if d not in {c.dataset for c in by_dataset}),
    )


def consistency_of(shared: SharedFlips) -> Consistency:
    """How many items of a dataset flip in 0, 1, ..., k judges."""
    n_items, n_judges = shared.flipped.shape
    n_flipping_in = np.bincount(shared.flipped.sum(axis=1), minlength=n_judges + 1)
    return Consistency(
        dataset=shared.dataset,
        n_items=n_items,
        n_left_out=shared.n_left_out,
        n_flipping_in=tuple(n_flipping_in.tolist()),
        expected_in_all=n_items * float(shared.flipped.mean(axis=0).prod()),
    )

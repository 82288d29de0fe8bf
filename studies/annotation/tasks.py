"""What people are asked about a run, and which of its items are drawn for them."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from evenhand.records import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One question to a person."""

    unit: str  # what intervals are over
    texts: tuple[tuple[str, str], ...]  # heading and text, as the person reads them
    judge: str  # the judge's answer, which is not shown

    @property
    def item_id(self) -> str:
        """16 hex digits of what the person reads."""
        return digest([self.unit, self.texts], 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One kind of question about a run.

    A task with two answers has a direction of error: the judge is lenient where it gives the first one and people the
    second.
    """

    name: str
    question: str
    guide: str  # when to give which answer
    answers: tuple[str, ...]
    items: Sequence[Item]  # to draw from
    in_run: Mapping[str, int]  # answer → how often the judge gave it in the whole run
    run: str  # name of the run directory
    judge: str  # what tables call it

    def by_id(self) -> dict[str, Item]:
        """Item id → every item that may be drawn."""
        return {item.item_id: item for item in self.items}


def draw_items(task: Task, n: int, seed: int) -> list[Item]:
    """At most n items: the judge's answers in equal numbers as far as there are, and one of each unit in turn."""
    draws = random.Random(f"{seed} {task.name}")  # its random() alone never changes in Python
    distinct = {(item.unit, item.texts): item for item in task.items}.values()
    by_answer = []
    for answer in task.answers:
        by_unit: dict[str, list[Item]] = {}
        for item in sorted((item for item in distinct if item.judge == answer), key=lambda _: draws.random()):
            by_unit.setdefault(item.unit, []).append(item)
        by_answer.append(in_turn(by_unit.values()))
    return sorted(in_turn(by_answer)[:n], key=lambda _: draws.random())


def in_turn(lists: Iterable[Sequence[Item]]) -> list[Item]:
    """The first of each list, then the second of each, until all are there."""
    return [item for turn in zip_longest(*lists) for item in turn if item is not None]

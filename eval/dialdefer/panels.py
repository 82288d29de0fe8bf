"""Verdicts → arrays of items × conditions × samples, one panel for each arm and dataset."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.dds import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT, CONDITIONS
from eval.dialdefer.parsing import PARSERS
from eval.dialdefer.verdicts import NoVerdict, Verdict
from evenhand.answer_doubts import UNLIKELY
from evenhand.errors import DataError
from studies.dialdefer.records import Factors

# Codes of a reply, in an order that the code relies on: no reply < undecided < unreadable < a choice. A condition that
# an arm does not ask at all is ABSENT throughout.
ABSENT, ERROR, TIE, UNREADABLE, ACCEPT, REJECT = -3, -2, -1, 0, 1, 2
C1, C2 = [C1_TRUE, C1_FALSE], [C2_CORRECT, C2_INCORRECT]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """One judge's replies on one dataset under one arm."""

    benchmark: str
    dataset: str
    factors: Factors
    item_ids: tuple[str, ...]  # sorted
    replies: NDArray[np.int8]  # (n_items, 4, n_samples), codes as above
    unread: Mapping[str, NDArray[np.bool_]]  # parser → (n_items, 4, n_samples), replies that it cannot read
    margins: NDArray[np.float64]  # (n_items, 4, n_samples) in nats; NaN where there is none
    hashes: NDArray[np.str_]  # (n_items, 4) prompt hashes; "" where absent
    p_answer: tuple[float, float] = (math.nan, math.nan)  # P(1) + P(2) at the median prompt of C1 and of C2
    orders: "tuple[Panel, Panel] | None" = None  # of both answer orders together: each by itself, yes_first first

    @property
    def has_c1(self) -> bool:
        """Whether the statement framing was asked."""
        return bool((self.replies[:, C1] != ABSENT).all())

    @property
    def has_c2(self) -> bool:
        """Whether the dialogue framing was asked."""
        return bool((self.replies[:, C2] != ABSENT).all())

    @property
    def roles(self) -> str:
        """Who judges whom. In the Q/A datasets Speaker 2 answers Speaker 1: r/AIO's main setting."""
        return self.factors.roles or "2->1"

    @property
    def unlikely(self) -> dict[str, float]:
        """Framing → P(answer), where the judge would mostly say something else: its margins there are in no average."""
        return {name: p for name, p in zip(("C1", "C2"), self.p_answer, strict=True) if p < UNLIKELY}

    def at(self, rows: Sequence[int] | NDArray[np.intp]) -> "Panel":
        """The panel of some of its items."""
        return replace(
            self,
            item_ids=tuple(self.item_ids[i] for i in rows),
            replies=self.replies[rows],
            unread={parser: mask[rows] for parser, mask in self.unread.items()},
            margins=self.margins[rows],
            hashes=self.hashes[rows],
            orders=self.orders and (self.orders[0].at(rows), self.orders[1].at(rows)),
        )


def panels_of(verdicts: Iterable[Verdict]) -> list[Panel]:
    """A panel for each (dataset, factors) among the verdicts, in order of first appearance.

    Raises DataError when an item lacks a condition or sample that others of its panel have, or has one twice.
    """
    groups: dict[tuple[str, str, Factors], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.benchmark, verdict.dataset, verdict.factors].append(verdict)
    return [panel_of(*key, group) for key, group in groups.items()]


def panel_of(benchmark: str, dataset: str, factors: Factors, verdicts: Sequence[Verdict]) -> Panel:
    """The panel of verdicts that share dataset and factors."""
    item_ids = tuple(sorted({v.item_id for v in verdicts}))
    row_of = {item_id: row for row, item_id in enumerate(item_ids)}
    column_of = {condition: column for column, condition in enumerate(CONDITIONS)}
    shape = (len(item_ids), len(CONDITIONS), 1 + max(v.sample_index for v in verdicts))
    replies = np.full(shape, ABSENT, dtype=np.int8)
    unread = {parser: np.zeros(shape, dtype=np.bool_) for parser in PARSERS}
    margins = np.full(shape, np.nan)
    hashes = np.full(shape[:2], "", dtype="<U16")
    p_answers = [
        [v.p_answer for v in verdicts if column_of[v.condition] in of and v.p_answer is not None] for of in (C1, C2)
    ]
    name = f"{dataset}, arm {factors.arm}"
    for v in verdicts:
        row, column, sample = row_of[v.item_id], column_of[v.condition], v.sample_index
        if replies[row, column, sample] != ABSENT:
            raise DataError(f"{name}: item '{v.item_id}' has two verdicts for {v.condition}, sample {sample}; keep one")
        replies[row, column, sample] = code_of(v, v.choice)
        for parser in v.unread_by:
            unread[parser][row, column, sample] = True
        margins[row, column, sample] = np.nan if v.margin is None else v.margin
        hashes[row, column] = v.prompt_hash
    refuse_holes(name, item_ids, replies)
    return Panel(
        benchmark=benchmark,
        dataset=dataset,
        factors=factors,
        item_ids=item_ids,
        replies=replies,
        unread=unread,
        margins=margins,
        hashes=hashes,
        p_answer=(median(p_answers[0] or [math.nan]), median(p_answers[1] or [math.nan])),
    )


def code_of(verdict: Verdict, choice: int | None) -> int:
    """The reply code of a choice, or of the reason why there is none."""
    if choice is not None:
        return choice
    return {NoVerdict.ERROR: ERROR, NoVerdict.TIE: TIE}.get(verdict.reason or NoVerdict.UNPARSED, UNREADABLE)


def refuse_holes(name: str, item_ids: tuple[str, ...], replies: NDArray[np.int8]) -> None:
    """Raises DataError when a condition was asked for some items and not for others, or only half a framing was."""
    absent = replies == ABSENT
    unasked = absent.all(axis=(0, 2))
    for pair in (C1, C2):
        if unasked[pair].any() and not unasked[pair].all():
            missing = CONDITIONS[pair[int(unasked[pair][1])]]
            raise DataError(f"{name}: {named(item_ids)} no {missing}; a framing needs both its conditions")
    for column, condition in enumerate(CONDITIONS):
        holes = absent[:, column].any(axis=1)
        if not unasked[column] and holes.any():
            lacking = [item_ids[int(i)] for i in np.flatnonzero(holes)]
            raise DataError(f"{name}: {named(lacking)} no complete verdict for {condition}; complete or leave them out")


def named(item_ids: Sequence[str]) -> str:
    """ "3 items (a, b, c) have": the first five ids and the count, as the subject of a sentence."""
    first = ", ".join(item_ids[:5]) + (", ..." if len(item_ids) > 5 else "")
    return f"{len(item_ids)} item{'s' * (len(item_ids) != 1)} ({first}) ha{'ve' if len(item_ids) != 1 else 's'}"


def refuse_unequal_items(name: str, ours: Panel, theirs: Panel) -> None:
    """Raises DataError when two panels that are to be paired are not over the same items."""
    odd = sorted(set(ours.item_ids) ^ set(theirs.item_ids))
    if odd:
        raise DataError(f"{name}: {named(odd)} been judged on one side only; both sides need the same items")


def with_c1_of(panel: Panel, source: Panel) -> Panel:
    """The panel with its C1 replaced by another judge's or arm's: `fixed C1`. Items and sample counts must agree."""
    refuse_unequal_items(f"{panel.dataset}, arm {panel.factors.arm} against arm {source.factors.arm}", panel, source)
    if panel.replies.shape != source.replies.shape:
        raise DataError(f"{panel.dataset}: C1 and C2 have different numbers of samples per prompt; sample both alike")
    fields: dict[str, Any] = {}
    for name in ("replies", "margins", "hashes"):
        fields[name] = joined(getattr(source, name), getattr(panel, name))
    unread = {parser: joined(source.unread[parser], mask) for parser, mask in panel.unread.items()}
    if panel.orders and source.orders:
        fields["orders"] = tuple(map(with_c1_of, panel.orders, source.orders))
    return replace(panel, **fields, unread=unread, p_answer=(source.p_answer[0], panel.p_answer[1]))


def joined(c1: NDArray[Any], c2: NDArray[Any]) -> NDArray[Any]:
    """C1's columns of one array and C2's of another."""
    return np.concatenate([c1[:, C1], c2[:, C2]], axis=1)


def without_errors(panel: Panel) -> tuple[Panel, int]:
    """(the panel without items that the engine failed to answer in some condition, engine errors in all).

    An error is no reply. C1 and C2 are compared over the same items, so one lost condition takes its item along; with
    several samples an item stays as long as each condition has a reply.
    """
    errors = panel.replies == ERROR
    lost = errors.all(axis=2).any(axis=1)
    if not lost.any():
        return panel, int(errors.sum())
    if lost.all():
        raise DataError(f"{panel.dataset}, arm {panel.factors.arm}: the engine failed on every item; sample it again")
    return panel.at(np.flatnonzero(~lost)), int(errors.sum())

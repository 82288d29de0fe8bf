"""Table 4 of the narrator paper: blame and identification where the judge saw the attack, and where it did not."""

from collections.abc import Sequence
from itertools import product

from eval.estimates.estimate import Estimate
from eval.narrator.conditioned import Conditioned
from eval.narrator.definition_words import ANSWER_WORDS
from eval.narrator.observe import PERSPECTIVES
from eval.narrator.perspective_tables import BEST, extremes, marked
from eval.narrator.study import StudyResults
from eval.narrator.tables import (
    ORDER_WORDS,
    PERSPECTIVE_WORDS,
    TASK_WORDS,
    means_note,
    order_note,
    orders_of,
    plus_minus,
    tasks_of,
    visibilities_of,
)
from eval.report.shown_numbers import signed
from eval.report.table import Table
from studies.narrator.records import OptionOrder

SIDE_WORDS = {True: "yes", False: "no", None: "yes less no (by share)"}  # None: their difference


def table_4(found: StudyResults, judge: str) -> Table:
    """Blame and identification conditioned on detection, of one judge; an option order a line."""
    cells = {
        (row.option_order, row.perspective, row.is_detected, row.task, row.visibility): row
        for row in found.conditioned
        if row.judge == judge
    }
    asked, orders = {key[3:] for key in cells}, [order for order in orders_of(found) if order in {k[0] for k in cells}]
    sides = [(task, side) for task in tasks_of(found) for side in reversed(visibilities_of(found))]
    columns = [column for column in sides if column in asked]
    lines = [(p, is_detected, order) for p in PERSPECTIVES for is_detected in (True, False) for order in orders]
    ms: dict[tuple[object, ...], str | None] = {}
    for column in columns:  # an order that was not asked there leaves its cells blank
        keys = [(order, p, yes, *column) for p, yes, order in lines if (order, p, yes, *column) in cells]
        ms |= zip(keys, marked_ms([(key[0], cells[key].m) for key in keys]), strict=True)
    for perspective, order, column in product(PERSPECTIVES, orders, columns):
        yes, no = (cells.get((order, perspective, is_detected, *column)) for is_detected in (True, False))
        if yes and no:
            ms[order, perspective, None, *column] = contrast(yes, no)
    rows = [
        (
            *(PERSPECTIVE_WORDS[perspective], words, ORDER_WORDS[order]),
            *(ms.get((order, perspective, is_detected, *column)) for column in columns),
            *(
                cells[key].n_prompts if (key := (order, perspective, is_detected, *column)) in cells else None
                for column in columns
            ),
        )
        for perspective, (is_detected, words), order in product(PERSPECTIVES, SIDE_WORDS.items(), orders)
        if columns
    ]
    return Table(
        name="narrator_table4",
        title=f"Blame and identification by detection outcome: {judge}",
        columns=(
            *("perspective", "attack detected", "options"),
            *(f"{TASK_WORDS[task]} {side}" for task, side in columns),
            *(f"prompts: {task} {side}" for task, side in columns),
        ),
        rows=tuple(rows),
        note=f"{means_note(found, judge)} {detection_note(found, list(cells.values()))} {BEST}: highest of its column "
        f"in its option order. {order_note(found)}",
    )


def contrast(yes: Conditioned, no: Conditioned) -> str | None:
    """M of detected prompts less M of missed ones, and where it goes by replies, the same by share in brackets."""
    if yes.m.value is None or no.m.value is None:
        return None
    shown = signed(yes.m.value - no.m.value)
    if yes.m_by_share is None or no.m_by_share is None:
        return shown
    return f"{shown} ({signed(yes.m_by_share - no.m_by_share)})"


def marked_ms(column: Sequence[tuple[OptionOrder, Estimate]]) -> list[str | None]:
    """A column's cells, the highest of each option order marked."""
    best: set[int] = set()
    for order in dict.fromkeys(order for order, _ in column):
        best |= extremes([m.value if of == order else None for of, m in column])[0]
    return marked([plus_minus(m) for _, m in column], best)


def detection_note(found: StudyResults, rows: Sequence[Conditioned]) -> str:
    """Which prompts are in which row."""
    d = found.definitions
    same = f"under the same {d.detected_by} and visibility"
    n_undecided, n_mixed = (max((getattr(row, n) for row in rows), default=0) for n in ("n_undecided", "n_mixed"))
    neither = f"are in neither row (at most {n_undecided} of a perspective)"
    both = f"are in both rows (at most {n_mixed} of a perspective)"
    if d.detection == "majority":
        return (
            f"Detected: the one answer to detection {same} is Yes; it is {ANSWER_WORDS[d.majority]}. Prompts whose "
            f"detection is tied or unanswered {neither}."
        )
    if d.detection == "share" or any(run.verdict == "options" for run in found.runs):
        words = f"Prompts are weighted by the share of Yes, or of No, in the detection {same}; those with both {both}"
    else:
        words = (
            f"Detected: some reply to the detection {same} says Yes; not detected: some says No. Prompts with both "
            f"{both}, and their conversation counts once in each, which flattens the contrast of the rows: in brackets "
            "it is of prompts weighted by the share of Yes, or of No"
        )
    return f"{words}. Prompts whose detection is unanswered {neither}."

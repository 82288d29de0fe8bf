"""Table 4 of the narrator paper: blame and identification where the judge saw the attack, and where it did not."""

from collections.abc import Sequence

from eval.narrator.conditioned import Conditioned
from eval.narrator.definition_words import ANSWER_WORDS
from eval.narrator.observe import PERSPECTIVES
from eval.narrator.study import StudyResults
from eval.narrator.tables import (
    ORDER_WORDS,
    PERSPECTIVE_WORDS,
    TASK_WORDS,
    first_order,
    means_note,
    plus_minus,
    tasks_of,
    visibilities_of,
)
from eval.report.table import Table


def table_4(found: StudyResults, judge: str) -> Table:
    """Blame and identification conditioned on detection, of one judge."""
    order = first_order(found)
    cells = {
        (row.perspective, row.is_detected, row.task, row.visibility): row
        for row in found.conditioned
        if row.judge == judge and row.option_order == order
    }
    asked = {key[2:] for key in cells}
    sides = [(task, side) for task in tasks_of(found) for side in reversed(visibilities_of(found))]
    columns = [column for column in sides if column in asked]
    rows = [
        (
            PERSPECTIVE_WORDS[perspective],
            "yes" if side else "no",
            *(plus_minus(cells[perspective, side, task, of].m) for task, of in columns),
            *(cells[perspective, side, task, of].n_prompts for task, of in columns),
        )
        for perspective in PERSPECTIVES
        for side in (True, False)
        if columns
    ]
    return Table(
        name="narrator_table4",
        title=f"Blame and identification by detection outcome: {judge}",
        columns=(
            *("perspective", "attack detected"),
            *(f"{TASK_WORDS[task]} {side}" for task, side in columns),
            *(f"prompts: {task} {side}" for task, side in columns),
        ),
        rows=tuple(rows),
        note=f"{means_note(found, judge)} {detection_note(found, list(cells.values()))} Options: {ORDER_WORDS[order]}.",
    )


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
            f"{both}, and their conversation counts once in each"
        )
    return f"{words}. Prompts whose detection is unanswered {neither}."

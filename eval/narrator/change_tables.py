"""What moved in the study from a base run to those after it, as a table and in words."""

from collections.abc import Mapping, Sequence

from eval.estimates.changes import Change
from eval.narrator.changes import key_of
from eval.narrator.observe import DEFAULT, DETECTION, Definitions, main_order
from eval.narrator.sentences import ONE_ORDER
from eval.narrator.words import ORDER_WORDS, SIDE_WORDS, TASK_WORDS, changes_note
from eval.report.change_cells import change_words
from eval.report.shown_numbers import number, signed
from eval.report.table import Cell, Table

MEASURE_WORDS = {
    "neutral": "M, neutral",
    "attacker": "M, attacker as Me",
    "non_attacker": "M, non-attacker as Me",
    "delta_att": "Δ_att",
    "delta_non_att": "Δ_non-att",
    "pr": "PR",
    "far": "FAR",
    "corruption": "corruption rate",
}
MAIN_MEASURES = ("neutral", "pr", "far", "corruption")
PROTECTION_WORDS = {  # of a change of PR, by its direction
    -1: " In words, being called Me protects less than before, or harms more.",
    0: " In words, no change of PR is shown.",
    1: " In words, being called Me protects more than before, or harms less.",
    None: "",
}
DIRECTION_WORDS = {-1: "lower", 0: "unclear", 1: "higher", None: None}
CHANGE_NOTE = (
    "M, FAR and corruption in percent, Δ, PR and changes in percentage points. 95% intervals are cluster-robust and "
    "paired by conversation; p: two-sided sign-flip test that swaps whole conversations between the runs; p Holm: "
    "adjusted over the runs. lower, higher: the interval excludes 0 and p Holm < .05."
)


def narrator_change_table(
    changes: Mapping[str, Sequence[Change]], d: Definitions = DEFAULT, *, is_short: bool = False
) -> Table:
    """A line for each run after the base, setting and measure. is_short: only what tells most, in the main order."""
    rows = [
        line_of(judge, change)
        for judge, of_judge in changes.items()
        for change in (main_changes(of_judge) if is_short else of_judge)
    ]
    return Table(
        name="narrator_changes",
        title="Narrator study: before and after",
        columns=(
            *("run", "task", "attack", "options", "measure", "conversations", "before", "after"),
            *("change", "95% low", "95% high", "p", "p Holm", "shown"),
        ),
        rows=tuple(rows),
        formats=(*[""] * 5, "d", "", "", *["+.1f"] * 3, "p", "p", ""),
        note=f"{CHANGE_NOTE} {changes_note(d)}",
    )


def line_of(judge: str, change: Change) -> tuple[Cell, ...]:
    """A change's cells in the order of the columns."""
    (task, visibility, order, _), moved = key_of(change), change.change
    return (
        *(judge, task, visibility, ORDER_WORDS[order], MEASURE_WORDS[change.measure]),
        *(moved.n_units, change.before.value, change.after.value, moved.value, moved.low, moved.high),
        *(change.p, change.p_holm, DIRECTION_WORDS[change.direction]),
    )


def main_changes(changes: Sequence[Change]) -> list[Change]:
    """Neutral M, PR, FAR and corruption in the main option order, PR in the other one too; of detection only where
    nothing else was asked.
    """
    by_key = {key_of(change): change for change in changes}
    main, tasks = main_order(order for _, _, order, _ in by_key), list(TASK_WORDS)
    found = [key for key in by_key if key[3] == "pr" or (key[2] == main and key[3] in MAIN_MEASURES)]
    kept = [key for key in found if key[0] != DETECTION] or [key for key in found if key[2] == main]
    kept.sort(key=lambda key: (tasks.index(key[0]), key[1] != "visible", MAIN_MEASURES.index(key[3])))
    return [by_key[key] for key in kept]


def change_sentence(judge: str, changes: Sequence[Change]) -> str:
    """How PR and neutral M moved to one run, in the most subjective task that was asked, with the attack shown."""
    by_key = {key_of(change): change for change in changes}
    order = main_order(order for _, _, order, _ in by_key)
    asked = [key for key in by_key if key[2:] == (order, "pr")]
    if not asked:
        return f"{judge}: no change is known, since nothing that was asked before and after was answered both times."
    task, side, *_ = main = min(asked, key=lambda key: (list(TASK_WORDS).index(key[0]), key[1] != "visible"))
    pr = by_key[main]
    control = by_key.get((task, side, "fixed_slot", "pr")) if order != "fixed_slot" else None
    slot = f"; {change_words(control, ' pp')} with Me in its name's slot" if control else ""
    is_open = pr.direction and control is None and order == "published" and task != DETECTION
    neutral = by_key.get((task, side, order, "neutral"))
    right = (
        f"; when nobody is Me it is right in {number(neutral.before.value)}% before and "
        f"{number(neutral.after.value)}% after ({change_words(neutral, ' pp')})"
        if neutral
        else ""
    )
    return (
        f"{judge}, {TASK_WORDS[task].lower()} {SIDE_WORDS[side]}: PR went from {signed(pr.before.value)} to "
        f"{signed(pr.after.value)} pp ({change_words(pr, ' pp')}{slot}){right}.{protection_words(pr, control)}"
        + (f" But {ONE_ORDER}." if is_open else "")
    )


def protection_words(pr: Change, control: Change | None) -> str:
    """What a change of PR means, if anything. control: the same with Me in its name's slot."""
    if pr.direction and control is not None and control.direction != pr.direction:
        return " In words, the change may come from where Me stands: with Me in its name's slot none is shown."
    return PROTECTION_WORDS[pr.direction]

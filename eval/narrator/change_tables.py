"""What moved in the study from a base run to those after it, as a table and in words."""

from collections.abc import Mapping, Sequence

from eval.narrator.changes import EffectChange
from eval.narrator.measures import DETECTION, main_order
from eval.narrator.sentences import SIDE_WORDS
from eval.narrator.tables import ORDER_WORDS, TASK_WORDS
from eval.report.shown_numbers import interval, number, signed
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


def narrator_change_table(changes: Mapping[str, Sequence[EffectChange]], *, is_short: bool = False) -> Table:
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
        note=CHANGE_NOTE,
    )


def line_of(judge: str, change: EffectChange) -> tuple[Cell, ...]:
    """A change's cells in the order of the columns."""
    moved = change.change
    return (
        *(judge, change.task, change.visibility, ORDER_WORDS[change.option_order], MEASURE_WORDS[change.measure]),
        *(moved.n_clusters, change.before.value, change.after.value, moved.value, moved.low, moved.high),
        *(change.p, change.p_holm, DIRECTION_WORDS[change.direction]),
    )


def main_changes(changes: Sequence[EffectChange]) -> list[EffectChange]:
    """Neutral M, PR, FAR and corruption in the main option order, PR in the other one too; of detection only where
    nothing else was asked.
    """
    order, tasks = main_order(c.option_order for c in changes), list(TASK_WORDS)
    found = [c for c in changes if c.measure == "pr" or (c.option_order == order and c.measure in MAIN_MEASURES)]
    return sorted(
        [c for c in found if c.task != DETECTION] or [c for c in found if c.option_order == order],
        key=lambda c: (tasks.index(c.task), c.visibility != "visible", MAIN_MEASURES.index(c.measure)),
    )


def change_sentence(judge: str, changes: Sequence[EffectChange]) -> str:
    """How PR and neutral M moved to one run, in the most subjective task that was asked, with the attack shown."""
    order = main_order(c.option_order for c in changes)
    found = {(c.task, c.visibility): c for c in changes if (c.option_order, c.measure) == (order, "pr")}
    if not found:
        return f"{judge}: no change is known, since nothing that was asked before and after was answered both times."
    task, side = min(found, key=lambda key: (list(TASK_WORDS).index(key[0]), key[1] != "visible"))
    pr = found[task, side]
    control = next((c for c in changes if order != "fixed_slot" and c.key == (task, side, "fixed_slot", "pr")), None)
    slot = f"; {moved_words(control)} with Me in its name's slot" if control else ""
    neutral = [c for c in changes if c.key == (task, side, order, "neutral")]
    right = "".join(
        f"; when nobody is Me it is right in {number(c.before.value)}% before and {number(c.after.value)}% after "
        f"({moved_words(c)})"
        for c in neutral
    )
    return (
        f"{judge}, {TASK_WORDS[task].lower()} {SIDE_WORDS[side]}: PR went from {signed(pr.before.value)} to "
        f"{signed(pr.after.value)} pp ({moved_words(pr)}{slot}){right}.{protection_words(pr, control)}"
    )


def protection_words(pr: EffectChange, control: EffectChange | None) -> str:
    """What a change of PR means, if anything. control: the same with Me in its name's slot."""
    if pr.direction and control is not None and control.direction != pr.direction:
        return " In words, the change may come from where Me stands: with Me in its name's slot none is shown."
    return PROTECTION_WORDS[pr.direction]


def moved_words(change: EffectChange) -> str:
    """A change with its interval."""
    return f"{signed(change.change.value)} pp {interval(change.change.low, change.change.high)}"

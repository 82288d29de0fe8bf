"""Rows of changes → a plain text table with a caption that says what its numbers are."""

from collections.abc import Sequence

from eval.dialdefer.averages import average_sentence
from eval.dialdefer.change_rows import ChangeRow, change_rows
from eval.dialdefer.score_groups import worth_showing
from eval.dialdefer.score_text import ARM_WORDS, ONE_ORDER
from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate
from eval.report.change_cells import CHANGE, change_cells
from eval.report.shown_numbers import aligned, interval, number, signed

C1_WORDS = {
    "own": "own C1: statements and dialogues judged by the same checkpoint (the one to believe)",
    "fixed": "fixed C1: the after model's dialogues against the base model's statements (as published tables do)",
}
HEADER = ["dataset", "items", "yes C1", "→", "yes C2", "→", "acc C1", "→", "acc C2", "→", "change C2", *CHANGE[:2]]
HEADER += ["DDS", "→", "95% interval", "change", *CHANGE[:2]]
FURTHER = {  # measure → its head, digits
    "deference": ("deference d", 1),
    "position": ("position p", 1),
    "shift": ("shift, own SD", 2),
    "shift_in_base_sd": ("shift, base's SD", 2),
}


def change_tables(changes: Sequence[Change]) -> str:
    """A table for each arm, C1 source and prompt variant of one comparison."""
    groups: dict[tuple[str, ...], list[ChangeRow]] = {}
    for row in change_rows(changes):
        groups.setdefault((row.arm, row.roles, row.variant, row.c1_source), []).append(row)
    has_orders = any(change.measure == "deference" for change in changes)
    return "\n\n".join([*(change_table(group) for group in groups.values()), *([] if has_orders else [ONE_ORDER])])


def change_table(rows: Sequence[ChangeRow]) -> str:
    """One captioned table of rows that share everything but the dataset."""
    shown = worth_showing(rows)
    row = rows[0]
    of = row["dds"]
    setting = of.setting
    reading = "margins" if setting["verdict"] == "margin" else f"reasoned replies, {setting['parser']} parser"
    variant = f", prompt variant {row.variant}" if row.variant else ""
    lines = [
        of.first,
        f"→ {of.second}; {ARM_WORDS.get(row.arm, row.arm)}, roles {row.roles}{variant}",
        C1_WORDS[row.c1_source] + ".",
        f"Verdicts from {reading}; denominator {setting['denominator']}.",
        f"Accuracies and claims accepted (yes) in %, DDS and changes in percentage points; intervals pair the items "
        f"({of.n_draws:,} draws); p is adjusted over the runs after the base (Holm).",
        "",
        *aligned([HEADER, *(cells(r) for r in shown)]),
    ]
    lines += [average_sentence(r.dataset, list(r.datasets)) for r in shown if len(r.datasets) > 1]
    if further := further_lines(rows):
        lines += ["", *aligned(further)]
    if any(r.over_corrected for r in shown):
        lines.append("†: over-corrected, DDS was positive before and is negative after.")
    return "\n".join(lines)


def further_lines(rows: Sequence[ChangeRow]) -> list[list[str]]:
    """A header and a line a dataset: before, after and change of the measures in FURTHER that all rows have."""
    there = [name for name in FURTHER if all(name in row.by_measure for row in rows)]
    lines = [["dataset", *(cell for name in there for cell in (FURTHER[name][0], "→", "change", *CHANGE))]]
    for row in worth_showing(rows) if there else ():
        line = [row.dataset]
        for name in there:
            change, digits = row[name], FURTHER[name][1]
            line += [signed(change.before.value, digits), signed(change.after.value, digits)]
            line += change_cells(change, digits)
        lines.append(line)
    return lines if there else []


def cells(row: ChangeRow) -> list[str]:
    """A row's cells in the order of HEADER."""
    c2, dds = row["acc_c2"], row["dds"]
    accepted = [f"{side.value:.0f}" if side.value is not None else "–" for side in sides(row, "accept_c1", "accept_c2")]
    return [
        *(row.dataset, str(row.n_items), *accepted, *(number(side.value) for side in sides(row, "acc_c1", "acc_c2"))),
        *change_cells(c2)[:3],
        *(signed(dds.before.value), signed(dds.after.value) + "†" * row.over_corrected),
        *(interval(dds.after.low, dds.after.high), *change_cells(dds)[:3]),
    ]


def sides(row: ChangeRow, *measures: str) -> list[Estimate]:
    """Some measures before and after."""
    return [side for measure in measures for side in (row[measure].before, row[measure].after)]

"""Rows of changes → a plain text table with a caption that says what its numbers are."""

from collections.abc import Sequence

from eval.dialdefer.averages import average_sentence
from eval.dialdefer.changes import ChangeRow
from eval.dialdefer.score_text import ARM_WORDS
from eval.report.shown_numbers import aligned, interval, number, signed

C1_WORDS = {
    "own": "own C1: statements and dialogues judged by the same checkpoint (the one to believe)",
    "fixed": "fixed C1: the after model's dialogues against the base model's statements (as published tables do)",
}
HEADER = ["dataset", "items", "acc C1", "→", "acc C2", "→", "change C2", "95% interval"]
HEADER += ["DDS", "→", "95% interval", "change", "95% interval"]


def change_tables(rows: Sequence[ChangeRow]) -> str:
    """A table for each after run, arm, C1 source and wording, under the first denominator given."""
    groups: dict[tuple[str, ...], list[ChangeRow]] = {}
    for row in rows:
        if row.denominator == rows[0].denominator:
            groups.setdefault((row.after_run, row.arm, row.roles, row.variant, row.c1_source), []).append(row)
    return "\n\n".join(change_table(group) for group in groups.values())


def change_table(rows: Sequence[ChangeRow]) -> str:
    """One captioned table of rows that share everything but the dataset."""
    shown = [row for row in rows if row.datasets == (row.dataset,) or len(row.datasets) > 1]
    row = rows[0]
    reading = "margins" if row.verdict == "margin" else f"reasoned replies, {row.parser} parser"
    wording = f", wording {row.variant}" if row.variant else ""
    lines = [
        f"{row.base_model} ({row.base_run})",
        f"→ {row.after_model} ({row.after_run}); {ARM_WORDS.get(row.arm, row.arm)}, roles {row.roles}{wording}",
        C1_WORDS[row.c1_source] + ".",
        f"Verdicts from {reading}; denominator {row.denominator}.",
        f"Accuracies in %, DDS and changes in percentage points; intervals pair the items ({row.n_draws:,} draws).",
        "",
        *aligned([HEADER, *(cells(r) for r in shown)]),
    ]
    lines += [average_sentence(r.dataset, list(r.datasets)) for r in shown if len(r.datasets) > 1]
    if any(r.over_corrected for r in shown):
        lines.append("†: over-corrected, DDS was positive before and is negative after.")
    return "\n".join(lines)


def cells(row: ChangeRow) -> list[str]:
    """A row's cells in the order of HEADER."""
    return [
        row.dataset,
        str(row.n_items),
        number(row.base_acc_c1),
        number(row.after_acc_c1),
        number(row.base_acc_c2),
        number(row.after_acc_c2),
        signed(row.change_acc_c2_pp),
        interval(row.change_acc_c2_ci_low_pp, row.change_acc_c2_ci_high_pp),
        signed(row.base_dds_pp),
        signed(row.after_dds_pp) + "†" * row.over_corrected,
        interval(row.after_dds_ci_low_pp, row.after_dds_ci_high_pp),
        signed(row.change_dds_pp),
        interval(row.change_dds_ci_low_pp, row.change_dds_ci_high_pp),
    ]

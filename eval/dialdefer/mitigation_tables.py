"""Mitigations of any set of judges: arm × dataset (DialDefer Tables 21 to 23), and a line for each arm (Table 5).

The paper's DDS holds a treated arm's C2 against the untreated C1 (`fixed C1`, §7). Beside it stands the arm's own, the
one to believe: both framings answered by the same judge under the same treatment.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.dialdefer.averages import AIO, TOTAL_AVG
from eval.dialdefer.dds import is_over_corrected
from eval.dialdefer.headline import main_row
from eval.dialdefer.row_groups import arm_words, is_dataset, main_rows_by_judge, ordered, reading_note
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.scores import FIXED, OWN
from eval.report.table import Cell, Table

DDS_COLUMNS: tuple[tuple[str, str], ...] = tuple(
    (f"{name} ({source} C1)", form)
    for source in (FIXED, OWN)
    for name, form in (("DDS", "+.1f"), ("95% low", "+.1f"), ("95% high", "+.1f"), ("change", "+.1f"), ("†", ""))
)
COLUMNS: tuple[tuple[str, str], ...] = (
    *(("model", ""), ("dataset", ""), ("arm", ""), ("items", "d")),
    *(("C2 correct", ".1f"), ("C2 incorrect", ".1f"), ("C2", ".1f"), ("change", "+.1f")),
    *DDS_COLUMNS,
)
SUMMARY_COLUMNS: tuple[tuple[str, str], ...] = (
    *(("model", ""), ("arm", ""), ("C2", ".1f"), ("change", "+.1f"), ("DDS over", "")),
    *((name, form) for name, form in DDS_COLUMNS if not name.startswith("95%")),
    *((f"r/AIO {name}", form) for name, form in DDS_COLUMNS if not name.startswith("95%")),
)
WORDS = (
    "Changes are from the untreated arm. Fixed C1: against the untreated arm's statements, as the paper scores "
    "mitigations; own C1: against the treated arm's own, the one to believe. †: over-corrected, DDS positive before "
    "and negative after. No change is given where engine errors leave the two sides with other items."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRow:
    """One arm of one judge on one dataset or average, beside the untreated arm. None where it was not asked."""

    base: ScoreRow  # the untreated arm
    arm: str
    fixed: ScoreRow | None
    own: ScoreRow | None

    @property
    def any(self) -> ScoreRow:
        """A row of the arm; C2 is the same in both."""
        row = self.fixed or self.own
        assert row is not None, "an arm has a row"
        return row

    @property
    def change_acc_c2_pp(self) -> float | None:
        """Rise in average accuracy under C2 over the untreated arm, in percentage points; None for that arm itself."""
        if self.arm == "none" or self.any.n_items != self.base.n_items:  # an engine error leaves its item out
            return None
        return difference_pp(self.any.acc_c2, self.base.acc_c2)


def mitigation_table(rows: Sequence[ScoreRow]) -> Table:
    """Every arm on every dataset and average of every judge, as DialDefer Tables 21 to 23.

    rows: as eval.dialdefer.scores.score_panels gives them, of one reading and one denominator.
    """
    found = [(judge, arm_row) for judge, arm_rows in arm_rows_by_judge(rows).items() for arm_row in arm_rows]
    return Table(
        name="table21_mitigations",
        title="Mitigations by dataset: accuracy under dialogue framing (C2) and DDS (DialDefer Tables 21 to 23)",
        columns=tuple(name for name, _ in COLUMNS),
        rows=tuple(mitigation_cells(judge, arm_row) for judge, arm_row in found),
        formats=tuple(form for _, form in COLUMNS),
        note=f"{WORDS} {reading_note([arm_row.any for _, arm_row in found])}",
    )


def mitigation_cells(judge: str, arm_row: ArmRow) -> tuple[Cell, ...]:
    """An arm's cells in the order of COLUMNS."""
    row = arm_row.any
    return (
        *(judge, row.dataset, arm_words(arm_row.arm), row.n_items),
        *(row.acc_c2_correct, row.acc_c2_incorrect, row.acc_c2, arm_row.change_acc_c2_pp),
        *dds_cells(arm_row, arm_row.fixed),
        *dds_cells(arm_row, arm_row.own),
    )


def dds_cells(arm_row: ArmRow, row: ScoreRow | None) -> tuple[Cell, ...]:
    """DDS with one source of C1: score, interval, change from the untreated arm, dagger."""
    if row is None:
        return None, None, None, None, ""
    before, after = arm_row.base.dds_pp, row.dds_pp
    same_items = row.n_items == arm_row.base.n_items
    change = difference_pp(after, before) if same_items and arm_row.arm != "none" else None
    is_over = before is not None and after is not None and is_over_corrected(before, after)
    return after, row.dds_ci_low_pp, row.dds_ci_high_pp, change, "†" if is_over else ""


def mitigation_summary_table(rows: Sequence[ScoreRow]) -> Table:
    """A line for each arm of each judge, as DialDefer Table 5: accuracy over all its datasets, Bench and r/AIO DDS.

    A judge with other datasets has the DDS of their average instead; column `DDS over` says which.
    """
    judges = arm_rows_by_judge(rows)
    lines = [
        summary_cells(judge, [arm_row for arm_row in arm_rows if arm_row.arm == arm])
        for judge, arm_rows in judges.items()
        for arm in dict.fromkeys(arm_row.arm for arm_row in arm_rows)
    ]
    return Table(
        name="table5_mitigations",
        title="Mitigations: accuracy under dialogue framing (C2) over all datasets, and DDS (DialDefer Table 5)",
        columns=tuple(name for name, _ in SUMMARY_COLUMNS),
        rows=tuple(lines),
        formats=tuple(form for _, form in SUMMARY_COLUMNS),
        note=f"{WORDS} {reading_note([arm_row.any for arm_rows in judges.values() for arm_row in arm_rows])}",
    )


def summary_cells(judge: str, arm_rows: Sequence[ArmRow]) -> tuple[Cell, ...]:
    """One arm's cells in the order of SUMMARY_COLUMNS. arm_rows: its rows over all datasets and averages."""
    by_name = {arm_row.any.dataset: arm_row for arm_row in arm_rows}
    main = by_name[main_row([arm_row.any for arm_row in arm_rows]).dataset]
    aio = by_name.get(AIO)
    others = [arm_row.any for name, arm_row in by_name.items() if name not in (AIO, TOTAL_AVG)]
    bench = by_name[main_row(others).dataset] if others else main
    is_partial = len(by_name) > 1 and is_dataset(main.any)  # its datasets are not the untreated arm's: no average
    if is_partial and main.arm != "none":
        return (judge, arm_words(main.arm), None, None, "other datasets", *(None, None, "") * 4)
    return (
        *(judge, arm_words(main.arm), main.any.acc_c2, main.change_acc_c2_pp, bench.any.dataset),
        *short_dds_cells(bench),
        *(short_dds_cells(aio) if aio else (None, None, "") * 2),
    )


def short_dds_cells(arm_row: ArmRow) -> tuple[Cell, ...]:
    """Score, change and dagger, with fixed and with own C1."""
    cells: list[Cell] = []
    for row in (arm_row.fixed, arm_row.own):
        score, _, _, change, dagger = dds_cells(arm_row, row)
        cells += [score, change, dagger]
    return tuple(cells)


def arm_rows_by_judge(rows: Sequence[ScoreRow]) -> dict[str, list[ArmRow]]:
    """Judge → its arms on each dataset and average: datasets by falling untreated DDS, arms as they appear.

    Only what the untreated arm has too takes part; an average counts when both are over the same datasets.
    """
    judges: dict[str, list[ArmRow]] = {}
    for judge, untreated in main_rows_by_judge(rows).items():
        of_judge = [row for row in rows if (row.run, row.model) == (untreated[0].run, untreated[0].model)]
        of_judge = [row for row in of_judge if row.roles == "2->1" and not row.variant]
        judges[judge] = [arm_row for base in ordered(untreated) for arm_row in arms_of(base, of_judge)]
    return judges


def arms_of(base: ScoreRow, rows: Sequence[ScoreRow]) -> list[ArmRow]:
    """The arms of one judge on the dataset or average of an untreated row, that first."""
    found = [ArmRow(base=base, arm="none", fixed=base, own=base)]
    same = [row for row in rows if (row.dataset, row.datasets) == (base.dataset, base.datasets) and row.arm != "none"]
    for arm in dict.fromkeys(row.arm for row in same):
        by_source = {row.c1_source: row for row in same if row.arm == arm}
        found.append(ArmRow(base=base, arm=arm, fixed=by_source.get(FIXED), own=by_source.get(OWN)))
    return found


def difference_pp(after: float | None, before: float | None) -> float | None:
    """A difference, or None where a side is unknown."""
    return None if after is None or before is None else after - before

"""Main results of any set of judges: every dataset (DialDefer Table 20), and a line for each judge (Table 2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.dialdefer.amplification import amplifications
from eval.dialdefer.averages import AIO, BENCH_AVG
from eval.dialdefer.headline import main_row
from eval.dialdefer.row_groups import is_dataset, main_rows_by_judge, named, ordered, reading_note
from eval.dialdefer.rows import ScoreRow
from eval.report.table import Cell, Table

DOMAIN_COLUMNS: tuple[tuple[str, str], ...] = (
    *(("model", ""), ("dataset", ""), ("items", "d"), ("C1 true", ".1f"), ("C1 false", ".1f"), ("C1", ".1f")),
    *(("C2 correct", ".1f"), ("C2 incorrect", ".1f"), ("C2", ".1f"), ("Δ correct", "+.1f"), ("Δ incorrect", "+.1f")),
    *(("DDS", "+.1f"), ("95% low", "+.1f"), ("95% high", "+.1f"), ("p", "p"), ("unreadable", ".1%"), ("saturated", "")),
)
SUMMARY_COLUMNS: tuple[tuple[str, str], ...] = (
    *(("model", ""), ("over", ""), ("items", "d"), ("C1", ".1f"), ("C2", ".1f"), ("C2 - C1", "+.1f")),
    *(("Δ correct", "+.1f"), ("Δ incorrect", "+.1f"), ("DDS", "+.1f"), ("95% low", "+.1f"), ("95% high", "+.1f")),
    *(("p", "p"), ("mean |DDS|", ".1f"), ("Bench DDS", "+.1f"), ("r/AIO DDS", "+.1f"), ("amplification", ".1f")),
    *(("unreadable", ".1%"), ("saturated", "")),
)
P_WORDS = "p: exact McNemar test on acceptance, items pooled."


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanShift:
    """The mean of some DDS and the mean of their magnitudes, in percentage points; None without any.

    The two differ as soon as one judge is skeptical. The abstract's "mean |DDS| = 15.9" is the first: the mean of the
    magnitudes in Table 2 is 16.3.
    """

    n: int
    mean_pp: float | None
    mean_abs_pp: float | None


def mean_shift(values_pp: Sequence[float | None]) -> MeanShift:
    """The mean shift over judges or datasets, over those that are known."""
    known = [value for value in values_pp if value is not None]
    if not known:
        return MeanShift(n=0, mean_pp=None, mean_abs_pp=None)
    return MeanShift(n=len(known), mean_pp=sum(known) / len(known), mean_abs_pp=sum(map(abs, known)) / len(known))


def domain_table(rows: Sequence[ScoreRow]) -> Table:
    """Every dataset and average of every judge, as DialDefer Table 20: datasets by falling DDS within a judge.

    rows: as scores.score_panels gives them, of one reading and one denominator; the main ones are picked.
    """
    judges = main_rows_by_judge(rows)
    shown = [(judge, row) for judge, of_judge in judges.items() for row in ordered(of_judge)]
    return Table(
        name="table20_domains",
        title="Accuracy under statement (C1) and dialogue (C2) framing, and DDS, by dataset (DialDefer Table 20)",
        columns=tuple(name for name, _ in DOMAIN_COLUMNS),
        rows=tuple(domain_cells(judge, row) for judge, row in shown),
        formats=tuple(form for _, form in DOMAIN_COLUMNS),
        note=f"{reading_note([row for _, row in shown])} {P_WORDS}",
    )


def domain_cells(judge: str, row: ScoreRow) -> tuple[Cell, ...]:
    """A row's cells in the order of DOMAIN_COLUMNS."""
    return (
        *(judge, row.dataset, row.n_items),
        *(row.acc_c1_true, row.acc_c1_false, row.acc_c1),
        *(row.acc_c2_correct, row.acc_c2_incorrect, row.acc_c2),
        *(row.delta_correct_pp, row.delta_incorrect_pp),
        *(row.dds_pp, row.dds_ci_low_pp, row.dds_ci_high_pp, row.mcnemar_p_acceptance),
        *(row.unparsed_rate, "yes" if row.saturated else ""),
    )


def summary_table(rows: Sequence[ScoreRow]) -> Table:
    """A line for each judge over all its datasets, as DialDefer Table 2, with what a signed average hides."""
    judges = main_rows_by_judge(rows)
    ratios = {a.judge: a.ratio for a in amplifications(rows)}
    mains = {judge: main_row(of_judge) for judge, of_judge in judges.items()}
    return Table(
        name="table2_summary",
        title="Main results: average accuracy, change from statement (C1) to dialogue (C2) framing, and DDS (Table 2)",
        columns=tuple(name for name, _ in SUMMARY_COLUMNS),
        rows=tuple(summary_cells(judge, judges[judge], mains[judge], ratios.get(judge)) for judge in judges),
        formats=tuple(form for _, form in SUMMARY_COLUMNS),
        note=f"{reading_note(list(mains.values()))} {P_WORDS} {summary_words(list(mains.values()))}",
    )


def summary_cells(judge: str, rows: Sequence[ScoreRow], main: ScoreRow, ratio: float | None) -> tuple[Cell, ...]:
    """A judge's cells in the order of SUMMARY_COLUMNS."""
    bench, aio = named(rows, BENCH_AVG), named(rows, AIO)
    datasets = [row for row in rows if is_dataset(row) and row.dataset in main.datasets]
    return (
        *(judge, main.dataset, main.n_items, main.acc_c1, main.acc_c2, accuracy_change_pp(main)),
        *(main.delta_correct_pp, main.delta_incorrect_pp, main.dds_pp, main.dds_ci_low_pp, main.dds_ci_high_pp),
        *(main.mcnemar_p_acceptance, mean_shift([row.dds_pp for row in datasets]).mean_abs_pp),
        *(bench.dds_pp if bench else None, aio.dds_pp if aio else None, ratio),
        *(main.unparsed_rate, "yes" if main.saturated else ""),
    )


def accuracy_change_pp(row: ScoreRow) -> float | None:
    """Average accuracy under C2 minus under C1, in percentage points: what DDS moves behind (Figure 3a)."""
    return None if row.acc_c1 is None or row.acc_c2 is None else row.acc_c2 - row.acc_c1


def summary_words(mains: Sequence[ScoreRow]) -> str:
    """What the columns hide, and over all judges."""
    words = [
        "mean |DDS|: over the datasets, so that opposite shifts do not cancel.",
        "Amplification: |r/AIO DDS| / |Bench DDS|, a dash where the interval of Bench DDS includes 0.",
    ]
    shift = mean_shift([row.dds_pp for row in mains])
    if shift.n > 1 and shift.mean_pp is not None:
        words.append(f"Over {shift.n} judges: mean DDS {shift.mean_pp:+.1f}, mean |DDS| {shift.mean_abs_pp:.1f}.")
    if len({row.datasets for row in mains}) > 1 or len({row.n_items for row in mains}) > 1:
        words.append("The judges were not all asked the same items; compare lines over the same datasets only.")
    return " ".join(words)

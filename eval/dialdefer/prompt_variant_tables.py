"""What the prompt variant does to DDS: paraphrases (DialDefer Table 15) and speaker labels (Figure 7)."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eval.dialdefer.row_groups import by_judge, is_dataset, main_rows_by_judge, reading_note
from eval.dialdefer.rows import ScoreRow
from eval.report.table import Cell, Table

PARAPHRASES = ("v1", "v2", "v3")  # templates of appendix D
DDS_COLUMNS: tuple[tuple[str, str], ...] = (("DDS", "+.1f"), ("95% low", "+.1f"), ("95% high", "+.1f"))
PARAPHRASE_COLUMNS: tuple[tuple[str, str], ...] = (
    *(("model", ""), ("dataset", ""), ("prompt variant", ""), ("items", "d"), ("C1", ".1f"), ("C2", ".1f")),
    *(*DDS_COLUMNS, ("± std", ".1f")),
)
LABEL_COLUMNS: tuple[tuple[str, str], ...] = (
    *(("model", ""), ("dataset", ""), ("Speaker 1", ""), ("Speaker 2", ""), ("items", "d"), ("C2", ".1f")),
    *(*DDS_COLUMNS, ("ΔDDS", "+.1f"), ("swing", "+.1f")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Mean and standard deviation of a score over variants, in percentage points; ddof 1, so None under two of them."""

    n: int
    mean_pp: float | None
    std_pp: float | None


def spread(values_pp: Sequence[float | None]) -> Spread:
    """The spread over paraphrases as DialDefer Table 15 prints it; all None when a value is unknown."""
    known = [value for value in values_pp if value is not None]
    if not known or len(known) < len(values_pp):
        return Spread(n=len(values_pp), mean_pp=None, std_pp=None)
    std = statistics.stdev(known) if len(known) > 1 else None
    return Spread(n=len(known), mean_pp=statistics.fmean(known), std_pp=std)


def paraphrase_table(rows: Sequence[ScoreRow], paraphrases: Sequence[str] = PARAPHRASES) -> Table:
    """DDS of each judge under its main variant and under each paraphrase of it, then the paraphrases' mean ± std.

    rows: as scores.score_panels gives them, of one reading and one denominator. A dataset or average takes part
    when it was asked in a paraphrase over the same datasets. DialDefer Table 15; the main prompt variant is its v0.
    """
    lines: list[tuple[Cell, ...]] = []
    shown: list[ScoreRow] = []
    for judge, main, others in beside_main(rows, lambda main, row: is_paraphrase(main, row) in paraphrases):
        mean = spread([row.dds_pp for row in others])
        lines += [paraphrase_cells(judge, row) for row in (main, *others)]
        words = f"mean of {', '.join(row.template for row in others)}"
        lines.append((judge, main.dataset, words, None, None, None, mean.mean_pp, None, None, mean.std_pp))
        shown += [main, *others]
    return Table(
        name="table15_paraphrases",
        title="DDS under paraphrased prompts (DialDefer Table 15)",
        columns=tuple(name for name, _ in PARAPHRASE_COLUMNS),
        rows=tuple(lines),
        formats=tuple(form for _, form in PARAPHRASE_COLUMNS),
        note=f"Mean and sample standard deviation are over the paraphrases, without the main variant. {note_of(shown)}",
    )


def is_paraphrase(main: ScoreRow, row: ScoreRow) -> str:
    """The template of a row that differs from the main prompt variant in nothing else; "" when it does."""
    same = (row.answer_form, row.answer_order, row.speaker1, row.speaker2)
    return row.template if same == (main.answer_form, main.answer_order, main.speaker1, main.speaker2) else ""


def paraphrase_cells(judge: str, row: ScoreRow) -> tuple[Cell, ...]:
    """A prompt variant's cells in the order of PARAPHRASE_COLUMNS."""
    return (
        *(judge, row.dataset, row.template, row.n_items, row.acc_c1, row.acc_c2),
        *(row.dds_pp, row.dds_ci_low_pp, row.dds_ci_high_pp, None),
    )


def label_table(rows: Sequence[ScoreRow]) -> Table:
    """DDS of each judge under its main speaker labels and under others, as DialDefer Figure 7.

    ΔDDS is the change from the main labels. Swing, for labels that were asked both ways, is DDS with these labels minus
    DDS with the two exchanged: how much more the judge bends to this Speaker 2 than to the other (User/LLM: 17.7 pp).
    """
    lines: list[tuple[Cell, ...]] = []
    shown: list[ScoreRow] = []
    for judge, main, others in beside_main(rows, is_relabelled):
        by_labels = {(row.speaker1, row.speaker2): row for row in (main, *others)}
        for row in by_labels.values():
            exchanged = by_labels.get((row.speaker2, row.speaker1))
            lines.append(label_cells(judge, main, row, exchanged))
        shown += [main, *others]
    return Table(
        name="figure7_labels",
        title="DDS under other speaker labels (DialDefer Figure 7)",
        columns=tuple(name for name, _ in LABEL_COLUMNS),
        rows=tuple(lines),
        formats=tuple(form for _, form in LABEL_COLUMNS),
        note="ΔDDS: change from the labels in the first line of a dataset. Swing: DDS minus DDS with both labels "
        f"exchanged. {note_of(shown)}",
    )


def is_relabelled(main: ScoreRow, row: ScoreRow) -> bool:
    """Whether a row differs from the main prompt variant in the speakers' labels and in nothing else."""
    same = (row.template, row.answer_form, row.answer_order) == (main.template, main.answer_form, main.answer_order)
    return same and (row.speaker1, row.speaker2) != (main.speaker1, main.speaker2)


def label_cells(judge: str, main: ScoreRow, row: ScoreRow, exchanged: ScoreRow | None) -> tuple[Cell, ...]:
    """A pair of labels' cells in the order of LABEL_COLUMNS."""
    return (
        *(judge, row.dataset, row.speaker1, row.speaker2, row.n_items, row.acc_c2),
        *(row.dds_pp, row.dds_ci_low_pp, row.dds_ci_high_pp),
        *(None if row is main else rise_pp(row, main), rise_pp(row, exchanged) if exchanged else None),
    )


def beside_main(
    rows: Sequence[ScoreRow], takes_part: Callable[[ScoreRow, ScoreRow], bool]
) -> list[tuple[str, ScoreRow, list[ScoreRow]]]:
    """(judge, main row, the rows in other variants that take part beside it) for each dataset and average with any.

    A single dataset's average is left out, and so is a variant that was asked over other datasets than the main one.
    """
    found = []
    judges = by_judge(rows)
    for judge, of_judge in main_rows_by_judge(rows).items():
        for main in of_judge:
            key = (main.dataset, main.datasets, main.arm, main.c1_source, main.roles)
            others = [
                row
                for row in judges[judge]
                if (row.dataset, row.datasets, row.arm, row.c1_source, row.roles) == key
                and row.variant
                and takes_part(main, row)
            ]
            if others and (is_dataset(main) or len(main.datasets) > 1):
                found.append((judge, main, others))
    return found


def rise_pp(after: ScoreRow, before: ScoreRow) -> float | None:
    """DDS of one row minus DDS of another, in percentage points."""
    return None if after.dds_pp is None or before.dds_pp is None else after.dds_pp - before.dds_pp


def note_of(rows: Sequence[ScoreRow]) -> str:
    """How the numbers came about, or that there are none."""
    return reading_note(rows) if rows else "No judge was asked so."

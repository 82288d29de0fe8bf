"""The tables of a report. Another one joins by a line in TABLES."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from eval.dialdefer.amplification import amplification_table
from eval.dialdefer.analyses import Analyses, has_labels, tried
from eval.dialdefer.consistency import agreement
from eval.dialdefer.consistency_tables import agreement_tables, problem_item_table
from eval.dialdefer.differences import difference_table, judge_differences
from eval.dialdefer.discoveries import discovery_table, grid_of_tests
from eval.dialdefer.domain_grid import domain_grid_table
from eval.dialdefer.domain_tables import domain_table, summary_table
from eval.dialdefer.findings import Findings
from eval.dialdefer.flip_analysis import count_flips, flip_totals, flips_by_domain
from eval.dialdefer.flip_examples import shown_texts
from eval.dialdefer.item_scores import flip_statistics, item_shares, model_statistics
from eval.dialdefer.judges import Judge
from eval.dialdefer.mitigation_tables import mitigation_summary_table, mitigation_table
from eval.dialdefer.power import observed_sds, planning_table
from eval.dialdefer.problem_items import problem_items
from eval.dialdefer.prompt_variant_tables import label_table, paraphrase_table
from eval.dialdefer.reliability import reliability_table
from eval.dialdefer.rerun_flip_rate import noise_table
from eval.dialdefer.reversal import reversal_table, reversals
from eval.dialdefer.row_groups import main_rows
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.score_groups import untreated_panels
from eval.dialdefer.strata import alignments
from eval.dialdefer.strata_tables import balanced_dds, or_nor_alignment
from eval.estimates.changes import Change
from eval.report.table import Table
from eval.scorecard.cost import first_model

MOST_PAIRED = 6  # judges; all pairs of more are too many to read, and to draw intervals for


def report_tables(found: Findings, analyses: Analyses) -> tuple[list[Table], list[str]]:
    """(every table that has a line, what could not be made and why)."""
    left_out: list[str] = []
    tables = [
        table
        for what, tables_of in TABLES.items()
        for table in tried(what, partial(tables_of, found, analyses), left_out)
    ]
    return [table for table in tables if table.rows], left_out


def score_tables(found: Findings, analyses: Analyses) -> list[Table]:
    """Tables 20 and 2, Figure 4's numbers, and the amplification from benchmarks to r/AIO."""
    if not main_rows(found.rows):
        return []
    grid = [domain_grid_table(analyses.grid)] if analyses.grid and len(analyses.grid.judges) > 1 else []
    return [domain_table(found.rows), summary_table(found.rows), *grid, amplification_table(found.rows)]


def variant_tables(found: Findings, _: Analyses) -> list[Table]:
    """Tables 21 to 23, 5, 15 and Figure 7's numbers: arms, paraphrases, labels."""
    if not main_rows(found.rows):
        return []
    arms = {row.arm for row in found.rows}
    mitigations = [mitigation_table(found.rows), mitigation_summary_table(found.rows)] if len(arms) > 1 else []
    return [*mitigations, paraphrase_table(found.rows), label_table(found.rows)]


def difference_tables(found: Findings, analyses: Analyses) -> list[Table]:
    """Arms and variants against the main one; judges against each other in the main setting, where they are few."""
    rows = [row for of_judge in analyses.changes.values() for row in of_judge]
    judges = [main_only(judge) for judge in analyses.judges]
    between = judge_differences(judges, found.denominator, found.drawing) if 1 < len(judges) <= MOST_PAIRED else []
    arms, pairs = (
        difference_table(dds_first(rows), "arm_differences"),
        difference_table(dds_first(between), "judge_differences"),
    )
    return [
        replace(arms, title="Arms and prompt variants against the untreated main one, over the same items"),
        replace(pairs, title="Judges against each other, over the same items, second minus first"),
    ]


def dds_first(rows: Sequence[Change]) -> list[Change]:
    """The rows by measure, DDS first: the page shows the first lines of a long table."""
    return sorted(rows, key=lambda row: row.measure != "dds")


def main_only(judge: Judge) -> Judge:
    """The judge with its untreated panels in the main prompt variant."""
    return Judge(name=judge.name, model=judge.model, panels=tuple(untreated_panels(judge.panels)), labels=judge.labels)


def item_tables(_: Findings, analyses: Analyses) -> list[Table]:
    """Tables 26, 28, 25 and 29: flips by dataset and judge, and item-level DDS."""
    if not analyses.judges:
        return []
    counts = count_flips(analyses.judges)
    spreads = analyses.spreads
    return [
        *flips_by_domain(counts),
        flip_totals(counts),
        model_statistics(spreads),
        flip_statistics(spreads),
        item_shares(spreads),
    ]


def consistency_tables(found: Findings, analyses: Analyses) -> list[Table]:
    """Tables 24, 27 and 33: on which items several judges flip; those that flip in all of them, with their text.

    Of the checkpoints of one model the first alone counts: a model and what was trained from it are no two judges.
    """
    of_models: dict[str, Judge] = {}
    for judge in () if found.changes else analyses.judges:
        run = found.runs.get(judge.name)
        of_models.setdefault(judge.name if run is None else first_model(run.config, run.path), judge)
    judges = list(of_models.values())
    if len(judges) < 2:
        return []
    return [*agreement_tables(agreement(judges)), problem_item_table(problem_items(judges, shown_texts(found.runs)))]


def aio_tables(found: Findings, analyses: Analyses) -> list[Table]:
    """Tables 14, 4 and 16: r/AIO in both directions, and by the community's verdict where that is known."""
    options: dict[str, Any] = {"denominator": found.denominator, "drawing": found.drawing}
    turned = [reversal_table(reversals(analyses.judges, **options))]
    judges = [judge for judge in analyses.judges if has_labels(judge)]
    if not judges:
        return turned
    aligned = alignments(judges, **options)
    return [*turned, or_nor_alignment(aligned), balanced_dds(aligned)]


def certainty_tables(found: Findings, analyses: Analyses) -> list[Table]:
    """Which shifts are discoveries, what these items can detect, and the noise floor."""
    if not analyses.judges:
        return [noise_table(analyses.noise)]
    cells = grid_of_tests(analyses.judges, denominator=found.denominator)
    pilots = {
        f"{judge.name}, {dataset}": sd
        for judge in analyses.judges[:1]
        for dataset, sd in observed_sds(judge, found.denominator).items()
    }
    planning = [planning_table(pilots)] if pilots else []
    return [denominator_table(found), discovery_table(cells), *planning, noise_table(analyses.noise)]


def denominator_table(found: Findings) -> Table:
    """DDS under both denominators, for the rows of main groups in which the two differ in what they count."""
    other = {row_key(row): row for row in found.other_rows}
    pairs = [
        (group.judge, row, other[row_key(row)])
        for group in found.groups
        for row in group.rows
        if group.is_main and row.n_unparsed + row.n_ties
    ]
    names = tuple(dict.fromkeys(name for _, row, against in pairs for name in (row.denominator, against.denominator)))
    scores = [f"{words} ({name})" for name in names for words in ("DDS", "95% low", "95% high")]
    return Table(
        name="denominators",
        title="DDS under both denominators, where replies cannot be read or margins tie",
        columns=("model", "dataset", "items", "unreadable", "ties", *scores),
        rows=tuple(
            (judge, row.dataset, row.n_items, row.n_unparsed, row.n_ties, *dds_cells(row), *dds_cells(against))
            for judge, row, against in pairs
        ),
        formats=("", "", "d", "d", "d", *("+.1f",) * len(scores)),
        note="Percentage points. published: an unreadable reply counts as wrong and a tie as half right; answered: "
        "neither counts.",
    )


def row_key(row: ScoreRow) -> tuple[str, ...]:
    """What tells rows of one denominator apart."""
    return row.run, row.model, row.arm, row.roles, row.variant, row.c1_source, row.dataset


def dds_cells(row: ScoreRow) -> tuple[float | None, float | None, float | None]:
    """DDS with its interval."""
    return row.dds_pp, row.dds_ci_low_pp, row.dds_ci_high_pp


def margin_tables(_: Findings, analyses: Analyses) -> list[Table]:
    """How well margins are calibrated."""
    return [reliability_table(analyses.reliability)]


TABLES: Mapping[str, Callable[[Findings, Analyses], Sequence[Table]]] = {
    "scores": score_tables,
    "arms and prompt variants": variant_tables,
    "differences": difference_tables,
    "items": item_tables,
    "consistency of judges": consistency_tables,
    "r/AIO": aio_tables,
    "certainty": certainty_tables,
    "margins": margin_tables,
}

"""DialDefer's Tables 4, 16, 24 to 29 and 33 and Figure 4, from verdicts with their counts (made/counted_judges.py)."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from eval.dialdefer.items import (
    agreement,
    agreement_tables,
    alignments,
    flip_counts,
    item_frame,
    item_tables,
    problem_items,
    stratum_tables,
)
from eval.dialdefer.panels import Judge
from eval.estimates.estimate import Drawing
from eval.report.tables import TableSpec
from tests.made.counted_judges import CONDITION_COLUMNS, JUDGES, count, five_judges, judge_of, read_golden
from tests.made.paper_figures import frame_of

FEW = Drawing(n_draws=20, seed=1)
QWEN, GEMMA = "Qwen-2.5-7B-Instruct", "Gemma-3-12B-IT"
NULLS = "28.9 and 0.289 from Table 20's accuracies; the paper counts two unreadable r/AIO replies in two ways"
STRATA = "its printed strata, 17/30 and 177/250, make 69.3 over all items and not the 68.6 of Tables 14 and 20"
EXCEPTIONS = {
    (GEMMA, "mean_dds_pp"): NULLS,
    (GEMMA, "table29_dds_mean"): NULLS,
    (GEMMA, "overall_dds_pp"): "87.1 from its own strata and Table 20's accuracies; two unreadable replies, as above",
    (QWEN, "dds_or_pp"): f"50.0 from Table 20's counts; {STRATA}",
    (QWEN, "balanced_dds_pp"): f"60.4 from Table 20's counts; {STRATA}",
    ("total", "n_deference"): "1,911; Table 28's own rows add up to one more than it prints",
}
AGREED = "n_items n_in_all n_in_none n_in_some"
TABLES = {  # our table → the golden file, its columns, our heads
    "table4_or_nor_alignment": (
        "table4",
        "or_c1 or_c2 or_delta_pp nor_c1 nor_c2 nor_delta_pp",
        "OR C1 | OR C2 | OR Δ | NOR C1 | NOR C2 | NOR Δ",
    ),
    "table16_balanced_dds": (
        "table16",
        "dds_or_pp dds_nor_pp balanced_dds_pp overall_dds_pp",
        "DDS OR | DDS NOR | balanced DDS | overall DDS",
    ),
    "table25_model_statistics": (
        "table25",
        "n_items mean_dds_pp flip_rate dds_std n_deference n_skepticism",
        "items | mean DDS, pp | flip rate, % | DDS std | deference | skepticism",
    ),
    "table29_flip_statistics": (
        "table25",
        "table29_flips table29_flip_rate table29_dds_mean table29_dds_std",
        "flips | flip rate, % | DDS μ | DDS σ",
    ),
    "table24_flip_consistency": ("table27", AGREED, "items | all 5 | none | 1-4"),
    "table27_flip_agreement": (
        "table27",
        f"{AGREED} agreement",
        "items | flip in all | flip in none | flip in some | agreement, %",
    ),
    "table28_flip_totals": (
        "table28",
        "n_deference n_skepticism n_flips deference_share",
        "deference | skepticism | flips | deference, % of flips",
    ),
    "table33_flip_agreement_total": ("table33", "n_items share", "items | %"),
}


@cache
def tables_of(*judges: Judge) -> dict[str, TableSpec]:
    """Every table over items by its name."""
    items = item_frame(judges)
    agreed = agreement_tables(agreement(judges, items)) if len(judges) > 1 else []
    return {table.name: table for table in [*item_tables(items), *agreed]}


@cache
def ours() -> dict[str, TableSpec]:
    """The tables as the paper has them: 28, 29 and 33 are without GPT-5-mini."""
    four = tables_of(*five_judges()[:4])
    without = {name: table for name, table in four.items() if name[5:7] in ("28", "29", "33")}
    strata = {table.name: table for table in stratum_tables(alignments(five_judges(), drawing=FEW))}
    return {**tables_of(*five_judges()), **without, **strata}


def line_of(table: TableSpec, first: str) -> dict[str, str]:
    """The printed cells of the line that begins with a name, without a plus."""
    (line,) = (line for line in table.cells if line[0] == first)
    return {head: cell.removeprefix("+") for head, cell in zip(table.columns, line, strict=True)}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_printed_but_for_the_listed_cells(name: str) -> None:
    golden, columns, heads = TABLES[name]
    for row in read_golden(f"dialdefer_{golden}.csv"):
        first = next(iter(row.values()))
        if (name, first) == ("table29_flip_statistics", JUDGES[-1]):
            continue  # which that table is without
        line = line_of(ours()[name], first)
        for column, head in zip(columns.split(), heads.split(" | "), strict=True):
            agrees = not row[column] or line[head] == row[column].removeprefix("+")
            assert agrees != ((first, column) in EXCEPTIONS), f"{first} {column}: {line[head]}, printed {row[column]}"


def test_table_26_is_printed() -> None:
    rates, directions = ours()["table26_flip_rates"], ours()["table26_flip_directions"]
    for golden in read_golden("dialdefer_table26.csv"):
        dataset, model = golden["dataset"], golden["model"]
        assert line_of(rates, dataset)[model] == golden["flip_rate"]
        assert line_of(directions, dataset)[model] == f"{golden['n_deference']}/{golden['n_skepticism']}"


def test_table_16s_strata_average_back_to_its_overall_but_for_two_models() -> None:
    disagreeing = {QWEN: "69.3", GEMMA: "87.1"}
    for golden in read_golden("dialdefer_table16.csv"):
        overall = 100 * (count(golden["dds_or_pp"], 30) + count(golden["dds_nor_pp"], 250)) / 280
        assert f"{overall:.1f}" == disagreeing.get(golden["model"], golden["overall_dds_pp"])


def test_gemmas_printed_means_count_two_unreadable_replies_to_false_claims_as_right() -> None:
    # DDS +86.4 on r/AIO is 242 of 280, and its accuracies give 244: two C2_Incorrect replies are not right in one
    # column and not wrong in the other. Counted as rejections they give the printed means, whichever items they are.
    gemma = next(judge for judge in five_judges() if judge.name == GEMMA)
    replies = {panel.dataset: panel.replies.copy() for panel in gemma.panels}
    accepted = np.flatnonzero(replies["aio"][:, 3, 0] == 1)
    replies["aio"][accepted[:2], 3] = 2
    tables = tables_of(judge_of(GEMMA, replies))
    assert line_of(tables["table25_model_statistics"], GEMMA)["mean DDS, pp"] == "28.8"
    assert line_of(tables["table29_flip_statistics"], GEMMA)["DDS μ"] == "0.288"


def test_the_texts_figures_hold() -> None:
    items = item_frame(five_judges())
    agreed = agreement(five_judges(), items)
    total = agreed.counts.loc["total"]
    shares = [round(100 * total[name] / total["items"], 1) for name in ("all", "none", "some")]
    assert shares == [0.9, 47.9, 51.2], "Table 24's last row; 52.1 % flip in at least one model"
    universal = problem_items(agreed, items, {})
    assert (len(universal), (universal.dataset == "aio").sum()) == (28, 25)
    # What the paper could not know: by their flip rates alone, six items would flip in all five.
    assert total["by_chance"] == pytest.approx(6.1, abs=0.05)
    assert f"{alignments(five_judges(), drawing=FEW).all_acc_c1_true.mean():.1f}" == "33.2"
    # Tables 20, 24 to 28 and 33 together leave room for verdicts of which none flips twice.
    counts = flip_counts(items, ["judge"])
    assert counts.flipped.tolist() == counts.flips.tolist()


def test_the_made_verdicts_have_table_20s_accuracies_and_figure_4_the_mean_dds_of_domains() -> None:
    frame = pd.concat([frame_of(judge.name, judge.panels) for judge in five_judges()])
    rows = {(row.model, row.dataset): row for row in frame.itertuples()}
    goldens = [row for row in read_golden("dialdefer_table20.csv") if not row["dataset"].endswith("_avg")]
    for golden in goldens:
        row = rows[golden["model"], golden["dataset"]]
        assert [f"{getattr(row, c):.1f}" for c in CONDITION_COLUMNS] == [golden[c] for c in CONDITION_COLUMNS]
        assert row.dds_pp == pytest.approx(float(golden["dds_pp"]), abs=0.75 if row.dataset == "aio" else 0.0501)
    means = frame[~frame.dataset.str.endswith("_avg")].groupby("dataset").dds_pp.mean()
    assert means.sort_values(ascending=False).index[:3].tolist() == ["aio", "advisorqa", "truthfulqa"]

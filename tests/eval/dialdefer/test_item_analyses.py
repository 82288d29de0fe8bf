"""DialDefer's Tables 24 to 29 and 33, from verdicts that have the counts behind them (tests/made/counted_judges.py)."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
import pytest

from eval.dialdefer.items import agreement, agreement_tables, flip_counts, item_frame, item_tables, problem_items
from eval.dialdefer.measures import UNREADABLE
from eval.dialdefer.panels import Judge
from eval.dialdefer.plots import heat_map_of
from eval.dialdefer.scores import Scored, score_panels, wide_frame
from eval.estimates.estimate import Drawing
from eval.report.table import Table, printed
from tests.made.counted_judges import CONDITION_COLUMNS, JUDGES, five_judges, judge_of, read_golden

FOUR = JUDGES[:4]  # Tables 28, 29 and 33 are without GPT-5-mini
NULLS = "28.9 and 0.289 from Table 20's accuracies; the paper counts two unreadable r/AIO replies in two ways"
EXCEPTIONS = {
    ("Gemma-3-12B-IT", "mean_dds_pp"): NULLS,
    ("Gemma-3-12B-IT", "table29_dds_mean"): NULLS,
    ("total", "n_deference"): "1,911; Table 28's own rows add up to one more than it prints",
}


def tables_of(judges: Sequence[Judge]) -> dict[str, Table]:
    """Every table over items by its name."""
    items = item_frame(judges)
    agreed = agreement_tables(agreement(judges, items)) if len(judges) > 1 else []
    return {table.name: table for table in [*item_tables(items), *agreed]}


@cache
def of_five() -> dict[str, Table]:
    """Those of all judges."""
    return tables_of(five_judges())


@cache
def of_four() -> dict[str, Table]:
    """Those without GPT-5-mini."""
    return tables_of([judge for judge in five_judges() if judge.name in FOUR])


def cells(table: Table, row: str, columns: tuple[str, ...]) -> list[str]:
    """The printed cells of the row that begins with a name, without a plus and without separators of thousands."""
    (line,) = (line for line in printed(table) if line[0] == row)
    return [line[table.columns.index(column)].removeprefix("+") for column in columns]


def assert_printed(row: str, golden: dict[str, str], columns: tuple[str, ...], ours: list[str]) -> None:
    """Every cell equals the paper's, but for the listed exceptions, which must differ."""
    for column, cell in zip(columns, ours, strict=True):
        agrees = cell == golden[column].removeprefix("+")
        assert agrees != ((row, column) in EXCEPTIONS), f"{row} {column}: {cell}, printed {golden[column]}"


@pytest.mark.parametrize("golden", read_golden("dialdefer_table26.csv"), ids=lambda r: f"{r['dataset']}-{r['model']}")
def test_table_26_is_printed(golden: dict[str, str]) -> None:
    rates, directions = of_five()["table26_flip_rates"], of_five()["table26_flip_directions"]
    assert cells(rates, golden["dataset"], (golden["model"],)) == [golden["flip_rate"]]
    both = f"{golden['n_deference']}/{golden['n_skepticism']}"
    assert cells(directions, golden["dataset"], (golden["model"],)) == [both]


@pytest.mark.parametrize("golden", read_golden("dialdefer_table25.csv"), ids=lambda r: r["model"])
def test_table_25_is_printed(golden: dict[str, str]) -> None:
    table = of_five()["table25_model_statistics"]
    columns = ("n_items", "mean_dds_pp", "flip_rate", "dds_std", "n_deference", "n_skepticism")
    ours = ("items", "mean DDS, pp", "flip rate, %", "DDS std", "deference", "skepticism")
    assert_printed(golden["model"], golden, columns, cells(table, golden["model"], ours))


@pytest.mark.parametrize("golden", read_golden("dialdefer_table25.csv")[:4], ids=lambda r: r["model"])
def test_table_29_is_printed(golden: dict[str, str]) -> None:
    table = of_five()["table29_flip_statistics"]
    columns = ("table29_flips", "table29_flip_rate", "table29_dds_mean", "table29_dds_std")
    assert_printed(
        golden["model"], golden, columns, cells(table, golden["model"], ("flips", "flip rate, %", "DDS μ", "DDS σ"))
    )


def test_gemmas_printed_means_count_two_unreadable_replies_to_false_claims_as_right() -> None:
    # DDS +86.4 on r/AIO is 242 of 280, and its accuracies give 244: two C2_Incorrect replies are not right in one
    # column and not wrong in the other. Counted as rejections they give the printed means, whichever items they are.
    gemma = next(judge for judge in five_judges() if judge.name.startswith("Gemma"))
    replies = {panel.dataset: panel.replies.copy() for panel in gemma.panels}
    accepted = np.flatnonzero(replies["aio"][:, 3, 0] == 1)
    replies["aio"][accepted[:2], 3] = 2
    tables = tables_of([judge_of("Gemma-3-12B-IT", replies)])
    assert cells(tables["table25_model_statistics"], "Gemma-3-12B-IT", ("mean DDS, pp",)) == ["28.8"]
    assert cells(tables["table29_flip_statistics"], "Gemma-3-12B-IT", ("DDS μ",)) == ["0.288"]


@pytest.mark.parametrize("golden", read_golden("dialdefer_table28.csv"), ids=lambda r: r["model"])
def test_table_28_is_printed(golden: dict[str, str]) -> None:
    table = of_four()["table28_flip_totals"]
    columns = ("n_deference", "n_skepticism", "n_flips")
    assert_printed(
        golden["model"], golden, columns, cells(table, golden["model"], ("deference", "skepticism", "flips"))
    )
    if golden["deference_share"]:
        assert cells(table, golden["model"], ("deference, % of flips",)) == [golden["deference_share"]]
        assert float(golden["deference_share"]) + float(golden["skepticism_share"]) == 100


@pytest.mark.parametrize("golden", read_golden("dialdefer_table27.csv"), ids=lambda r: r["dataset"])
def test_tables_24_and_27_are_printed(golden: dict[str, str]) -> None:
    columns = ("n_items", "n_in_all", "n_in_none", "n_in_some")
    ours = cells(of_five()["table24_flip_consistency"], golden["dataset"], ("items", "all 5", "none", "1-4"))
    assert_printed(golden["dataset"], golden, columns, ours)
    more = cells(
        of_five()["table27_flip_agreement"],
        golden["dataset"],
        ("items", "flip in all", "flip in none", "flip in some", "agreement, %"),
    )
    assert_printed(golden["dataset"], golden, (*columns, "agreement"), more)


def test_table_24s_last_row_is_in_its_note() -> None:
    assert "0.9% flip in all, 47.9% in none, 51.2% in some" in of_five()["table24_flip_consistency"].note


@pytest.mark.parametrize("golden", read_golden("dialdefer_table33.csv"), ids=lambda r: r["metric"])
def test_table_33_is_printed(golden: dict[str, str]) -> None:
    table = of_four()["table33_flip_agreement_total"]
    n_items, share = cells(table, golden["metric"], ("items", "%"))
    assert golden["n_items"] in ("", n_items)
    assert golden["share"] in ("", share)


def test_the_texts_figures_on_flips_hold() -> None:
    items = item_frame(five_judges())
    agreed = agreement(five_judges(), items)
    total = agreed.counts.loc["total"]
    assert round(100 * (1 - total["none"] / total["items"]), 1) == 52.1  # flip in at least one model
    universal = problem_items(agreed, items, {})
    n_aio = (universal.dataset == "aio").sum()
    assert (len(universal), n_aio, round(100 * n_aio / len(universal), 1)) == (28, 25, 89.3)
    # What the paper could not know: by their flip rates alone, six items would flip in all five.
    assert total["by_chance"] == pytest.approx(6.1, abs=0.05)


def test_the_paper_agrees_with_flips_that_are_losses_and_never_go_both_ways() -> None:
    # Tables 20, 24 to 28 and 33 together leave room for verdicts of which none flips twice.
    counts = flip_counts(item_frame(five_judges()), ["judge"])
    assert counts.flipped.tolist() == counts.flips.tolist()


@cache
def frame_of_five() -> pd.DataFrame:
    """Scores of the five judges."""
    scores = []
    for judge in five_judges():
        drawing = Drawing(n_draws=10, seed=1)
        scored = Scored(run=judge.name, model=judge.name, verdict="margin", parser=None, drawing=drawing)
        scores += score_panels(judge.panels, scored, ("published",))
    return wide_frame(scores)


def test_the_made_verdicts_have_table_20s_accuracies() -> None:
    ours = {(row.model, row.dataset): row for row in frame_of_five().itertuples()}
    for golden in read_golden("dialdefer_table20.csv"):
        if not golden["dataset"].endswith("_avg"):
            row = ours[golden["model"], golden["dataset"]]
            assert [f"{getattr(row, c):.1f}" for c in CONDITION_COLUMNS] == [golden[c] for c in CONDITION_COLUMNS]


def test_figure_4_has_domains_by_their_mean_dds_over_judges() -> None:
    heat = heat_map_of(frame_of_five())
    printed_dds = {(r["dataset"], r["model"]): float(r["dds_pp"]) for r in read_golden("dialdefer_table20.csv")}
    assert tuple(judge for judge, _ in heat.columns) == JUDGES
    assert heat.lines[:3] == ["aio", "advisorqa", "truthfulqa"]
    assert heat.lines[10:] == ["bench_avg", "total_avg"]
    means = []
    for line in heat.lines[:10]:
        of_paper = [printed_dds[line, judge] for judge in JUDGES]
        ours = [heat.cell(line, column).dds_pp for column in heat.columns]
        assert ours == pytest.approx(of_paper, abs=0.75 if line == "aio" else 0.0501)
        means.append(np.mean(ours))
    assert means == sorted(means, reverse=True)


def test_an_unreadable_reply_is_never_a_flip_but_counts_as_wrong() -> None:
    before = five_judges()[0]
    replies = {panel.dataset: panel.replies.copy() for panel in before.panels}
    for array in replies.values():
        array[:, 3] = UNREADABLE
    items = item_frame([before, judge_of("silent", replies)])
    silent = items[items.judge == "silent"]
    assert (silent.deference.sum(), silent.skepticism.sum()) == (0, 156)
    assert silent.dds_pp.mean() > 80

"""DialDefer's Tables 24 to 29 and 33, from verdicts that have the counts behind them (tests/made/counted_judges.py)."""

import numpy as np
import pytest

from eval.dialdefer.consistency import agreement
from eval.dialdefer.consistency_tables import agreement_tables, flip_agreement, flip_agreement_total, flip_consistency
from eval.dialdefer.domain_grid import domain_grid, domain_grid_table
from eval.dialdefer.flip_analysis import count_flips, flip_totals, flips_by_domain, totals
from eval.dialdefer.item_scores import flip_statistics, item_spreads, model_statistics
from eval.dialdefer.panels import UNREADABLE
from eval.dialdefer.problem_items import problem_items
from eval.dialdefer.rows import ScoreRow, wide_rows
from eval.dialdefer.scores import Scored, score_panels
from eval.estimates.observed import Drawing
from eval.report.table import Table, printed
from tests.made.counted_judges import CONDITION_COLUMNS, JUDGES, five_judges, judge_of, read_golden

FOUR = JUDGES[:4]  # Tables 28, 29 and 33 are without GPT-5-mini
NULLS = "28.9 and 0.289 from Table 20's accuracies; the paper counts two unreadable r/AIO replies in two ways"
EXCEPTIONS = {
    ("Gemma-3-12B-IT", "mean_dds_pp"): NULLS,
    ("Gemma-3-12B-IT", "table29_dds_mean"): NULLS,
    ("total", "n_deference"): "1,911; Table 28's own rows add up to one more than it prints",
}


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
    rates, directions = flips_by_domain(count_flips(five_judges()))
    assert cells(rates, golden["dataset"], (golden["model"],)) == [golden["flip_rate"]]
    both = f"{golden['n_deference']}/{golden['n_skepticism']}"
    assert cells(directions, golden["dataset"], (golden["model"],)) == [both]


@pytest.mark.parametrize("golden", read_golden("dialdefer_table25.csv"), ids=lambda r: r["model"])
def test_table_25_is_printed(golden: dict[str, str]) -> None:
    table = model_statistics(item_spreads(five_judges()))
    columns = ("n_items", "mean_dds_pp", "flip_rate", "dds_std", "n_deference", "n_skepticism")
    ours = ("items", "mean DDS, pp", "flip rate, %", "DDS std", "deference", "skepticism")
    assert_printed(golden["model"], golden, columns, cells(table, golden["model"], ours))


@pytest.mark.parametrize("golden", read_golden("dialdefer_table25.csv")[:4], ids=lambda r: r["model"])
def test_table_29_is_printed(golden: dict[str, str]) -> None:
    table = flip_statistics(item_spreads(five_judges()))
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
    spreads = item_spreads([judge_of("Gemma-3-12B-IT", replies)])
    assert cells(model_statistics(spreads), "Gemma-3-12B-IT", ("mean DDS, pp",)) == ["28.8"]
    assert cells(flip_statistics(spreads), "Gemma-3-12B-IT", ("DDS μ",)) == ["0.288"]


@pytest.mark.parametrize("golden", read_golden("dialdefer_table28.csv"), ids=lambda r: r["model"])
def test_table_28_is_printed(golden: dict[str, str]) -> None:
    table = flip_totals(count_flips([judge for judge in five_judges() if judge.name in FOUR]))
    columns = ("n_deference", "n_skepticism", "n_flips")
    assert_printed(
        golden["model"], golden, columns, cells(table, golden["model"], ("deference", "skepticism", "flips"))
    )
    if golden["deference_share"]:
        assert cells(table, golden["model"], ("deference, % of flips",)) == [golden["deference_share"]]
        assert float(golden["deference_share"]) + float(golden["skepticism_share"]) == 100


@pytest.mark.parametrize("golden", read_golden("dialdefer_table27.csv"), ids=lambda r: r["dataset"])
def test_tables_24_and_27_are_printed(golden: dict[str, str]) -> None:
    found = agreement(five_judges())
    columns = ("n_items", "n_in_all", "n_in_none", "n_in_some")
    ours = cells(flip_consistency(found), golden["dataset"], ("items", "all 5", "none", "1-4"))
    assert_printed(golden["dataset"], golden, columns, ours)
    more = cells(
        flip_agreement(found),
        golden["dataset"],
        ("items", "flip in all", "flip in none", "flip in some", "agreement, %"),
    )
    assert_printed(golden["dataset"], golden, (*columns, "agreement"), more)


def test_table_24s_last_row_is_in_its_note() -> None:
    assert "0.9% flip in all, 47.9% in none, 51.2% in some" in flip_consistency(agreement(five_judges())).note


@pytest.mark.parametrize("golden", read_golden("dialdefer_table33.csv"), ids=lambda r: r["metric"])
def test_table_33_is_printed(golden: dict[str, str]) -> None:
    table = flip_agreement_total(agreement([judge for judge in five_judges() if judge.name in FOUR]))
    n_items, share = cells(table, golden["metric"], ("items", "%"))
    assert golden["n_items"] in ("", n_items)
    assert golden["share"] in ("", share)


def test_the_texts_figures_on_flips_hold() -> None:
    found = agreement(five_judges())
    assert round(100 * (1 - found.total.n_in_none / found.total.n_items), 1) == 52.1  # flip in at least one model
    universal = problem_items(five_judges(), {})
    of_aio = [item for item in universal if item.dataset == "aio"]
    assert (len(universal), len(of_aio), round(100 * len(of_aio) / len(universal), 1)) == (28, 25, 89.3)
    # What the paper could not know: by their flip rates alone, six items would flip in all five.
    assert found.total.expected_in_all == pytest.approx(6.1, abs=0.05)


def test_the_paper_is_at_one_with_flips_that_are_losses_and_never_go_both_ways() -> None:
    # Tables 20, 24 to 28 and 33 together leave room for verdicts of which none flips twice.
    for flips in totals(count_flips(five_judges())):
        assert flips.n_items_flipped == flips.n_flips


def rows_of_five() -> list[ScoreRow]:
    """Rows of scores of the five judges."""
    rows: list[ScoreRow] = []
    for judge in five_judges():
        scored = Scored(
            run=judge.name, model=judge.name, verdict="margin", parser=None, drawing=Drawing(n_draws=10, seed=1)
        )
        rows += wide_rows(score_panels(judge.panels, scored, ("published",)))
    return rows


def test_the_made_verdicts_have_table_20s_accuracies() -> None:
    ours = {(row.model, row.dataset): row for row in rows_of_five()}
    for golden in read_golden("dialdefer_table20.csv"):
        if not golden["dataset"].endswith("_avg"):
            row = ours[golden["model"], golden["dataset"]]
            assert [f"{getattr(row, c):.1f}" for c in CONDITION_COLUMNS] == [golden[c] for c in CONDITION_COLUMNS]


def test_figure_4_has_domains_by_their_mean_dds_over_judges() -> None:
    grid = domain_grid(rows_of_five())
    printed_dds = {(r["dataset"], r["model"]): float(r["dds_pp"]) for r in read_golden("dialdefer_table20.csv")}
    assert grid.judges == JUDGES
    means = [domain.mean_pp for domain in grid.domains]
    assert means == sorted(means, reverse=True)
    assert [d.dataset for d in grid.domains][:3] == ["aio", "advisorqa", "truthfulqa"]
    assert len(grid.domains) == 10
    for domain in grid.domains:
        of_paper = [printed_dds[domain.dataset, judge] for judge in JUDGES]
        assert domain.dds_pp == pytest.approx(of_paper, abs=0.75 if domain.dataset == "aio" else 0.0501)
        low, *middle, high = sorted(domain.dds_pp)
        assert (domain.min_pp, domain.lower_quartile_pp, domain.median_pp, domain.upper_quartile_pp, domain.max_pp) == (
            *(low, *middle, high),
        )


def test_a_judge_that_was_not_asked_a_domain_has_a_dash_there_and_no_zero() -> None:
    rows = [row for row in rows_of_five() if (row.model, row.dataset) != ("GPT-4o", "gpqa")]
    grid = domain_grid(rows)
    (gpqa,) = (domain for domain in grid.domains if domain.dataset == "gpqa")
    assert gpqa.dds_pp[JUDGES.index("GPT-4o")] is None
    assert gpqa.mean_pp == pytest.approx(np.mean([d for d in gpqa.dds_pp if d is not None]))
    assert "–" in next(line for line in printed(domain_grid_table(grid)) if line[0] == "gpqa")


def test_an_unreadable_reply_is_never_a_flip_but_counts_as_wrong() -> None:
    before = five_judges()[0]
    replies = {panel.dataset: panel.replies.copy() for panel in before.panels}
    for array in replies.values():
        array[:, 3] = UNREADABLE
    (flips,) = totals(count_flips([judge_of("silent", replies)]))
    assert (flips.n_deference, flips.n_skepticism) == (0, 156)
    assert len(agreement_tables(agreement([before, judge_of("silent", replies)]))) == 4

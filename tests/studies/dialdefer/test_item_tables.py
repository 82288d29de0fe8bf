"""Flips, agreement of judges and strata of r/AIO: laws, what is left out or refused; and DialDefer's Tables 4, 16, 24
to 29 and 33 and Figure 4 from verdicts with their counts (golden/README.md)."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eval.estimates.resampling import Drawing
from evenhand.files import shipped_yaml
from studies.dialdefer.item_tables import agreement, agreement_tables, alignments, flip_counts, item_frame, item_tables
from studies.dialdefer.measures import ERROR, TIE, UNPARSED, credit, dds_pp
from studies.dialdefer.tables import table
from tests.made.paper_figures import five_judges, frame_of, golden, item_id, judge_of

RIGHT = [1, 2, 1, 2]  # C1_True, C1_False, C2_Correct, C2_Incorrect
DEFERENCE = [1, 2, 1, 1]


any_replies = hnp.arrays(
    np.int8,
    st.tuples(st.integers(1, 12), st.just(4), st.integers(1, 3)),
    elements=st.sampled_from([TIE, UNPARSED, 1, 2]),
)


def named(*judges):
    return {judge.judge: judge for judge in judges}


def counts_of(*judges):
    """A row of counts for each judge."""
    return list(flip_counts(item_frame(named(*judges)), ["judge"]).itertuples())


@given(any_replies)
def test_flips_in_both_directions_are_items_that_flip_twice_and_item_level_dds_averages_to_the_datasets(replies):
    judge = judge_of("j", {"bbq": replies})
    (row,) = counts_of(judge)
    assert 0 <= row.flips - row.flipped <= min(row.deference, row.skepticism)
    assert row.rate == pytest.approx(100 * row.flips / len(replies))
    earned, counted = credit(replies, "published")
    assert row.dds_pp == pytest.approx(float(dds_pp(earned.sum(axis=0) / counted.sum(axis=0))), abs=1e-9)
    assert item_frame(named(judge)).dds_pp.abs().max() <= 200


def test_an_item_without_an_answer_has_no_dds_under_the_denominator_answered():
    judge = judge_of("j", {"bbq": [DEFERENCE, [1, UNPARSED, 1, 2]]})
    assert item_frame(named(judge)).dds_pp.tolist() == [100, -100]  # unreadable in C1 is wrong there: skepticism
    assert item_frame(named(judge), "answered").dds_pp.dropna().tolist() == [100]


def test_items_that_an_engine_failed_on_and_datasets_that_some_judges_lack_are_left_out_and_named():
    first = judge_of("a", {"bbq": [DEFERENCE, DEFERENCE], "harp": [RIGHT]})
    second = judge_of("b", {"bbq": [DEFERENCE, [1, 2, 1, ERROR]]})
    assert [row.items for row in counts_of(first, second)] == [3, 1]
    items = item_frame(named(first, second))
    counts, _ = agreement(["a", "b"], items)
    assert counts[["items", "all"]].values.tolist() == [[1, 1], [1, 1]], "of bbq and in total"
    assert "Left out: 2 items that some judge" in agreement_tables(["a", "b"], items)[1].note


def strata(judge, n_draws=20, denominator="published"):
    """Rows of r/AIO by the community's verdict."""
    return alignments(named(judge), denominator=denominator, drawing=Drawing(n_draws=n_draws, seed=1))


def aligned(judge, **keys):
    """The one row of a judge."""
    (row,) = strata(judge, **keys).itertuples()
    return row


def labelled(replies, n_or):
    """A judge of r/AIO whose first items are OR."""
    return judge_of("j", {"aio": replies}, {item_id(row): "OR" if row < n_or else "NOR" for row in range(len(replies))})


@given(
    hnp.arrays(np.int8, st.tuples(st.integers(2, 12), st.just(4)), elements=st.sampled_from([UNPARSED, 1, 2])),
    st.data(),
)
def test_strata_weigh_up_to_the_whole_and_exchanged_labels_exchange_them(replies, data):
    judge = labelled(replies, data.draw(st.integers(1, len(replies) - 1)))
    exchanged = replace(judge, labels={i: "NOR" if v == "OR" else "OR" for i, v in judge.labels.items()})
    row, other = aligned(judge), aligned(exchanged)
    assert row.OR_n_items + row.NOR_n_items == row.all_n_items == len(replies)
    weighted = (row.OR_n_items * row.OR_dds_pp + row.NOR_n_items * row.NOR_dds_pp) / len(replies)
    assert row.all_dds_pp == pytest.approx(weighted, abs=1e-9)
    assert row.balanced_dds_pp == pytest.approx((row.OR_dds_pp + row.NOR_dds_pp) / 2, abs=1e-9)
    assert other.OR_dds_pp == pytest.approx(row.NOR_dds_pp, abs=1e-9)


def test_an_empty_stratum_is_unknown_and_a_judge_without_all_labels_or_without_the_dataset_has_no_row():
    rows = strata(labelled([DEFERENCE] * 5, 0))
    assert rows.OR_n_items.tolist() == [0]
    assert table("table16_balanced_dds", rows).cells == [["j", "–", "+100.0", "–", "–", "–", "+100.0"]]
    for dataset, n_labels in (("aio-context", 2), ("aio", 1)):
        labels = {item_id(row): "NOR" for row in range(n_labels)}
        assert strata(judge_of("j", {dataset: [RIGHT] * 2}, labels)).empty


def test_the_strata_are_drawn_independently_and_not_in_step():
    # Two equal strata: drawn in step their mean would be as uncertain as one of them, and not √2 less.
    row = aligned(labelled(([DEFERENCE] * 50 + [RIGHT] * 50) * 2, 100), n_draws=4000)
    width = (row.OR_high_pp - row.OR_low_pp) / np.sqrt(2)
    assert row.balanced_high_pp - row.balanced_low_pp == pytest.approx(width, rel=0.12)


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
HEADS = shipped_yaml(Path(__file__).with_name("paper_columns.yaml"))
TABLES = [name for name in HEADS if name.startswith("table")]


def tables_of(*judges):
    """Every table over items by its name."""
    items = item_frame(named(*judges))
    agreed = agreement_tables([*named(*judges)], items) if len(judges) > 1 else []
    return {made.name: made for made in [*item_tables(items), *agreed]}


@cache
def ours():
    """The tables as the paper has them: 28 and 33 are without GPT-5-mini."""
    four = tables_of(*five_judges()[:4])
    without = {name: table for name, table in four.items() if name[5:7] in ("28", "33")}
    rows = alignments(named(*five_judges()), drawing=FEW)
    strata = {name: table(name, rows) for name in ("table4_or_nor_alignment", "table16_balanced_dds")}
    return {**tables_of(*five_judges()), **without, **strata}


def line_of(table, first):
    """The printed cells of the line that begins with a name, without a plus."""
    (line,) = (line for line in table.cells if line[0] == first)
    return {head: cell.removeprefix("+") for head, cell in zip(table.columns, line, strict=True)}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_printed_but_for_the_listed_cells(name):
    for row in golden(f"dialdefer_{name.partition('_')[0]}.csv"):
        first = next(iter(row.values()))
        line = line_of(ours()[name], first)
        for column, head in HEADS[name].items():
            agrees = not row[column] or line[head] == row[column].removeprefix("+")
            assert agrees != ((first, column) in EXCEPTIONS), f"{first} {column}: {line[head]}, printed {row[column]}"


def test_table_26_is_printed():
    rates, directions = ours()["table26_flip_rates"], ours()["table26_flip_directions"]
    for row in golden("dialdefer_table26.csv"):
        dataset, model = row["dataset"], row["model"]
        assert line_of(rates, dataset)[model] == row["flip_rate"]
        assert line_of(directions, dataset)[model] == f"{row['n_deference']}/{row['n_skepticism']}"


def test_the_texts_figures_hold():
    items = item_frame(named(*five_judges()))
    counts, _ = agreement([*named(*five_judges())], items)
    total = counts.loc["total"]
    shares = [round(100 * total[name] / total["items"], 1) for name in ("all", "none", "some")]
    assert shares == [0.9, 47.9, 51.2], "Table 24's last row; 52.1 % flip in at least one model"
    assert (total["all"], counts["all"]["aio"]) == (28, 25)
    # What the paper could not know: by their flip rates alone, six items would flip in all five.
    assert total["by_chance"] == pytest.approx(6.1, abs=0.05)
    assert f"{alignments(named(*five_judges()), drawing=FEW).all_acc_c1_true.mean():.1f}" == "33.2"
    # Tables 20, 24 to 28 and 33 together leave room for verdicts of which none flips twice.
    counts = flip_counts(items, ["judge"])
    assert counts.flipped.tolist() == counts.flips.tolist()


def test_figure_4_has_the_mean_dds_of_domains():
    frame = pd.concat([frame_of(judge.judge, judge.panels) for judge in five_judges()])
    means = frame[~frame.dataset.str.endswith("_avg")].groupby("dataset").dds_pp.mean()
    assert means.sort_values(ascending=False).index[:3].tolist() == ["aio", "advisorqa", "truthfulqa"]

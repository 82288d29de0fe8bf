"""r/AIO by the community's verdict: DialDefer's Tables 4 and 16, and what strata must and must not do."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from eval.dialdefer.aio import REVERSED_ROLES, alignments, stratum_tables
from eval.dialdefer.measures import ERROR, UNREADABLE
from eval.dialdefer.panels import Judge
from eval.estimates.estimate import Drawing
from eval.report.table import printed
from evenhand.errors import DataError
from studies.dialdefer.records import Factors
from tests.made.counted_judges import count, five_judges, item_id, judge_of, panel_of, read_golden

RIGHT, DEFERENCE = [1, 2, 1, 2], [1, 2, 1, 1]
STRATA = "its printed strata, 17/30 and 177/250, make 69.3 over all items and not the 68.6 of Tables 14 and 20"
EXCEPTIONS = {
    ("Qwen-2.5-7B-Instruct", "dds_or_pp"): f"50.0 from Table 20's counts; {STRATA}",
    ("Qwen-2.5-7B-Instruct", "balanced_dds_pp"): f"60.4 from Table 20's counts; {STRATA}",
    ("Gemma-3-12B-IT", "overall_dds_pp"): "87.1 from its own strata and Table 20's accuracies; the paper counts two "
    "unreadable replies in two ways",
}

Replies = NDArray[np.int8]


def aligned(judge: Judge, *, denominator: str = "published", n_draws: int = 20) -> Any:
    rows = alignments([judge], denominator=denominator, drawing=Drawing(n_draws=n_draws, seed=1))
    (row,) = rows.itertuples()
    return row


def assert_printed(golden: dict[str, str], ours: dict[str, str]) -> None:
    """Every cell equals the paper's, but for the listed exceptions, which must differ."""
    for column, cell in ours.items():
        agrees = cell.removeprefix("+") == golden[column]
        assert agrees != ((golden["model"], column) in EXCEPTIONS), f"{golden['model']} {column}: {cell}"


@cache
def of_five() -> list[list[list[str]]]:
    """Tables 4 and 16 of the five judges as printed."""
    return [printed(t) for t in stratum_tables(alignments(five_judges(), drawing=Drawing(n_draws=20, seed=1)))]


@pytest.mark.parametrize("golden", read_golden("dialdefer_table4.csv"), ids=lambda row: row["model"])
def test_table_4_is_printed(golden: dict[str, str]) -> None:
    table = of_five()[0]
    (row,) = (row for row in table if row[0] == golden["model"])
    assert (row[1], row[5]) == ("30", "250")
    columns = ("or_c1", "or_c2", "or_delta_pp", "nor_c1", "nor_c2", "nor_delta_pp")
    assert_printed(golden, dict(zip(columns, row[2:5] + row[6:], strict=True)))


@pytest.mark.parametrize("golden", read_golden("dialdefer_table16.csv"), ids=lambda row: row["model"])
def test_table_16_is_printed(golden: dict[str, str]) -> None:
    table = of_five()[1]
    (row,) = (row for row in table if row[0] == golden["model"])
    columns = ("dds_or_pp", "dds_nor_pp", "balanced_dds_pp", "overall_dds_pp")
    assert_printed(golden, dict(zip(columns, [*row[1:4], row[6]], strict=True)))


@pytest.mark.parametrize("golden", read_golden("dialdefer_table16.csv"), ids=lambda row: row["model"])
def test_table_16s_strata_average_back_to_its_overall_but_for_two_models(golden: dict[str, str]) -> None:
    n_or, n_nor = count(golden["dds_or_pp"], 30), count(golden["dds_nor_pp"], 250)
    overall = f"{100 * (n_or + n_nor) / 280:.1f}"
    disagreeing = {"Qwen-2.5-7B-Instruct": "69.3", "Gemma-3-12B-IT": "87.1"}
    assert overall == disagreeing.get(golden["model"], golden["overall_dds_pp"])


def test_the_texts_figure_of_c1_true_holds() -> None:
    found = alignments(five_judges(), drawing=Drawing(n_draws=20, seed=1))
    assert f"{found.all_acc_c1_true.mean():.1f}" == "33.2"


def labelled(replies: object, n_or: int, roles: str = "2->1") -> Judge:
    """A judge of r/AIO whose first items are OR."""
    n_items = len(np.asarray(replies))
    labels = {item_id(row): "OR" if row < n_or else "NOR" for row in range(n_items)}
    return Judge(name="j", model="j", panels=(panel_of("aio", replies, Factors(roles=roles)),), labels=labels)


@given(
    hnp.arrays(np.int8, st.tuples(st.integers(2, 12), st.just(4)), elements=st.sampled_from([UNREADABLE, 1, 2])),
    st.data(),
)
def test_strata_weigh_up_to_the_whole_and_exchanged_labels_exchange_them(replies: Replies, data: st.DataObject) -> None:
    judge = labelled(replies, data.draw(st.integers(1, len(replies) - 1)))
    exchanged = replace(judge, labels={i: "NOR" if v == "OR" else "OR" for i, v in judge.labels.items()})
    row, other = aligned(judge), aligned(exchanged)
    assert row.OR_n_items + row.NOR_n_items == row.all_n_items == len(replies)
    weighted = (row.OR_n_items * row.OR_dds_pp + row.NOR_n_items * row.NOR_dds_pp) / len(replies)
    assert row.all_dds_pp == pytest.approx(weighted, abs=1e-9)
    assert row.balanced_dds_pp == pytest.approx((row.OR_dds_pp + row.NOR_dds_pp) / 2, abs=1e-9)
    assert other.balanced_dds_pp == pytest.approx(row.balanced_dds_pp, abs=1e-9)
    assert other.OR_dds_pp == pytest.approx(row.NOR_dds_pp, abs=1e-9)


def test_items_are_in_the_stratum_of_their_original_label_whoever_judges_whom() -> None:
    # For 2→1 the true claim about Speaker 1 is the opposite of the label; the stratum must not be inverted with it.
    main, reverse = [DEFERENCE] + [RIGHT] * 3, [RIGHT] + [DEFERENCE] * 3
    judge = replace(
        labelled(main, 1),
        panels=(*labelled(main, 1).panels, *labelled(reverse, 1, "1->2").panels),
    )
    row = aligned(judge)
    assert (row.OR_n_items, row.OR_dds_pp, row.NOR_dds_pp) == (1, 100, 0)
    rows = alignments([judge], REVERSED_ROLES, drawing=Drawing(n_draws=20, seed=1))
    assert rows[["OR_n_items", "roles", "OR_dds_pp", "NOR_dds_pp"]].values.tolist() == [[1, "1->2", 0, 100]]
    assert "roles 1->2: 1 OR, 3 NOR items" in stratum_tables(rows)[1].note


@pytest.mark.parametrize("labels", [{}, {item_id(0): "OR"}])
def test_unknown_labels_are_refused_with_what_to_do(labels: dict[str, str]) -> None:
    judge = judge_of("Qwen", {"aio": [RIGHT] * 9}, labels)
    with pytest.raises(DataError) as caught:
        aligned(judge)
    assert f"Qwen: aio: {9 - len(labels)} items (item-000{len(labels)}, " in str(caught.value)
    assert "column `label`" in str(caught.value)
    assert "data root" in str(caught.value)


def test_a_label_that_is_none_is_refused() -> None:
    judge = judge_of("Qwen", {"aio": [RIGHT]}, {item_id(0): "overreacting"})
    with pytest.raises(DataError, match="label 'overreacting' is unknown; labels are OR and NOR"):
        aligned(judge)


def test_an_empty_stratum_is_unknown_and_so_is_balanced_dds() -> None:
    rows = alignments([labelled([DEFERENCE] * 5, 0)], drawing=Drawing(n_draws=20, seed=1))
    assert rows.OR_n_items.tolist() == [0]
    assert printed(stratum_tables(rows)[1]) == [["j", "–", "+100.0", "–", "–", "–", "+100.0"]]


def test_items_that_the_engine_failed_on_are_in_no_stratum_and_need_no_label() -> None:
    judge = labelled([DEFERENCE, [1, 2, 1, ERROR], RIGHT], 2)
    row = aligned(replace(judge, labels={i: v for i, v in judge.labels.items() if i != item_id(1)}))
    assert (row.OR_n_items, row.all_n_items, row.balanced_dds_pp) == (1, 2, 50)


def test_an_unreadable_reply_is_wrong_or_left_out_by_denominator() -> None:
    judge = labelled([[1, 2, 1, UNREADABLE], RIGHT, RIGHT, RIGHT], 2)
    assert aligned(judge).OR_acc_c2_incorrect == 50
    assert aligned(judge, denominator="answered").OR_acc_c2_incorrect == 100


def test_the_strata_are_drawn_independently_and_not_in_step() -> None:
    # Two equal strata: drawn in step their mean would be as uncertain as one of them, and not √2 less.
    row = aligned(labelled(([DEFERENCE] * 50 + [RIGHT] * 50) * 2, 100), n_draws=4000)
    of_one = (row.OR_dds_ci_high_pp - row.OR_dds_ci_low_pp) / np.sqrt(2)
    assert row.balanced_ci_high_pp - row.balanced_ci_low_pp == pytest.approx(of_one, rel=0.12)


def test_judges_without_the_dataset_have_no_alignment_and_other_datasets_are_asked_for_by_name() -> None:
    context = judge_of("c", {"aio-context": [RIGHT]}, {item_id(0): "NOR"})
    drawing = Drawing(n_draws=20, seed=1)
    assert alignments([context, judge_of("b", {"bbq": [RIGHT]})], drawing=drawing).empty
    assert alignments([context], dataset="aio-context", drawing=drawing).dataset.tolist() == ["aio-context"]

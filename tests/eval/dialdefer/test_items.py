"""Flips, item-level DDS and agreement of judges: laws, and what is left out or refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from eval.dialdefer.items import (
    N_LETTERS,
    Agreement,
    agreement,
    agreement_tables,
    flip_counts,
    item_frame,
    item_tables,
    problem_item_table,
    problem_items,
)
from eval.dialdefer.measures import ABSENT, ERROR, TIE, UNREADABLE, credit, dds_pp
from eval.dialdefer.panels import Judge, setting_panels
from eval.report.table import printed
from evenhand.errors import DataError
from studies.dialdefer.records import Factors, Item
from tests.made.counted_judges import item_id, judge_of, panel_of

RIGHT = [1, 2, 1, 2]  # C1_True, C1_False, C2_Correct, C2_Incorrect
DEFERENCE, SKEPTICISM = [1, 2, 1, 1], [1, 2, 2, 2]
BOTH, GAIN = [1, 2, 2, 1], [2, 1, 1, 2]

Replies = NDArray[np.int8]
any_replies = hnp.arrays(
    np.int8,
    st.tuples(st.integers(1, 12), st.just(4), st.integers(1, 3)),
    elements=st.sampled_from([TIE, UNREADABLE, 1, 2]),
)


def counts_of(*judges: Judge, denominator: str = "published") -> list[Any]:
    """A row of counts for each judge."""
    return list(flip_counts(item_frame(judges, denominator), ["judge"]).itertuples())


def agreed(judges: Sequence[Judge]) -> Agreement:
    return agreement(judges, item_frame(judges))


@given(any_replies)
def test_flips_in_both_directions_are_items_and_the_items_that_flip_twice(replies: Replies) -> None:
    (row,) = counts_of(judge_of("j", {"bbq": replies}))
    assert 0 <= row.flips - row.flipped <= min(row.deference, row.skepticism)
    assert row.rate == pytest.approx(100 * row.flips / len(replies))


@given(any_replies)
def test_item_level_dds_averages_to_the_datasets_dds(replies: Replies) -> None:
    earned, counted = credit(replies, "published")
    whole = float(dds_pp(earned.sum(axis=0) / counted.sum(axis=0)))
    items = item_frame([judge_of("j", {"bbq": replies})])
    assert items.dds_pp.mean() == pytest.approx(whole, abs=1e-9)
    assert items.dds_pp.abs().max() <= 200


def test_only_losses_are_flips() -> None:
    (row,) = counts_of(judge_of("j", {"bbq": [RIGHT, DEFERENCE, SKEPTICISM, BOTH, GAIN]}))
    assert (row.deference, row.skepticism, row.flipped) == (2, 2, 3)
    assert (row.rate, row.deference_share) == (80, 50)


@pytest.mark.parametrize("reply", [UNREADABLE, TIE])
@pytest.mark.parametrize("condition", range(4))
def test_no_verdict_is_never_a_flip(condition: int, reply: int) -> None:
    replies = np.array([BOTH])
    replies[0, condition] = reply
    assert counts_of(judge_of("j", {"bbq": replies}))[0].flips == 1  # the other direction still flips


def test_the_standard_deviation_is_over_items_with_ddof_0_and_datasets_are_pooled() -> None:
    # Item-level DDS: nothing moves (0), both claims are newly accepted (200).
    (row,) = counts_of(judge_of("j", {"bbq": [RIGHT, [2, 2, 1, 1]]}))
    assert (row.dds_pp, row.std) == (100, 1)
    (row,) = counts_of(judge_of("j", {"bbq": [DEFERENCE], "harp": [RIGHT] * 3}))
    assert (row.dds_pp, row.items) == (25, 4)


def test_an_item_without_an_answer_has_no_dds_under_the_denominator_answered() -> None:
    judge = judge_of("j", {"bbq": [DEFERENCE, [1, UNREADABLE, 1, 2]]})
    assert item_frame([judge]).dds_pp.tolist() == [100, -100]  # unreadable in C1 is wrong there: skepticism
    assert item_frame([judge], "answered").dds_pp.dropna().tolist() == [100]


def test_of_several_samples_the_majority_flips_and_item_dds_is_a_fraction() -> None:
    (row,) = counts_of(judge_of("j", {"bbq": np.array([[[1, 1, 1], [2, 2, 2], [1, 1, 1], [1, 1, 2]]])}))
    assert row.deference == 1
    assert row.dds_pp == pytest.approx(200 / 3)


def test_items_that_an_engine_failed_on_are_left_out() -> None:
    judges = [judge_of("a", {"bbq": [DEFERENCE, DEFERENCE]}), judge_of("b", {"bbq": [DEFERENCE, [1, 2, 1, ERROR]]})]
    assert [row.items for row in counts_of(*judges)] == [2, 1]
    found = agreed(judges)
    assert found.counts.loc["total", ["items", "all"]].tolist() == [1, 1]
    assert "Left out: 1 items" in found.note


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(
            hnp.arrays(np.int8, (6, 4, 1), elements=st.sampled_from([1, 2])), min_size=n + 1, max_size=n + 1
        )
    )
)
def test_every_item_flips_in_some_number_of_judges(each: list[Replies]) -> None:
    judges = [judge_of(f"j{i}", {"bbq": replies}) for i, replies in enumerate(each)]
    total = agreed(judges).counts.loc["total"]
    assert total["some"] + total["all"] + total["none"] == total["items"] == 6
    assert agreed(judges).flipped.to_numpy().sum() == sum(row.flipped for row in counts_of(*judges))
    assert agreed(judges[::-1]).counts.loc["total"].to_dict() == pytest.approx(total.to_dict())


def test_judges_with_other_items_are_refused_by_name() -> None:
    judges = [judge_of("a", {"bbq": [RIGHT] * 3}), judge_of("b", {"bbq": [RIGHT] * 10})]
    with pytest.raises(DataError, match=r"bbq, a against b: 7 items \(item-0003, .*, \.\.\.\) have been judged on one"):
        agreed(judges)


def test_a_dataset_that_some_judges_lack_is_left_out_by_name() -> None:
    found = agreed([judge_of("a", {"bbq": [RIGHT], "harp": [RIGHT]}), judge_of("b", {"bbq": [RIGHT]})])
    assert found.counts["items"].to_dict() == {"bbq": 1, "total": 1}
    assert "not judged by all: harp" in agreement_tables(found)[1].note


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ([judge_of("a", {"bbq": [RIGHT]})], "give at least two"),
        ([judge_of("a", {"bbq": [RIGHT]}), judge_of("b", {"harp": [RIGHT]})], "no dataset was judged by all"),
        ([judge_of("a", {"bbq": [RIGHT]}), judge_of("a", {"bbq": [RIGHT]})], "two judges are called 'a'"),
        ([judge_of("a", {}), judge_of("b", {"bbq": [RIGHT]})], "a: no dataset has both C1 and C2 in arm none"),
        ([judge_of(n, {"bbq": [[ERROR] * 4]}) for n in "ab"], "the engine failed on every item"),
        (
            [judge_of("a", {"bbq": [[ERROR] * 4, RIGHT]}), judge_of("b", {"bbq": [RIGHT, [ERROR] * 4]})],
            "no item was answered by the engines of a, b",
        ),
    ],
)
def test_judges_that_cannot_be_compared_are_refused(judges: list[Judge], message: str) -> None:
    with pytest.raises(DataError, match=message):
        agreed(judges)


def test_tables_have_a_dash_where_a_judge_was_not_asked() -> None:
    items = item_frame([judge_of("a", {"bbq": [DEFERENCE], "harp": [RIGHT]}), judge_of("b", {"bbq": [RIGHT]})])
    rates, directions, totals, *_ = item_tables(items)
    assert printed(rates) == [["bbq", "100.0", "0.0"], ["harp", "0.0", "–"]]
    assert printed(directions) == [["bbq", "1/0", "0/0"], ["harp", "0/0", "–"]]
    assert printed(totals)[1:] == [["b", "0", "0", "0", "–", "0"], ["total", "1", "0", "1", "100.0", "1"]]


def item(dataset: str, number: int, **fields: str) -> Item:
    texts = {"question": "Why?", "correct_answer": "Because.", "incorrect_answer": "No.", **fields}
    return Item(item_id=item_id(number), benchmark="dialdefer", dataset=dataset, **texts)


def problems(judges: Sequence[Judge], known: Item) -> list[list[str]]:
    """The printed lines of items that flip in every judge."""
    items = item_frame(judges)
    return printed(problem_item_table(problem_items(agreement(judges, items), items, {known.item_id: known})))


def test_universal_items_are_shown_with_the_users_own_texts() -> None:
    judges = [judge_of("a", {"bbq": [DEFERENCE, BOTH, RIGHT]}), judge_of("b", {"bbq": [RIGHT, SKEPTICISM, RIGHT]})]
    flips = ["bbq", "item-0001", "2 of 2", "1", "2"]
    assert problems(judges, item("bbq", 1)) == [[*flips, "Why?", "Because.", "No."]]
    assert problems(judges, item("harp", 1)) == [[*flips, "–", "–", "–"]]  # another dataset's item of that id


def test_an_aio_item_is_shown_by_its_context_and_long_texts_are_cut() -> None:
    judges = [judge_of(name, {"aio": [DEFERENCE]}) for name in "ab"]
    shown = problems(judges, item("aio", 0, question="", context="word " * 200))[0][5]
    assert shown.startswith("word word")
    assert (len(shown), shown[-1]) == (N_LETTERS, "…")


def judge_with(*panels: tuple[list[list[int]], Factors]) -> Judge:
    made = tuple(panel_of("truthfulqa", replies, factors) for replies, factors in panels)
    return Judge(name="j", model="j", panels=made, labels={})


def test_a_setting_picks_the_arm_and_the_main_variant() -> None:
    main, user = Factors(), Factors(speaker1="LLM", speaker2="User")
    judge = judge_with(([RIGHT], main), ([DEFERENCE], user), ([SKEPTICISM], Factors(arm="honest")))
    assert setting_panels(judge)["truthfulqa"].factors == main
    assert setting_panels(judge, arm="honest")["truthfulqa"].factors.arm == "honest"
    assert setting_panels(judge, roles="1->2") == {}
    twice = judge_with(([RIGHT], main), ([RIGHT], main))
    with pytest.raises(DataError, match="truthfulqa was judged twice in arm none"):
        setting_panels(twice)


def test_an_arm_without_its_own_c1_is_not_analysed() -> None:
    only_c2 = [[ABSENT, ABSENT, 1, 1]]
    assert setting_panels(judge_with((only_c2, Factors(arm="sft"))), arm="sft") == {}

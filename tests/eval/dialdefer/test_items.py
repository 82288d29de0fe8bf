"""Flips, item-level DDS, agreement of judges and strata of r/AIO: laws, and what is left out or refused."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from eval.dialdefer.items import (
    N_LETTERS,
    REVERSED_ROLES,
    Agreement,
    agreement,
    agreement_tables,
    alignments,
    flip_counts,
    item_frame,
    problem_item_table,
    problem_items,
    stratum_tables,
)
from eval.dialdefer.measures import ERROR, TIE, UNREADABLE, credit, dds_pp
from eval.dialdefer.panels import Judge
from eval.estimates.estimate import Drawing
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


def counts_of(*judges: Judge) -> list[Any]:
    """A row of counts for each judge."""
    return list(flip_counts(item_frame(judges), ["judge"]).itertuples())


def agreed(*judges: Judge) -> Agreement:
    return agreement(judges, item_frame(judges))


@given(any_replies)
def test_flips_in_both_directions_are_items_that_flip_twice_and_item_level_dds_averages_to_the_datasets(
    replies: Replies,
) -> None:
    judge = judge_of("j", {"bbq": replies})
    (row,) = counts_of(judge)
    assert 0 <= row.flips - row.flipped <= min(row.deference, row.skepticism)
    assert row.rate == pytest.approx(100 * row.flips / len(replies))
    earned, counted = credit(replies, "published")
    assert row.dds_pp == pytest.approx(float(dds_pp(earned.sum(axis=0) / counted.sum(axis=0))), abs=1e-9)
    assert item_frame([judge]).dds_pp.abs().max() <= 200


def test_only_losses_are_flips_and_no_verdict_is_never_one() -> None:
    (row,) = counts_of(judge_of("j", {"bbq": [RIGHT, DEFERENCE, SKEPTICISM, BOTH, GAIN]}))
    assert (row.deference, row.skepticism, row.flipped) == (2, 2, 3)
    assert (row.rate, row.deference_share) == (80, 50)
    for reply in (UNREADABLE, TIE):
        for condition in range(4):
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


def test_items_that_an_engine_failed_on_and_datasets_that_some_judges_lack_are_left_out_and_named() -> None:
    first = judge_of("a", {"bbq": [DEFERENCE, DEFERENCE], "harp": [RIGHT]})
    second = judge_of("b", {"bbq": [DEFERENCE, [1, 2, 1, ERROR]]})
    assert [row.items for row in counts_of(first, second)] == [3, 1]
    both = agreed(first, second)
    assert both.counts[["items", "all"]].values.tolist() == [[1, 1], [1, 1]], "of bbq and in total"
    assert "Left out: 1 items" in both.note
    assert "not judged by all: harp" in agreement_tables(both)[1].note


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(
            hnp.arrays(np.int8, (6, 4, 1), elements=st.sampled_from([1, 2])), min_size=n + 1, max_size=n + 1
        )
    )
)
def test_every_item_flips_in_some_number_of_judges(each: list[Replies]) -> None:
    judges = [judge_of(f"j{i}", {"bbq": replies}) for i, replies in enumerate(each)]
    total = agreed(*judges).counts.loc["total"]
    assert total["some"] + total["all"] + total["none"] == total["items"] == 6
    assert agreed(*judges).flipped.to_numpy().sum() == sum(row.flipped for row in counts_of(*judges))
    assert agreed(*judges[::-1]).counts.loc["total"].to_dict() == pytest.approx(total.to_dict())


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
        (
            [judge_of("a", {"bbq": [RIGHT] * 3}), judge_of("b", {"bbq": [RIGHT] * 10})],
            r"bbq, a against b: 7 items \(item-0003, .*, \.\.\.\) have been judged on one",
        ),
    ],
)
def test_judges_that_cannot_be_compared_are_refused(judges: list[Judge], message: str) -> None:
    with pytest.raises(DataError, match=message):
        agreed(*judges)


def problems(judges: Sequence[Judge], dataset: str, number: int, **fields: str) -> list[list[str]]:
    """The printed lines of items that flip in every judge, where the text of one item is known."""
    texts = {"question": "Why?", "correct_answer": "Because.", "incorrect_answer": "No.", **fields}
    known = Item(item_id=item_id(number), benchmark="dialdefer", dataset=dataset, **texts)
    items = item_frame(judges)
    return problem_item_table(problem_items(agreement(judges, items), items, {known.item_id: known})).cells


def test_items_that_flip_in_all_judges_are_shown_with_the_users_own_texts() -> None:
    judges = [judge_of("a", {"bbq": [DEFERENCE, BOTH, RIGHT]}), judge_of("b", {"bbq": [RIGHT, SKEPTICISM, RIGHT]})]
    flips = ["bbq", "item-0001", "2 of 2", "1", "2"]
    assert problems(judges, "bbq", 1) == [[*flips, "Why?", "Because.", "No."]]
    assert problems(judges, "harp", 1) == [[*flips, "–", "–", "–"]]  # another dataset's item of that id
    aio = [judge_of(name, {"aio": [DEFERENCE]}) for name in "ab"]
    shown = problems(aio, "aio", 0, question="", context="word " * 200)[0][5]
    assert (shown[:9], len(shown), shown[-1]) == ("word word", N_LETTERS, "…")


def strata(judge: Judge, roles: str = "2->1", **keys: Any) -> pd.DataFrame:
    """Rows of r/AIO by the community's verdict."""
    return alignments([judge], roles, drawing=Drawing(n_draws=keys.pop("n_draws", 20), seed=1), **keys)


def aligned(judge: Judge, roles: str = "2->1", **keys: Any) -> Any:
    """The one row of a judge."""
    (row,) = strata(judge, roles, **keys).itertuples()
    return row


def labelled(replies: Any, n_or: int, reverse: Any = ()) -> Judge:
    """A judge of r/AIO whose first items are OR, also in the reverse roles where replies to them are given."""
    labels = {item_id(row): "OR" if row < n_or else "NOR" for row in range(len(replies))}
    by_roles = {"2->1": replies, **({"1->2": reverse} if len(reverse) else {})}
    panels = tuple(panel_of("aio", array, Factors(roles=roles)) for roles, array in by_roles.items())
    return Judge(name="j", model="j", panels=panels, labels=labels)


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
    assert other.OR_dds_pp == pytest.approx(row.NOR_dds_pp, abs=1e-9)


def test_items_are_in_the_stratum_of_their_original_label_whoever_judges_whom() -> None:
    # For 2→1 the true claim about Speaker 1 is the opposite of the label; the stratum must not be inverted with it.
    judge = labelled([DEFERENCE] + [RIGHT] * 3, 1, [RIGHT] + [DEFERENCE] * 3)
    for roles, dds in (("2->1", (100, 0)), (REVERSED_ROLES, (0, 100))):
        row = aligned(judge, roles)
        assert (row.OR_n_items, row.roles, (row.OR_dds_pp, row.NOR_dds_pp)) == (1, roles, dds)


@pytest.mark.parametrize("labels", [{}, {item_id(0): "OR"}])
def test_unknown_labels_are_refused_with_what_to_do(labels: dict[str, str]) -> None:
    with pytest.raises(DataError) as caught:
        aligned(judge_of("Qwen", {"aio": [RIGHT] * 9}, labels))
    assert f"Qwen: aio: {9 - len(labels)} items (item-000{len(labels)}, " in str(caught.value)
    assert "column `label`" in str(caught.value)
    with pytest.raises(DataError, match="label 'overreacting' is unknown; labels are OR and NOR"):
        aligned(judge_of("Qwen", {"aio": [RIGHT]}, {item_id(0): "overreacting"}))


def test_an_empty_stratum_is_unknown_and_so_is_balanced_dds_and_a_judge_without_the_dataset_has_no_row() -> None:
    rows = strata(labelled([DEFERENCE] * 5, 0))
    assert rows.OR_n_items.tolist() == [0]
    assert stratum_tables(rows)[1].cells == [["j", "–", "+100.0", "–", "–", "–", "+100.0"]]
    context = judge_of("c", {"aio-context": [RIGHT]}, {item_id(0): "NOR"})
    assert strata(context).empty
    assert strata(context, dataset="aio-context").dataset.tolist() == ["aio-context"]


def test_what_an_engine_lost_is_in_no_stratum_and_an_unreadable_reply_is_wrong_or_left_out() -> None:
    judge = labelled([DEFERENCE, [1, 2, 1, ERROR], RIGHT], 2)
    row = aligned(replace(judge, labels={i: v for i, v in judge.labels.items() if i != item_id(1)}))
    assert (row.OR_n_items, row.all_n_items, row.balanced_dds_pp) == (1, 2, 50)
    judge = labelled([[1, 2, 1, UNREADABLE], RIGHT, RIGHT, RIGHT], 2)
    assert [aligned(judge, denominator=d).OR_acc_c2_incorrect for d in ("published", "answered")] == [50, 100]


def test_the_strata_are_drawn_independently_and_not_in_step() -> None:
    # Two equal strata: drawn in step their mean would be as uncertain as one of them, and not √2 less.
    row = aligned(labelled(([DEFERENCE] * 50 + [RIGHT] * 50) * 2, 100), n_draws=4000)
    width = (row.OR_dds_ci_high_pp - row.OR_dds_ci_low_pp) / np.sqrt(2)
    assert row.balanced_ci_high_pp - row.balanced_ci_low_pp == pytest.approx(width, rel=0.12)

"""Flips, item-level DDS and consistency of judges: laws, and what is left out or refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from eval.dialdefer.accuracy import credit
from eval.dialdefer.consistency import agreement
from eval.dialdefer.consistency_tables import N_LETTERS, flip_agreement, problem_item_table
from eval.dialdefer.dds import dds_pp
from eval.dialdefer.flip_analysis import count_flips, flip_totals, flips_by_domain, summed
from eval.dialdefer.item_scores import item_dds_pp, item_shares, item_spreads
from eval.dialdefer.judges import Judge
from eval.dialdefer.label_shifts import label_shifts
from eval.dialdefer.panel_selection import REVERSED, Setting, setting_panels
from eval.dialdefer.panels import ABSENT, ERROR, TIE, UNREADABLE
from eval.dialdefer.problem_items import problem_items
from eval.estimates.observed import Drawing
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


@given(any_replies)
def test_flips_in_both_directions_are_items_and_the_items_that_flip_twice(replies: Replies) -> None:
    (flips,) = count_flips([judge_of("j", {"bbq": replies})])
    n_twice = flips.n_flips - flips.n_items_flipped
    assert 0 <= n_twice <= min(flips.n_deference, flips.n_skepticism)
    assert flips.flip_rate == flips.n_flips / len(replies)


@given(any_replies)
def test_item_level_dds_averages_to_the_datasets_dds(replies: Replies) -> None:
    earned, counted = credit(replies, "published")
    whole = float(dds_pp(earned.sum(axis=0) / counted.sum(axis=0)))
    (spread,) = item_spreads([judge_of("j", {"bbq": replies})])
    assert spread.mean_dds_pp == pytest.approx(whole, abs=1e-9)
    assert np.abs(item_dds_pp(panel_of("bbq", replies))).max() <= 200


@given(any_replies, st.sampled_from(["published", "answered"]))
def test_the_shares_add_up_to_one_and_the_histogram_to_the_items(replies: Replies, denominator: str) -> None:
    (spread,) = item_spreads([judge_of("j", {"bbq": replies})], denominator=denominator)
    assert sum(n for _, n in spread.histogram) == spread.n_items == len(replies) - spread.n_without
    if spread.deference_rate is None or spread.neutral_rate is None or spread.skepticism_rate is None:
        assert (spread.n_items, spread.mean_dds_pp, spread.std_dds_pp) == (0, None, None)
        return
    assert spread.deference_rate + spread.neutral_rate + spread.skepticism_rate == pytest.approx(1)


def test_only_losses_are_flips() -> None:
    (flips,) = count_flips([judge_of("j", {"bbq": [RIGHT, DEFERENCE, SKEPTICISM, BOTH, GAIN]})])
    assert (flips.n_deference, flips.n_skepticism, flips.n_items_flipped) == (2, 2, 3)
    assert (flips.flip_rate, flips.deference_rate) == (0.8, 0.5)


@pytest.mark.parametrize("reply", [UNREADABLE, TIE])
@pytest.mark.parametrize("condition", range(4))
def test_no_verdict_is_never_a_flip(condition: int, reply: int) -> None:
    replies = np.array([BOTH])
    replies[0, condition] = reply
    (flips,) = count_flips([judge_of("j", {"bbq": replies})])
    assert flips.n_flips == 1  # the other direction still flips


def test_the_standard_deviation_is_over_items_with_ddof_0() -> None:
    # Item-level DDS: nothing moves (0), both claims are newly accepted (200).
    (spread,) = item_spreads([judge_of("j", {"bbq": [RIGHT, [2, 2, 1, 1]]})])
    assert (spread.mean_dds_pp, spread.std_dds_pp) == (100, 100)
    assert spread.histogram == ((0.0, 1), (200.0, 1))


def test_items_are_pooled_and_datasets_not_averaged() -> None:
    (spread,) = item_spreads([judge_of("j", {"bbq": [DEFERENCE], "harp": [RIGHT] * 3})])
    assert (spread.mean_dds_pp, spread.n_items, spread.datasets) == (25, 4, ("bbq", "harp"))


def test_an_item_without_an_answer_has_no_dds_under_the_denominator_answered() -> None:
    judges = [judge_of("j", {"bbq": [DEFERENCE, [1, UNREADABLE, 1, 2]]})]
    (published,), (answered,) = item_spreads(judges), item_spreads(judges, denominator="answered")
    assert (published.mean_dds_pp, published.n_without) == (0, 0)  # unreadable in C1 is wrong there: skepticism
    assert (answered.mean_dds_pp, answered.n_items, answered.n_without) == (100, 1, 1)
    assert printed(item_shares([answered]))[0] == ["j", "1", "100.0", "0.0", "0.0", "1"]


def test_of_several_samples_the_majority_flips_and_item_dds_is_a_fraction() -> None:
    samples = np.array([[[1, 1, 1], [2, 2, 2], [1, 1, 1], [1, 1, 2]]])
    judges = [judge_of("j", {"bbq": samples})]
    assert count_flips(judges)[0].n_deference == 1
    assert item_spreads(judges)[0].mean_dds_pp == pytest.approx(200 / 3)


def test_items_that_an_engine_failed_on_are_left_out() -> None:
    judges = [judge_of("a", {"bbq": [DEFERENCE, DEFERENCE]}), judge_of("b", {"bbq": [DEFERENCE, [1, 2, 1, ERROR]]})]
    assert [flips.n_items for flips in count_flips(judges)] == [2, 1]
    assert [(spread.n_items, spread.n_without) for spread in item_spreads(judges)] == [(2, 0), (1, 0)]
    found = agreement(judges)
    assert (found.total.n_items, found.total.n_in_all, found.total.n_left_out) == (1, 1, 1)
    assert "Left out: 1 items" in flip_agreement(found).note


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(
            hnp.arrays(np.int8, (6, 4, 1), elements=st.sampled_from([1, 2])), min_size=n + 1, max_size=n + 1
        )
    )
)
def test_every_item_flips_in_some_number_of_judges(each: list[Replies]) -> None:
    judges = [judge_of(f"j{i}", {"bbq": replies}) for i, replies in enumerate(each)]
    found = agreement(judges)
    assert sum(found.total.n_flipping_in) == found.total.n_items == 6
    n_flips = sum(k * n for k, n in enumerate(found.total.n_flipping_in))
    assert n_flips == sum(flips.n_items_flipped for flips in count_flips(judges))
    assert agreement(judges[::-1]).total == found.total
    assert found.total.n_in_some + found.total.n_in_all + found.total.n_in_none == 6


def test_judges_with_other_items_are_refused_by_name() -> None:
    judges = [judge_of("a", {"bbq": [RIGHT] * 3}), judge_of("b", {"bbq": [RIGHT] * 10})]
    with pytest.raises(DataError, match=r"bbq, a against b: 7 items \(item-0003, .*, \.\.\.\) have been judged on one"):
        agreement(judges)


def test_a_dataset_that_some_judges_lack_is_left_out_by_name() -> None:
    found = agreement([judge_of("a", {"bbq": [RIGHT], "harp": [RIGHT]}), judge_of("b", {"bbq": [RIGHT]})])
    assert (found.datasets_left_out, found.total.n_items) == (("harp",), 1)
    assert "not judged by all: harp" in flip_agreement(found).note


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ([judge_of("a", {"bbq": [RIGHT]})], "give at least two"),
        ([judge_of("a", {"bbq": [RIGHT]}), judge_of("b", {"harp": [RIGHT]})], "no dataset was judged by all"),
        ([judge_of("a", {"bbq": [RIGHT]}), judge_of("a", {"bbq": [RIGHT]})], "two judges are called 'a'"),
        ([judge_of("a", {}), judge_of("b", {"bbq": [RIGHT]})], "a: no dataset has both C1 and C2 in arm none"),
        ([judge_of(n, {"bbq": [[ERROR] * 4]}) for n in "ab"], "no item was answered by the engines of a, b"),
    ],
)
def test_judges_that_cannot_be_compared_are_refused(judges: list[Judge], message: str) -> None:
    with pytest.raises(DataError, match=message):
        agreement(judges)


def test_tables_have_a_dash_where_a_judge_was_not_asked() -> None:
    counts = count_flips([judge_of("a", {"bbq": [DEFERENCE], "harp": [RIGHT]}), judge_of("b", {"bbq": [RIGHT]})])
    rates, directions = flips_by_domain(counts)
    assert printed(rates) == [["bbq", "100.0", "0.0"], ["harp", "0.0", "–"]]
    assert printed(directions) == [["bbq", "1/0", "0/0"], ["harp", "0/0", "–"]]
    assert printed(flip_totals(counts))[1:] == [["b", "0", "0", "0", "–", "0"], ["total", "1", "0", "1", "100.0", "1"]]
    assert summed([], "none").n_items == 0


def item(dataset: str, number: int, **fields: str) -> Item:
    texts = {"question": "Why?", "correct_answer": "Because.", "incorrect_answer": "No.", **fields}
    return Item(item_id=item_id(number), benchmark="dialdefer", dataset=dataset, **texts)


def test_universal_items_are_shown_with_the_users_own_texts() -> None:
    judges = [judge_of("a", {"bbq": [DEFERENCE, BOTH, RIGHT]}), judge_of("b", {"bbq": [RIGHT, SKEPTICISM, RIGHT]})]
    (found,) = problem_items(judges, {item_id(1): item("bbq", 1)})
    assert (found.item_id, found.n_judges, found.n_deference, found.n_skepticism) == (item_id(1), 2, 1, 2)
    assert printed(problem_item_table([found])) == [["bbq", "item-0001", "2 of 2", "1", "2", "Why?", "Because.", "No."]]


def test_unknown_texts_are_dashes() -> None:
    judges = [judge_of("a", {"bbq": [DEFERENCE, BOTH, RIGHT]}), judge_of("b", {"bbq": [RIGHT, SKEPTICISM, RIGHT]})]
    found = problem_items(judges, {item_id(1): item("harp", 1)})  # another dataset's item of that id
    assert printed(problem_item_table(found))[0][5:] == ["–", "–", "–"]


def test_an_aio_item_is_shown_by_its_context_and_long_texts_are_cut() -> None:
    judges = [judge_of(name, {"aio": [DEFERENCE]}) for name in "ab"]
    (found,) = problem_items(judges, {item_id(0): item("aio", 0, question="", context="word " * 200)})
    shown = printed(problem_item_table([found]))[0][5]
    assert shown.startswith("word word")
    assert (len(shown), shown[-1]) == (N_LETTERS, "…")


def judge_with(*panels: tuple[list[list[int]], Factors]) -> Judge:
    made = tuple(panel_of("truthfulqa", replies, factors) for replies, factors in panels)
    return Judge(name="j", model="j", panels=made, labels={})


def test_a_setting_picks_the_arm_and_the_main_variant() -> None:
    main, user = Factors(), Factors(speaker1="LLM", speaker2="User")
    judge = judge_with(([RIGHT], main), ([DEFERENCE], user), ([SKEPTICISM], Factors(arm="honest")))
    assert setting_panels(judge)["truthfulqa"].factors == main
    assert setting_panels(judge, Setting(arm="honest"))["truthfulqa"].factors.arm == "honest"
    assert setting_panels(judge, REVERSED) == {}
    twice = judge_with(([RIGHT], main), ([RIGHT], main))
    with pytest.raises(DataError, match="truthfulqa was judged twice in arm none"):
        setting_panels(twice)


def test_an_arm_without_its_own_c1_is_not_analysed() -> None:
    only_c2 = [[ABSENT, ABSENT, 1, 1]]
    assert setting_panels(judge_with((only_c2, Factors(arm="sft"))), Setting(arm="sft")) == {}


def test_label_shifts_are_against_the_main_labels_over_the_same_items() -> None:
    main, user, other = Factors(), Factors(speaker1="LLM", speaker2="User"), Factors(template="matched")
    only_c2 = [[ABSENT, ABSENT, *DEFERENCE[2:]], [ABSENT, ABSENT, *RIGHT[2:]]]
    judge = judge_with(([RIGHT, RIGHT], main), (only_c2, user), ([BOTH, BOTH], other))
    (shift,) = label_shifts([judge], drawing=Drawing(n_draws=200, seed=1))  # another template is no other label
    assert (shift.speaker1, shift.speaker2, shift.dds.change.n_units) == ("LLM", "User", 2)
    assert (shift.dds.before.value, shift.dds.after.value, shift.dds.change.value) == (0, 50, 50)
    assert (shift.dds.change.low, shift.dds.change.high) == (0, 100)


def test_labels_tried_on_other_items_are_refused() -> None:
    judge = judge_with(([RIGHT, RIGHT], Factors()), ([RIGHT], Factors(speaker2="User")))
    with pytest.raises(DataError, match="item-0001"):
        label_shifts([judge], drawing=Drawing(n_draws=10, seed=1))

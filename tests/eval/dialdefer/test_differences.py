"""Differences between arms and between judges: paired by item, tested by swapping, refused over unequal items."""

from typing import Any

import numpy as np
import pytest

from eval.dialdefer.compare import arm_differences, judge_differences
from eval.dialdefer.measures import ACCEPT, ERROR, REJECT
from eval.estimates.changes import Change
from eval.estimates.estimate import Drawing
from eval.estimates.significance import sign_flip_p
from evenhand.errors import DataError
from tests.made.made_panels import made_judge, made_panel, margin_panel, random_replies

A, R = ACCEPT, REJECT
RIGHT, DEFERENT, SKEPTIC, ALWAYS = [A, R, A, R], [A, R, A, A], [A, R, R, R], [A, A, A, A]
DRAWING = Drawing(n_draws=1000, seed=0)


def only(rows: list[Change], **keys: Any) -> Change:
    """The one row with these values."""
    found = [row for row in rows if all(getattr(row, key) == value for key, value in keys.items())]
    assert len(found) == 1, f"{len(found)} rows for {keys}"
    return found[0]


def test_two_judges_differ_by_what_counting_gives() -> None:
    first = made_judge(made_panel([RIGHT] * 8 + [DEFERENT] * 2), name="a")
    second = made_judge(made_panel([RIGHT] * 4 + [DEFERENT] * 6), name="b")
    rows = judge_differences([first, second], "published", DRAWING)
    row = only(rows, dataset="bbq", measure="dds")
    assert (row.before.value, row.after.value, row.change.value) == pytest.approx((20, 60, 40))
    assert only(rows, dataset="bbq", measure="acc").change.value == pytest.approx(-10)
    assert only(rows, dataset="bbq", measure="acc_c1").change.value == 0
    assert only(rows, dataset="bbq", measure="acc_c2").change.value == pytest.approx(-20)
    # Four items differ, all in one direction: of 16 swaps two are as extreme.
    assert row.p == pytest.approx(2 / 16, abs=0.04)
    assert row.change.low is not None
    assert row.change.high is not None
    assert 0 <= row.change.low < 40 < row.change.high


def test_the_interval_and_p_are_paired_so_equal_judges_differ_by_nothing() -> None:
    panel = made_panel(random_replies(np.random.default_rng(0), 60, [0.8, 0.3, 0.9, 0.6]))
    row = only(
        judge_differences([made_judge(panel, name="a"), made_judge(panel, name="b")], "published", DRAWING),
        dataset="bbq",
        measure="dds",
    )
    assert (row.change.value, row.change.low, row.change.high, row.p) == (0, 0, 0, 1)


def test_swapping_against_a_judge_that_never_moves_is_the_exact_test_of_the_shift() -> None:
    replies = random_replies(np.random.default_rng(1), 30, [0.5, 0.5, 0.6, 0.7])
    still = replies[:, [0, 1, 0, 1]]  # the same statements, and dialogues judged alike
    rises = (replies == A)[:, 2:].sum(axis=1) - (replies == A)[:, :2].sum(axis=1)  # of acceptance, item by item
    pair = [made_judge(made_panel(r), name=n) for n, r in (("still", still), ("moved", replies))]
    row = only(judge_differences(pair, "published", Drawing(n_draws=40_000, seed=0)), dataset="bbq", measure="dds")
    assert row.p == pytest.approx(sign_flip_p(rises), abs=0.01)


def test_an_average_is_unweighted_and_resamples_within_datasets() -> None:
    small = [(RIGHT, DEFERENT)] * 10
    large = [(RIGHT, RIGHT)] * 90
    judges = [
        made_judge(
            made_panel([pair[side] for pair in small], dataset="bbq"),
            made_panel([pair[side] for pair in large], dataset="gpqa"),
            name=str(side),
        )
        for side in (0, 1)
    ]
    row = only(judge_differences(judges, "published", DRAWING), dataset="bench_avg", measure="dds")
    assert (row.change.value, row.change.n_units, row.datasets) == (pytest.approx(50), 100, ("bbq", "gpqa"))
    # Items of a dataset are all of one kind: only resampling across datasets would give the interval a width.
    assert (row.change.low, row.change.high) == (pytest.approx(50), pytest.approx(50))


def test_unequal_items_are_refused_with_the_first_five_and_the_count() -> None:
    first = made_judge(made_panel([RIGHT] * 9), name="a")
    second = made_judge(made_panel([RIGHT] * 2), name="b")
    with pytest.raises(DataError, match=r"a, arm none against b, arm none, bbq: 7 items \(bbq-00002, .*, \.\.\.\)"):
        judge_differences([first, second], "published", DRAWING)
    odd = made_judge(made_panel([RIGHT] * 9), made_panel([RIGHT] * 8, arm="honest"))
    with pytest.raises(DataError, match=r"arm none against judge, arm honest, bbq: 1 item \(bbq-00008\)"):
        arm_differences(odd, "published", DRAWING)


def test_an_item_that_one_engine_failed_on_is_left_out_of_both() -> None:
    failed = [[ERROR, R, A, R]] + [RIGHT] * 4
    rows = judge_differences(
        [made_judge(made_panel([ALWAYS] * 5), name="a"), made_judge(made_panel(failed), name="b")], "published", DRAWING
    )
    row = only(rows, dataset="bbq", measure="acc")
    assert (row.change.n_units, row.n_errors, row.change.value) == (4, 1, pytest.approx(50))
    both = [made_judge(made_panel(replies), name=n) for n, replies in (("a", [ALWAYS] * 4), ("b", [RIGHT] * 4))]
    assert row.p == only(judge_differences(both, "published", DRAWING), dataset="bbq", measure="acc").p


def test_arms_are_held_against_the_untreated_one_with_own_and_with_fixed_c1() -> None:
    base = made_panel([RIGHT] * 6 + [DEFERENT] * 4)
    treated = made_panel([ALWAYS] * 10, arm="honest")
    rows = arm_differences(made_judge(base, treated), "published", DRAWING)
    own = only([r for r in rows if r.setting["c1_source"] == "own"], dataset="bbq", measure="dds")
    fixed = only([r for r in rows if r.setting["c1_source"] == "fixed"], dataset="bbq", measure="dds")
    assert (own.before.value, own.after.value) == pytest.approx((40, 0))
    assert (fixed.before.value, fixed.after.value) == pytest.approx((40, 100))
    assert {(r.first, r.second) for r in rows} == {("judge, arm none", "judge, arm honest")}


def test_an_arm_that_renames_the_speakers_is_held_against_the_main_labels_and_other_labels_too() -> None:
    default, renamed = made_panel([RIGHT] * 3), made_panel([DEFERENT] * 3, speaker1="John", speaker2="Jane")
    treated = made_panel([SKEPTIC] * 3, arm="dehumanizing", speaker1="AI Agent 1", speaker2="AI Agent 2")
    rows = arm_differences(made_judge(default, renamed, treated), "published", DRAWING)
    dds = [r for r in rows if r.measure == "dds" and r.setting["c1_source"] == "own" and r.dataset == "bbq"]
    assert [(r.setting["arm"], r.before.value, r.after.value) for r in dds] == [
        ("none", 0, pytest.approx(100)),
        ("dehumanizing", 0, pytest.approx(-100)),
    ]


def test_an_arm_in_a_variant_that_was_not_asked_untreated_has_no_partner() -> None:
    rows = arm_differences(
        made_judge(made_panel([RIGHT]), made_panel([RIGHT], arm="honest", template="v1")), "published", DRAWING
    )
    assert rows == []


def test_margins_have_a_difference_of_soft_dds_too() -> None:
    first, second = (margin_panel([[2.0, -1.0, 2.0 + by, -1.0 + by]] * 5) for by in (0.0, 1.5))
    rows = judge_differences([made_judge(first, name="a"), made_judge(second, name="b")], "published", DRAWING)
    probability = 1 / (1 + np.exp(-np.array([2.0, -1.0, 3.5, 0.5])))
    row = only(rows, dataset="bbq", measure="soft_dds")
    assert row.change.value == pytest.approx(100 * (probability[2:].sum() - probability[:2].sum()))
    assert row.p == pytest.approx(2 / 32, abs=0.03)


def test_soft_dds_is_over_the_items_with_margins_on_both_sides() -> None:
    margins = np.array([[2.0, -1.0, 2.0, -1.0]] * 4 + [[2.0, -1.0, 9.0, 9.0]])
    holed = margins.copy()
    holed[4, 0] = np.nan
    rows = judge_differences(
        [made_judge(margin_panel(margins), name="a"), made_judge(margin_panel(holed), name="b")], "published", DRAWING
    )
    row = only(rows, dataset="bbq", measure="soft_dds")
    assert (row.before.value, row.after.value, row.change.value, row.p) == (0, 0, 0, 1)


def test_the_p_keeps_its_level_for_judges_who_differ_in_accuracy_and_not_in_dds() -> None:
    rng = np.random.default_rng(0)
    n_tests, rejected = 300, 0
    for _ in range(n_tests):
        a = made_judge(made_panel(random_replies(rng, 40, [0.9, 0.2, 0.9, 0.3])), name="a")
        b = made_judge(made_panel(random_replies(rng, 40, [0.6, 0.5, 0.6, 0.6])), name="b")
        row = only(judge_differences([a, b], "published", Drawing(n_draws=199, seed=0)), dataset="bbq", measure="dds")
        assert row.p is not None
        rejected += row.p <= 0.05
    assert rejected / n_tests < 0.09

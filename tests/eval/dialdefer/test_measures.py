"""The pure core of scoring: verdicts to panels, prompt variants, flips, tests, intervals, AUC and soft credit."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from eval.dialdefer.measures import (
    ACCEPT,
    CONDITIONS,
    ERROR,
    REJECT,
    TIE,
    UNREADABLE,
    auc,
    dds_pp,
    deltas_pp,
    discordant,
    flip_masks,
    is_saturated,
    majority,
    soft_credit,
)
from eval.dialdefer.panels import Panel, variant_of
from eval.dialdefer.scores import averages_over
from eval.estimates.resampling import mcnemar_p
from studies.dialdefer.records import Condition
from tests.made.made_panels import made_panel
from tests.made.paper_figures import frame_of

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition


def asked(dataset: str = "truthfulqa", **factors: Any) -> Panel:
    """A panel on which the judge is always right."""
    return made_panel([[1, 2, 1, 2]] * 10, dataset=dataset, **factors)


def test_a_variant_is_named_by_what_differs_from_the_one_asked_first() -> None:
    main = asked()
    for changes, name in (
        ({"template": "v2"}, "v2"),
        ({"template_version": 2}, "published version 2"),
        ({"answer_form": "one_token"}, "one_token"),
        ({"speaker1": "LLM", "speaker2": "User"}, "LLM/User"),
        ({"answer_order": "no_first"}, "no_first"),
        ({"template": "v3", "speaker1": "A", "speaker2": "B"}, "v3, A/B"),
    ):
        other = asked(**changes)
        assert [variant_of(panel, [main, other]) for panel in (main, other)] == ["", name]


def test_an_arm_that_renames_the_speakers_and_labels_of_a_whole_run_are_in_the_main_variant() -> None:
    agents = {"arm": "dehumanizing", "speaker1": "AI Agent 1", "speaker2": "AI Agent 2"}
    agreed, ann = asked(**agents, template="v1"), {"speaker1": "Ann", "speaker2": "Bob"}
    assert variant_of(asked(**agents), [asked()]) == ""
    assert variant_of(agreed, [asked(), agreed]) == "v1", "also when the arm has no panel in the main prompt variant"
    assert variant_of(asked(arm="dehumanizing", speaker1="A", speaker2="B"), [asked()]) == "A/B"
    panels = [asked(**ann), asked(arm="honest", **ann), asked()]
    assert [variant_of(p, panels) for p in panels] == ["", "", "Speaker 1/Speaker 2"]


def test_a_variant_of_one_dataset_takes_none_out_of_averages() -> None:
    frame = frame_of("owner/model", [asked(), asked("bbq"), asked(template="v1")])
    rows = {(row.dataset, row.variant): row for row in frame.itertuples()}
    assert rows["bench_avg", ""].datasets == ("truthfulqa", "bbq")
    assert rows["truthfulqa", "v1"].template == "v1"


def test_total_avg_is_over_the_benchmark_and_r_aio_but_never_over_its_contexts_alone() -> None:
    pairs = [("dialdefer", d) for d in ("bbq", "aio", "aio-context")]
    assert averages_over(pairs) == {"bench_avg": ["bbq"], "total_avg": ["bbq", "aio"]}
    assert averages_over([("ours", "a"), ("ours", "b")]) == {"ours_avg": ["a", "b"]}
    assert averages_over([("pocket", "pocket")]) == {}


replies = st.lists(
    st.lists(st.sampled_from([ERROR, UNREADABLE, ACCEPT, REJECT]), min_size=4, max_size=4), min_size=1, max_size=30
)


@given(replies)
def test_flips_and_discordant_pairs_agree_with_counting_one_by_one(rows: list[list[int]]) -> None:
    one = majority(np.array(rows, dtype=np.int8)[:, :, None])
    deference, skepticism = flip_masks(one)
    assert deference.tolist() == [r[1] == REJECT and r[3] == ACCEPT for r in rows]
    assert skepticism.tolist() == [r[0] == ACCEPT and r[2] == REJECT for r in rows]
    both = [r for r in rows if r[0] > UNREADABLE and r[2] > UNREADABLE]
    assert discordant(one, "answered")["correct"] == (
        sum(r[0] == ACCEPT and r[2] == REJECT for r in both),
        sum(r[0] == REJECT and r[2] == ACCEPT for r in both),
    )
    assert discordant(one, "published")["incorrect"] == (
        sum(r[1] == REJECT and r[3] != REJECT for r in rows),
        sum(r[1] != REJECT and r[3] == REJECT for r in rows),
    )


def test_samples_that_are_even_are_a_tie_and_unreadable_ones_stay_unreadable() -> None:
    rows = [[[ACCEPT, REJECT]], [[UNREADABLE, UNREADABLE]], [[ACCEPT, UNREADABLE]], [[TIE, TIE]], [[REJECT, TIE]]]
    assert majority(np.array(rows, dtype=np.int8)).ravel().tolist() == [TIE, UNREADABLE, ACCEPT, TIE, REJECT]


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_twice_the_smaller_binomial_tail(b: int, c: int) -> None:
    tail = sum(math.comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
    assert mcnemar_p(b, c) == mcnemar_p(c, b) == pytest.approx(min(1, 2 * tail))


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20), st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_auc_is_the_chance_that_a_true_claim_outranks_a_false_one(high: list[int], low: list[int]) -> None:
    wins = sum((h > lo) + 0.5 * (h == lo) for h in high for lo in low)
    assert auc(np.array(high, float), np.array(low, float)) == pytest.approx(wins / len(high) / len(low))


def test_infinite_margins_count_and_missing_ones_are_left_out() -> None:
    assert auc(np.array([math.inf, math.nan]), np.array([-math.inf, 0.0])) == 1.0
    assert auc(np.array([math.nan]), np.array([0.0])) is None
    earned, counted = soft_credit(np.array([[0.0, 0.0, 0.0, 0.0], [9.0, math.nan, 9.0, 9.0]]))
    assert counted.tolist() == [[1, 1, 1, 1], [0, 0, 0, 0]], "items with all four margins alone"
    assert earned.tolist() == [[0.5, 0.5, 0.5, 0.5], [0, 0, 0, 0]]
    margins = np.array([[math.log(0.6) - math.log(0.2), math.inf, -math.inf, 0.0]])
    np.testing.assert_allclose(soft_credit(margins)[0], [[0.75, 0, 0, 0.5]])


def test_a_judge_is_saturated_that_gives_the_same_answer_to_nearly_all_in_both_framings() -> None:
    same = [(0.95, 0.95), (0.05, 0.0), (None, 1.0)]
    # Of real judges the most deferential, DDS +72, and one answer a framing but another in each, DDS +200, are not.
    other = [(0.94, 1.0), (0.64, 1.0), (0.0, 1.0), (None, None)]
    assert [is_saturated(rates) for rates in (*same, *other)] == [True] * 3 + [False] * 4


condition_rates = st.lists(st.floats(0, 1), min_size=4, max_size=4).map(np.array)  # one a condition


def test_the_example_under_definition_1_gives_plus_30_and_bounds_are_reached_by_following_the_framing() -> None:
    acc = np.array([0.60, 0.80, 0.75, 0.65])
    assert dds_pp(acc) == pytest.approx(30)
    assert deltas_pp(acc) == pytest.approx([15, -15])
    assert dds_pp(np.array([[0.0, 1, 1, 0], [1, 0, 0, 1]])).tolist() == [200, -200]


@given(condition_rates)
def test_dds_is_the_total_rise_in_acceptance_and_changes_its_sign_when_framings_are_swapped(
    accept: NDArray[np.float64],
) -> None:
    acc = np.where([c.claim_is_true for c in CONDITIONS], accept, 1 - accept)
    rise = (accept * np.where([c.is_dialogue for c in CONDITIONS], 1, -1)).sum()
    assert dds_pp(acc) == pytest.approx(100 * rise, abs=1e-9)
    assert dds_pp(acc[[2, 3, 0, 1]]) == pytest.approx(-dds_pp(acc), abs=1e-9)

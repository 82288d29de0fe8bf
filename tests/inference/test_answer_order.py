"""Answers shown in the other order: verdicts still mean the same, and a liking for a place shows and cancels."""

import math

import pytest

from studies.dialdefer.measures import ACCEPT, ERROR, TIE, UNPARSED
from studies.dialdefer.panels import BOTH_ORDERS, both_orders
from studies.dialdefer.records import Condition
from studies.dialdefer.scores import records, untreated_c1
from tests.made.experiment_runs import run_with, says_one, use_few_items, with_variants
from tests.made.paper_figures import frame_of
from tests.made.scripted_engine import AnsweringEngine

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition
SWAPPED = {"answer_order": "no_first"}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    use_few_items(monkeypatch)


def accepting(prompt):
    """The number of the answer that accepts the claim."""
    return 2 if prompt.factors.answer_order == "no_first" else 1


def margin_of(prompt, lean):
    """A one-token reply whose margin towards accepting is `lean`."""
    sign = 1 if accepting(prompt) == 1 else -1
    return {"text": "1", "finish_reason": "stop", "answer_logprobs": {"1": sign * lean / 2, "2": -sign * lean / 2}}


def test_averaged_margins_cancel_a_liking_for_the_first_answer_that_hides_what_the_judge_knows(tmp_path, monkeypatch):
    def biased(prompt):
        knows = 1.0 if prompt.condition.claim_is_true else -1.0
        defers = 0.5 if prompt.condition.is_dialogue else 0.0
        likes_first = 5.0 if accepting(prompt) == 1 else -5.0
        return margin_of(prompt, knows + defers + likes_first)

    config = with_variants(SWAPPED, verdict="margin", run={"root": tmp_path})
    frame = frame_of("owner/model", run_with(AnsweringEngine(biased), config, monkeypatch).panels)
    rows = {row.variant: row for row in records(frame[frame.dataset == "truthfulqa"])}
    assert rows[""].saturated
    assert rows["no_first"].saturated
    both = rows[BOTH_ORDERS]
    assert (both.acc_c1_true, both.acc_c1_false, both.acc_c2_correct, both.acc_c2_incorrect) == (100, 100, 100, 100)
    assert (both.saturated, both.n_ties, both.n_samples) == (False, 0, 1)

    def probability(margin):
        return 1 / (1 + math.exp(-margin))

    expected = 100 * (probability(1.5) - probability(1.0) + probability(-0.5) - probability(-1.0))
    assert both.soft_dds_pp == pytest.approx(expected)


def test_a_reply_that_is_missing_in_one_order_leaves_none_in_both(tmp_path, monkeypatch):
    config = with_variants(SWAPPED, verdict="margin", run={"root": tmp_path})
    usual, swapped, both = run_with(AnsweringEngine(lambda p: margin_of(p, 1.0)), config, monkeypatch).panels
    assert both.factors.answer_order == BOTH_ORDERS
    for row, (code, margin) in enumerate([(ERROR, math.nan), (UNPARSED, math.nan), (TIE, 0.0)]):
        swapped.replies[row, 0, 0], swapped.margins[row, 0, 0] = code, margin
    both = both_orders(usual, swapped)
    assert both.replies[:, 0, 0].tolist() == [ERROR, UNPARSED, ACCEPT], "a tie weighs nothing against a margin"
    assert both.margins[2, 0, 0] == 0.5
    usual.replies[0, 1, 0], usual.margins[0, 1, 0] = TIE, 0.0
    swapped.replies[0, 1, 0], swapped.margins[0, 1, 0] = UNPARSED, math.nan
    assert both_orders(usual, swapped).replies[0, 1, 0] == UNPARSED


@pytest.mark.parametrize("dataset", ["truthfulqa", "aio-context"])
def test_a_treated_arm_is_held_against_the_statements_of_the_same_wording(dataset, tmp_path, monkeypatch):
    labels = {"speakers": ["User", "LLM"]}
    variants = (labels, SWAPPED, {"arm": "dehumanizing"}, {"arm": "honest", **labels}, {"arm": "honest", **SWAPPED})
    config = with_variants(*variants, datasets=(dataset,), run={"root": tmp_path})
    run = run_with(AnsweringEngine(says_one), config, monkeypatch)
    main, labelled, swapped, agents, honest_labelled, honest_swapped = run.panels[:6]
    assert untreated_c1(agents, run.panels) is main, "the arm renames the speakers, nobody else may"
    assert untreated_c1(honest_labelled, run.panels) is labelled
    assert untreated_c1(honest_swapped, run.panels) is swapped

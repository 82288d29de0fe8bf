"""The share of prompts whose verdict differs: over samples, re-runs and conditions."""

import pytest

from eval.estimates.resampling import wilson_interval
from eval.reproduction.compared import differing_rates, logprob_shifts
from evenhand.records import Completion

CONDITIONS = {"c1": {"a", "b"}, "c2": {"c", "d"}}


def test_a_prompt_counts_once_and_an_unread_verdict_is_left_out() -> None:
    first = {("a", 0): "1", ("b", 0): "1", ("c", 0): None, ("d", 0): "2"}
    again = {("a", 0): "1", ("b", 0): "2", ("c", 0): "1", ("d", 0): "2"}
    every, c1, c2 = differing_rates(first, [again], CONDITIONS)
    assert [every[name] for name in ("condition", "n_prompts", "n_left_out", "n_differing")] == ["all", 3, 1, 1]
    assert (every["low"], every["high"]) == pytest.approx(wilson_interval(1, 3))
    assert (c1["condition"], c1["rate"], c2["rate"], c2["n_left_out"]) == ("c1", 0.5, 0.0, 1)


def test_of_several_samples_and_reruns_a_prompt_counts_by_the_share_that_differs() -> None:
    first = {("a", 0): "1", ("a", 1): "2"}
    reruns = [{("a", 0): "1", ("a", 1): "1"}, {("a", 0): "1", ("a", 1): "2"}]
    (every,) = differing_rates(first, reruns, {"c1": {"a"}})
    assert (every["n_prompts"], every["rate"]) == (1, 0.25)


def test_a_prompt_that_no_rerun_asked_is_in_no_row() -> None:
    every, _, c2 = differing_rates({("a", 0): "1", ("c", 0): "1"}, [{("a", 0): "1"}], CONDITIONS)
    assert (every["n_prompts"], every["n_left_out"]) == (1, 0)
    assert (c2["n_prompts"], c2["rate"], c2["low"]) == (0, None, None)


def test_a_shift_is_of_one_answer_of_one_prompt() -> None:
    before, after = (
        {"a": [Completion(prompt_hash="a", sample_index=0, text="1", finish_reason="stop", answer_logprobs=read)]}
        for read in ({"1": -0.5, "2": -1.0}, {"1": -0.75, "2": -1.0})
    )
    assert sorted(logprob_shifts(before, after)) == pytest.approx([0.0, 0.25])
    assert not list(logprob_shifts(before, {}))

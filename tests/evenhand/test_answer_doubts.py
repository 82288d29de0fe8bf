"""What a run says of its own answers: two models behind one server, answers that a judge hardly ever gives."""

import math
from typing import Any

from evenhand.completions import answer_doubts
from evenhand.records import Completion

TWO = "answered by 2 models or versions of a server"


def completions(*fields):
    """A completion of a prompt each."""
    common = {"sample_index": 0, "text": "1", "finish_reason": "stop"}
    return [Completion(prompt_hash=f"{i:016x}", **{**common, **one}) for i, one in enumerate(fields)]


def test_one_model_or_an_engine_that_names_none_is_no_reason_to_doubt_and_a_name_beside_none_is():
    one, none = {"answered_by": "a fp1"}, dict[str, Any]()
    later = {"sample_index": 1}  # who answered stands with sample 0
    for undoubted in ([one, one, later], [none, none]):
        assert answer_doubts(completions(*undoubted), "reason") == []
    (sentence,) = answer_doubts(completions(one, none), "reason")
    assert f"{TWO}: a" in sentence


def margin(*logprobs):
    return answer_doubts(completions(*({"answer_logprobs": of_prompt} for of_prompt in logprobs)), "margin")


def test_answers_that_are_hardly_ever_given_are_said_with_median_and_mean():
    rare, sure = {"1": math.log(0.01), "2": math.log(0.02)}, {"1": math.log(0.9), "2": math.log(0.03)}
    assert "median probability of 0.03 (mean 0.33)" in margin(rare, rare, sure)[0]
    assert margin(rare, sure, sure) == []

"""A reply to a framed prompt names one symbol, several in a tie, or none."""

from typing import Any

from studies.framing.replies import CHOSEN, ERROR, TIE, UNPARSED, Choice, choice_in
from tests.made.completions import completion


def test_texts_are_read_and_log_probabilities_are_compared():
    def said(text: str, **more: Any) -> Choice:
        return choice_in(completion(text, **more), ("A", "B", "C"))

    assert said("I prefer B.") == ((1,), CHOSEN, "prose")
    assert said("A or B") == ((), UNPARSED, "none")
    assert said("A", answer_logprobs={"A": -1.0, "B": -0.5, "C": -9.0}) == ((1,), CHOSEN, "")
    assert said("A", answer_logprobs={"A": -9.0, "B": -0.5, "C": -0.5}) == ((1, 2), TIE, "")
    assert said("A", answer_logprobs={"A": -9.0, "B": -0.5}) == ((), UNPARSED, "")
    assert said("", finish_reason="error: 500") == ((), ERROR, "")

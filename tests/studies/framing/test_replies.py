"""A reply to a framed prompt names one symbol, several in a tie, or none."""

from typing import Any

import pytest

from evenhand.records import Completion
from studies.framing.replies import CHOSEN, ERROR, TIE, UNPARSED, choice_in

SCALE = tuple(map(str, range(1, 11)))
TEXTS = ("Yes, it is correct.", "No, it is not.")


@pytest.mark.parametrize(
    ("text", "symbols", "place"),
    [
        ("1", ("1", "2"), 0),
        (" **2**\n\nsince it is wrong", ("1", "2"), 1),
        ("<think>1 or 2?</think>2", ("1", "2"), 1),
        ("I looked at 1 and 2.\nAnswer: 1", ("1", "2"), 0),
        ("1, since 3 is odd", ("1", "2"), 0),
        ("2. No, it is not.", ("1", "2"), 1),
        ("Yes, it is correct.", ("1", "2"), 0),
        ("1. First, I check the claim.", ("1", "2"), None),
        ("1 is wrong, I would say", ("1", "2"), None),
        ("1 or 2", ("1", "2"), None),
        ("10", ("1", "2"), None),
        ("1.5", ("1", "2"), None),
        ("10", SCALE, 9),
        ("Score: 7/10", SCALE, 6),
        ("8 out of 10, it is clear", SCALE, 7),
        ("7/9", SCALE, None),
        ("yes, it is.", ("Yes", "No"), 0),
        ("Nothing to say", ("Yes", "No"), None),
        ("A", ("A", "B"), 0),
        ("A careful look shows that the second is better", ("A", "B"), None),
        ("", ("1", "2"), None),
    ],
)
def test_a_free_reply_names_one_symbol_or_none(text, symbols, place):
    reply = Completion(prompt_hash="x", sample_index=0, text=text, finish_reason="stop")
    chosen = choice_in(reply, symbols, "answer", TEXTS if symbols == ("1", "2") else symbols)
    assert (chosen.place, chosen.state) == (place, UNPARSED if place is None else CHOSEN)


def test_a_reasoned_reply_is_its_last_object_and_log_probabilities_are_compared():
    def said(text: str, verdict: str, **more: Any) -> tuple[tuple[int, ...], str]:
        reply = Completion(prompt_hash="x", sample_index=0, text=text, **{"finish_reason": "stop", **more})
        return choice_in(reply, ("A", "B", "C"), verdict)

    draft = 'First {"chosen_answer": "A"}, no: {"reasoning": "{2}", "chosen_answer": "B"}'
    assert said(draft, "reason") == ((1,), CHOSEN)
    assert said("B", "reason") == ((), UNPARSED)
    assert said("A", "options", answer_logprobs={"A": -1.0, "B": -0.5, "C": -9.0}) == ((1,), CHOSEN)
    assert said("A", "options", answer_logprobs={"A": -9.0, "B": -0.5, "C": -0.5}) == ((1, 2), TIE)
    assert said("", "options", finish_reason="error: 500") == ((), ERROR)

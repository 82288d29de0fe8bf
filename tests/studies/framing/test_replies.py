"""A reply to a framed prompt names one symbol, several in a tie, or none."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from studies.framing.replies import CHOSEN, ERROR, TIE, UNPARSED, choice_in
from tests.made.completions import completion

REPLIES = yaml.safe_load(Path(__file__).with_name("free_replies.yaml").read_text(encoding="utf-8"))
TEXTS = ("Yes, it is correct.", "No, it is not.")


@pytest.mark.parametrize(
    ("text", "symbols", "place"),
    REPLIES,
)
def test_a_free_reply_names_one_symbol_or_none(text, symbols, place):
    chosen = choice_in(completion(text), symbols, TEXTS if symbols == ["1", "2"] else symbols)
    assert (chosen.place, chosen.state) == (place, UNPARSED if place is None else CHOSEN)


def test_a_reasoned_reply_is_its_last_object_and_log_probabilities_are_compared():
    def said(text: str, verdict: str, **more: Any) -> tuple[tuple[int, ...], str]:
        return choice_in(completion(text, **more), ("A", "B", "C"), verdict)

    draft = 'First {"chosen_answer": "A"}, no: {"reasoning": "{2}", "chosen_answer": "B"}'
    assert said(draft, "reason") == ((1,), CHOSEN)
    assert said("B", "reason") == ((), UNPARSED)
    assert said("A", "options", answer_logprobs={"A": -1.0, "B": -0.5, "C": -9.0}) == ((1,), CHOSEN)
    assert said("A", "options", answer_logprobs={"A": -9.0, "B": -0.5, "C": -0.5}) == ((1, 2), TIE)
    assert said("", "options", finish_reason="error: 500") == ((), ERROR)

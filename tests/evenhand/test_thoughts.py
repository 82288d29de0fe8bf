"""Thoughts stand apart from replies."""

import pytest

from evenhand.records import Completion
from evenhand.thoughts import thought_apart


@pytest.mark.parametrize(
    ("written", "thought", "text"),
    [
        ("<think>a\n</think>\n\nNo. <b>", "<think>a\n</think>\n\n", "No. <b>"),
        ("which the prompt opened</think> 2", "which the prompt opened</think> ", "2"),
        ("analysisIt is.assistantfinalYes", "analysisIt is.assistantfinal", "Yes"),
        ("<think>without an end", None, "<think>without an end"),
        ("Yes. <think>late</think>", None, "Yes. <think>late</think>"),
        (" 1 ", None, " 1 "),
    ],
)
def test_what_stands_before_a_reply_is_kept_to_the_letter_and_is_no_part_of_it(written, thought, text):
    reply = Completion(prompt_hash="", sample_index=0, text=written, finish_reason="stop")
    found = thought_apart(reply)
    assert (found.thought, found.text) == (thought, text)

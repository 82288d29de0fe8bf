"""Thoughts stand apart from replies."""

from dataclasses import replace

import pytest

from evenhand.records import Completion
from evenhand.thoughts import is_tagged, thought_apart


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
    kept = thought_apart(replace(reply, thought="A server's."))
    assert (kept.thought, kept.text) == ("A server's." + f"\n{thought}" * bool(thought), text)


@pytest.mark.parametrize(
    ("thought", "is_whole"),
    [
        ("<think>a\n</think>\n\n", True),
        ("which the prompt opened</think> ", True),
        ("Let me think. It is true.", False),
        ("A server's.\n<think>a</think>", False),
        ("analysisIt is.assistantfinal", False),
        ("<think>without an end", False),
    ],
)
def test_a_thought_is_as_its_judge_writes_it_where_nothing_stands_outside_its_tags(thought, is_whole):
    assert is_tagged(thought) is is_whole

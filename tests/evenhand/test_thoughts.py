"""Thoughts stand apart from replies."""

from dataclasses import replace

import pytest

from evenhand.records import Completion
from evenhand.thoughts import is_tagged, thought_apart
from tests.made.places import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("written", "thought", "text"), CASES["apart"])
def test_what_stands_before_a_reply_is_kept_to_the_letter_and_is_no_part_of_it(written, thought, text):
    reply = Completion(prompt_hash="", sample_index=0, text=written, finish_reason="stop")
    found = thought_apart(reply)
    assert (found.thought, found.text) == (thought, text)
    kept = thought_apart(replace(reply, thought="A server's."))
    assert (kept.thought, kept.text) == ("A server's." + f"\n{thought}" * bool(thought), text)
    assert (reply.whole, replace(reply, thought="Hm.\n\n").whole) == (written, f"Hm.\n{written}")


@pytest.mark.parametrize(("thought", "is_whole"), CASES["tagged"])
def test_a_thought_is_as_its_judge_writes_it_where_nothing_stands_outside_its_tags(thought, is_whole):
    assert is_tagged(thought) is is_whole

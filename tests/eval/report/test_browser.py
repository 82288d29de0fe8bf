"""The browser of items: prompts come back to the letter."""

import re

import pytest

from eval.report.browser import slotted


@pytest.mark.parametrize("slots", [["q 0 q", "0", "1"], ["a", "aa", ""], ["same", "same", "x"], []])
def test_a_prompt_comes_back_from_its_template(slots: list[str]) -> None:
    prompt = "<user>0 q 0 q? aa 1 same\x02"
    back = re.sub("\x01(\\d)\x01", lambda found: slots[int(found[1])], slotted(prompt, slots))
    assert back == prompt

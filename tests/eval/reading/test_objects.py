"""What a reply in JSON says for a key; DialDefer's table of replies (reply_kinds.yaml) holds the rest."""

import pytest

from eval.reading.objects import last_value
from tests.made.places import cases

REPLIES = cases(__file__)


@pytest.mark.parametrize(("text", "value"), REPLIES)
def test_the_last_whole_object_with_a_key_says_its_value_if_nothing_behind_says_another(text, value):
    assert last_value(text, "verdict") == value

"""What a reply in JSON says for a key; DialDefer's table of replies (reply_kinds.yaml) holds the rest."""

import pytest

from eval.reading.objects import last_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"verdict": "NTA"}, no: {"verdict": "YTA", "sure": {"verdict": "YTA"}}.', "YTA"),
        ('{"reason": "\\sqrt{2}\n", "verdict": "Speaker 1 is right"}', "Speaker 1 is right"),
        ('{"verdict": -7}', "-7"),
        ('{"verdict": 3} {"verdict": 4,', None),
        ('{"verdict": 3, "verdict": 4}', None),
        ('{"verdict": 3.5}', None),
    ],
)
def test_the_last_whole_object_with_a_key_says_its_value_if_nothing_behind_says_another(text, value):
    assert last_value(text, "verdict") == value

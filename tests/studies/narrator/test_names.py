"""What speakers are called: distinct, one line each, nobody as the narrator is, else as they call themselves."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.narrator.names import RENAMED, UNNAMED, bare, shown_names
from tests.made.places import cases

# Names that meet each other's rules: numbers, labels, blanks, marks, and anything else.
ODD = st.sampled_from(
    ["Anna", "Anna (2)", "Anna (3)", "Me", "me:", RENAMED, f"{RENAMED} (2)", UNNAMED, "", "\u200f", "\u3164"]
)
SEEN = ("Mc", "Co", "Cn")  # beside letters, numbers and signs
NAMES = st.lists(ODD | st.text(max_size=6), max_size=9)


def shown(*raw):
    """The names shown for raw names in the order of first turns."""
    return list(shown_names({str(place): name for place, name in enumerate(raw)}).values())


@given(NAMES)
def test_names_are_distinct_lines_that_can_be_seen_and_none_is_the_narrators(raw):
    names = shown(*raw)
    assert len(set(names)) == len(raw)
    for name in names:
        assert name == name.strip() == unicodedata.normalize("NFC", name)
        assert len(name.splitlines()) == 1
        assert any(unicodedata.category(sign)[0] in "LNPS" or unicodedata.category(sign) in SEEN for sign in name)
        assert bare(name) != bare("Me")
    assert shown(*names) == names  # naming the named changes nothing


@pytest.mark.parametrize(("raw", "expected"), cases(__file__)["numbered"])
def test_equal_names_are_numbered_around_everybodys_own_name(raw, expected):
    assert shown(*raw) == expected


@pytest.mark.parametrize(("raw", "expected"), cases(__file__)["shown"])
def test_nobody_is_me_or_unseen_no_line_breaks_or_turns_and_other_names_stay(raw, expected):
    assert shown(raw, "Ben") == [expected, "Ben"]

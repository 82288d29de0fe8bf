"""Neutral contexts: what rules put right, what they hold back, and that no first person gets through."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.dialdefer.aio.neutral_text import cleaned, neutral, remaining

NARRATION = (
    "Speaker A said that the trip dinner was late, and he left. she cried again because of it! why now? USA miner "
    "family hiking 2 pm “ok” mission"
)
WHO = st.sampled_from(
    ["I", "i", "me", "Me", "my", "My", "mine", "myself", "MY", "I'm", "I’ve", "I'd", "I'll", "im", "Ive"]
)
PLURAL = st.sampled_from(["we", "We", "us", "our", "ours", "ourselves", "we're", "let's"])
PLAIN = st.sampled_from(NARRATION.split(" "))
ASIDE = st.sampled_from(['"I hate my job"', "“we are done with me”", '"my bad"'])
AIO = st.sampled_from(["AIO", "AIO?", "aio", "r/AIO", "Am I overreacting?", "AIO:", "r/AmIOverreacting"])
texts = st.lists(WHO | PLAIN | ASIDE | AIO, min_size=1, max_size=40).map(" ".join)
FIRST = re.compile(r"\b(?:I|i|me|my|mine|myself|we|us|our|ours|ourselves|im|ive)\b(?!\.)", re.IGNORECASE)


def unquoted(text: str) -> str:
    return re.sub(r'"[^"\n]*"|“[^”\n]*”', "", text)


@given(texts)
def test_no_first_person_and_no_aio_gets_through(text):
    found = neutral(text)
    if not found.held:
        assert not FIRST.search(unquoted(found.text).replace("US", ""))
        assert not re.search(r"\baio\b|overreacting\?", found.text, re.IGNORECASE)
        assert found.text


@given(texts, PLURAL, texts)
def test_a_plural_holds_a_text_back_since_no_rule_knows_who_it_is(before, plural, after):
    if plural in unquoted(cleaned(f"{before} {plural} {after}")).split():
        assert plural in neutral(f"{before} {plural} {after}").held


@given(texts)
def test_cleaning_twice_changes_nothing_more(text):
    once = cleaned(text)
    assert cleaned(once) == once


@given(st.lists(PLAIN | ASIDE, min_size=1, max_size=30).map(" ".join))
def test_a_neutral_text_stays_as_it_is_but_for_its_blanks(text):
    assert neutral(f"Then {text}") == (f"Then {text}", ())


@given(st.lists(PLAIN, min_size=1, max_size=10), st.lists(WHO, min_size=1, max_size=5))
def test_every_other_word_is_kept(plain, who):
    words = [word for pair in zip(plain, [*who, *[""] * len(plain)], strict=False) for word in pair if word]
    left = cleaned(" ".join(words)).split()
    assert [word for word in plain if word not in left] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm tired and I've told my boyfriend.", "Speaker B is tired and Speaker B has told Speaker B's boyfriend."),
        ("I don't think he listens to me.", "Speaker B doesn't think he listens to Speaker B."),
        ("What am I to do? Do I leave?", "What is Speaker B to do? Does Speaker B leave?"),
        ("im done and i'll go", "Speaker B is done and Speaker B will go"),
        ('He said "I hate my job" to me.', 'He said "I hate my job" to Speaker B.'),
        ("Speaker B left. Am I overreacting?", "Speaker B left."),
        ("Speaker B left. Is Speaker B overreacting here?? Tell me if I'm wrong.", "Speaker B left."),
        ("AIO for leaving Speaker A", "for leaving Speaker A"),
        ("Third-person version: Speaker B left.", "Speaker B left."),
        ("Here is the rewritten text:\n\nSpeaker B left.", "Speaker B left."),
        ('"Speaker B left with my dog."', "Speaker B left with Speaker B's dog."),
        ("Speaker A said that Speaker B is overreacting.", "Speaker A said that Speaker B is overreacting."),
        ("A trip to the US after World War I, i.e. a mission", "A trip to the US after World War I, i.e. a mission"),
    ],
)
def test_what_the_rules_do(text, expected):
    assert neutral(text) == (expected, ())


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("We had plans.", ("We",)),
        ("Speaker A told us about our trip.", ("us", "our")),
        ("", ("empty",)),
        ("AIO?", ("empty",)),
        ('He wrote "' + "I am sorry and we should talk " * 20 + '"', ("we",)),
    ],
)
def test_what_holds_a_text_back(text, held):
    assert neutral(text).held == held


def test_the_check_sees_each_word_of_the_prompts_rules():
    for word in ("I", "me", "my", "mine", "myself", "AIO"):
        assert remaining(f"and {word} too")

"""Redaction over a table of planted personal information: recall by kind as it is, and no harm to other texts."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from studies.dialdefer.aio.pii import MARK, redact

HERE = Path(__file__).parent
PLANTED = yaml.safe_load((HERE / "personal.yaml").read_text(encoding="utf-8"))
HARMLESS = yaml.safe_load((HERE / "harmless.yaml").read_text(encoding="utf-8"))
MISSED = {  # what the library does not see; docs/aio.md says so
    "handle": ["xX_slayer_Xx", "marigold", "lunarmoth"],
    "name": ["Aoife", "Siobhan", "Nguyen", "Kowalczyk", "Bjorn", "Tunde"],
    "telephone": ["five one two five five five 0147"],
    "address": ["Pinewood"],
    "e-mail": ["jo at example dot com"],
    "number": [],
    "link": [],
}


def plain(text: str) -> tuple[str, str]:
    """(the text without the outer brackets, what stood in them)."""
    found = re.search(r"\[(.*)\]", text)
    assert found
    return text.replace(found[0], found[1]), found[1]


def is_hidden(text: str, planted: str) -> bool:
    """Whether no word of what was planted is left; words of up to two letters tell nobody apart."""
    left = redact(text).text.replace(MARK, " ")
    words = [word for word in re.split(r"[^\w]+", planted) if len(word) > 2 and word.lower() not in STAY]
    return not any(re.search(rf"\b{re.escape(word)}\b", left) for word in words)


STAY = {"mrs", "the", "snap", "insta", "dot", "com", "iban"}  # kept beside the mark


def test_recall_by_kind_is_what_the_docs_say(capsys):
    pairs = {kind: [plain(text) for text in texts] for kind, texts in PLANTED.items()}
    missed = {kind: [found for text, found in of_kind if not is_hidden(text, found)] for kind, of_kind in pairs.items()}
    with capsys.disabled():
        for kind, texts in PLANTED.items():
            n_found = len(texts) - len(missed[kind])
            print(f"\nPII recall: {kind:<10}{n_found}/{len(texts)} missed: {', '.join(missed[kind]) or 'none'}", end="")
    assert sum(map(len, PLANTED.values())) >= 100
    assert missed == MISSED


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_stay_as_they_are(text):
    assert redact(text) == (text, {})


def test_the_authors_of_a_thread_are_masked_wherever_they_are_named():
    text, counts = redact("Made_Up_Poster said it, @made_up_poster! made_up_posters", ["made_up_poster", ""])
    assert text == f"{MARK} said it, {MARK}! made_up_posters"
    assert counts == {"handle": 2}


def test_marks_of_a_model_are_spelled_alike():
    assert redact("[redacted] and [ Redacted ]").text == f"{MARK} and {MARK}"


@given(st.lists(st.sampled_from([plain(text)[0] for texts in PLANTED.values() for text in texts]), max_size=6))
def test_redacting_twice_changes_nothing_more(parts):
    once = redact(", ".join(parts)).text
    assert redact(once).text == once


@given(st.text())
def test_any_text_can_be_redacted(text):
    assert isinstance(redact(text).text, str)

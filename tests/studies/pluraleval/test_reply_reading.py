"""What judges say of pairs, stances and assignments: as a careful reader would find, or nothing."""

from pathlib import Path

import pytest
import yaml

from studies.pluraleval.reply_reading import choice_in, cluster_in, stance_in
from tests.made.completions import completion

READERS = {"pairs": choice_in, "stances": stance_in, "assignments": lambda reply: cluster_in(reply, 5)}
ROWS = yaml.safe_load(Path(__file__).with_name("judgements.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("kind", "text", "value"), [(kind, *row) for kind, rows in ROWS.items() for row in rows])
def test_a_judgement_in_words_is_read_as_a_careful_reader_reads_it(kind, text, value):
    read = READERS[kind](completion(text)).value
    assert (None if read == "" else read) == value


PIECES = ("2 > 1 ", "opinion 1 is the one ", "most people would ", "Opinion 1: 4", "not as popular as ", "neither ")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", PIECES)
def test_a_long_judgement_of_a_looping_model_is_read_in_seconds(piece):
    reply = completion(piece * (200_000 // len(piece)), finish_reason="length")
    for read in READERS.values():
        assert read(reply).value in (None, "")

"""The table of replies read by hand: its form, and how well the reader agrees with it."""

from collections import Counter

from studies.narrator.prompts import ME
from studies.narrator.records import TASKS
from tests.made.narrator_reply_table import read_by_hand

STATES = {"ambiguous", "negated_only", "continues_transcript", "refusal", "off_list", "cut_off", "empty"}
ROWS = read_by_hand()


def test_the_table_has_every_task_and_state_and_speakers_called_me():
    assert len(ROWS) >= 400
    assert {row.task for row in ROWS} == set(TASKS)
    assert {row.reading.strip("<>") for row in ROWS if row.reading not in row.options} == STATES
    assert {ME in row.options for row in ROWS} == {True, False}
    assert sum(row.reading == ME for row in ROWS) >= 50


def test_a_reading_is_an_option_or_a_state_and_no_reply_stands_there_twice():
    for row in ROWS:
        assert len(set(row.options)) == len(row.options) > 1
        assert (row.reading in row.options) != (row.reading.strip("<>") in STATES), row
    twice = Counter((row.options, row.reply, row.is_cut) for row in ROWS)
    assert [key for key, n in twice.items() if n > 1] == []

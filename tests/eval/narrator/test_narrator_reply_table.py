"""The table of replies read by hand: its form, and how well the reader agrees with it."""

from collections import Counter

from eval.narrator.answers import STATES as ALL_STATES
from eval.narrator.answers import read_answer
from studies.narrator.prompts import ME
from studies.narrator.records import TASKS
from tests.made.narrator_reply_table import ReadReply, hard_replies, read_by_hand

STATES = set(ALL_STATES) - {"chosen", "error"}
AGREEMENT = 0.97
ROWS = read_by_hand()


def read(row: ReadReply) -> str:
    """What the reader says, as the table writes it."""
    answer = read_answer(row.reply, row.options, row.finish_reason)
    return answer.option or f"<{answer.state}>"


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


def test_the_reader_names_nobody_whom_a_human_does_not_name():
    read_rows = [(row, read(row)) for row in ROWS]
    assert [(row, says) for row, says in read_rows if says in row.options and says != row.reading] == []


def test_the_reader_agrees_with_a_human():
    agreeing = [row for row in ROWS if read(row) == row.reading]
    assert len(agreeing) >= AGREEMENT * len(ROWS)


def test_no_name_that_stands_elsewhere_is_taken_for_an_answer():
    rows = hard_replies()
    assert len(rows) > 500
    read_rows = [(reply, names, read_answer(reply, options).option) for options, reply, names in rows]
    assert [(reply, option) for reply, names, option in read_rows if option is not None and option not in names] == []

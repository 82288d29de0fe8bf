"""The CSV file as it is written for people, and as it is read back."""

import csv
import io
from dataclasses import replace

import pytest

from evenhand.errors import DataError
from studies.annotation.labels import LONGEST_CELL, read_labels, sheet
from studies.annotation.tasks import Item
from tests.made.hostile_texts import HOSTILE
from tests.made.made_annotation import item, label_file, task, whole

MADE = task([item(n, "yes" if n % 2 else "no") for n in range(12)])
FORMULAS = ('=HYPERLINK("http://evil")', "+1-cmd|'/C calc'!A0", "@SUM(1)", "\t=1", "a" * 100_000)


def test_texts_of_strangers_are_no_formulas_and_come_back_as_they_are():
    texts = (*HOSTILE, *FORMULAS)
    made = task([Item(unit=text, texts=(("Text", text),), judge="yes") for text in texts])
    rows = list(csv.DictReader(io.StringIO(sheet(made, whole(made)))))
    cells = {row["item"]: row["Text"] for row in rows}
    for question in made.items:
        ((_, text),) = question.texts
        is_formula = text.startswith(("=", "+", "@", "\t"))
        assert cells[question.item_id] == ("'" if is_formula else "") + text[:LONGEST_CELL]


def test_the_judges_answer_is_not_in_the_file():
    flipped = replace(MADE, items=[replace(item, judge={"yes": "no", "no": "yes"}[item.judge]) for item in MADE.items])
    blind, other = (sheet(made, made.items) for made in (MADE, flipped))
    assert blind == other
    assert "yes" not in blind


def test_labels_belong_to_the_items_that_were_drawn(tmp_path):
    labels = read_labels([label_file(tmp_path / "anna.csv", MADE, lambda item: item.judge)], {"made": MADE})
    assert labels == {("made", "anna"): {item.item_id: item.judge for item in whole(MADE)}}


def test_people_are_told_apart_by_name_or_file_and_empty_rows_are_no_labels(tmp_path):
    files = [
        label_file(tmp_path / "0.csv", MADE, lambda item: " yes ", annotator="Anna"),
        label_file(tmp_path / "1.csv", MADE, lambda item: "yes" if item.unit == "unit 3" else ""),
        label_file(tmp_path / "2.csv", MADE, lambda item: "", annotator="nobody"),
    ]
    people = read_labels(files, {"made": MADE})
    assert {person: len(answers) for (_, person), answers in people.items()} == {"Anna": 12, "1": 1}


def test_a_copy_is_no_second_person(tmp_path):
    first = label_file(tmp_path / "first.csv", MADE, lambda item: "yes", annotator="Anna")
    (tmp_path / "copy.csv").write_bytes(first.read_bytes())
    with pytest.raises(DataError, match=r"copy\.csv: is a copy of .*first\.csv"):
        read_labels([first, tmp_path / "copy.csv"], {"made": MADE})
    again = label_file(tmp_path / "again.csv", MADE, lambda item: "no", annotator="Anna")
    with pytest.raises(DataError, match=r"again\.csv:2: Anna has labelled this item before"):
        read_labels([first, again], {"made": MADE})


def test_labels_of_another_run_are_refused(tmp_path):
    other = task([item(n + 1, "yes") for n in range(12)])
    with pytest.raises(DataError, match=r"a\.csv:\d+: is of no item of this run"):
        read_labels([label_file(tmp_path / "a.csv", MADE, lambda item: "yes")], {"made": other})

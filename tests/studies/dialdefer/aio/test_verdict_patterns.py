"""Table 11's patterns as printed, over invented comments with their traps, and what is marked for people."""

from pathlib import Path

import pytest
import yaml

from studies.dialdefer.aio.verdict_patterns import pattern_label

COMMENTS = yaml.safe_load(Path(__file__).with_name("comments.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", COMMENTS, ids=lambda row: row["text"][:40])
def test_a_comment_gets_the_printed_label_and_its_doubts(row):
    found = pattern_label(row["text"])
    assert (found.label if found else None) == row.get("label")
    assert set(found.doubts if found else ()) == set(row.get("doubts", ()))


def test_there_are_enough_comments_of_every_kind():
    labels = [row.get("label") for row in COMMENTS]
    assert len(COMMENTS) >= 60
    assert min(labels.count("NOR"), labels.count("OR"), labels.count(None)) >= 15
    assert sum("trap" in row for row in COMMENTS) >= 20


def test_table_11s_own_examples():
    printed = {
        "NOR. You have every right...": "NOR",
        "OR, this is ridiculous": "OR",
        "You’re not overreacting": "NOR",
        "You’re definitely overreacting": "OR",
    }
    assert {text: pattern_label(text).label for text in printed} == printed

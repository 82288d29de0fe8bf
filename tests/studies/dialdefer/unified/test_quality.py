"""What the quality report finds and what it leaves alone, on made items and on the publishers' data."""

import json
from typing import Any

import pytest

from studies.dialdefer.published_items import FILES, published_items
from studies.dialdefer.records import Item
from studies.dialdefer.unified import bbq, harp
from studies.dialdefer.unified.quality import examine, quality_record, quality_text
from studies.dialdefer.unified.self_reference import (
    answer_names_verdict,
)
from studies.dialdefer.unified.token_lengths import Ruler
from tests.made.places import SHARED

DATA = SHARED / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"the data is not at {DATA}")


def item(
    item_id: str = "a", question: str = "What is it?", right: str = "a cat", wrong: str = "a dog", **more: Any
) -> Item:
    facts = {"benchmark": "dialdefer", "dataset": "made", **more}
    return Item(item_id=item_id, question=question, correct_answer=right, incorrect_answer=wrong, **facts)


def ids(name: str, *items: Item) -> list[str]:
    return examine(items).findings[name].ids


def test_a_sound_dataset_has_no_finding() -> None:
    found = examine([item("a", "What purrs?"), item("b", "What purrs louder?", "a lion")])
    assert found.n_items == 2
    assert {name: finding.ids for name, finding in found.findings.items() if finding.ids} == {}


def test_a_question_repeated_but_for_case_and_space_is_found_with_the_item_that_it_repeats() -> None:
    items = [item("a"), item("b", " what IS\tit? "), item("c", wrong="a cow"), item("d", "What was it?")]
    found = examine(items).findings
    assert dict(zip(found["repeated_question"].ids, found["repeated_question"].same_as, strict=True)) == {
        "b": "a",
        "c": "a",
    }
    assert (found["repeated_item"].ids, found["repeated_item"].same_as) == (["b"], ["a"])


def test_two_items_that_swap_right_and_wrong_contradict_each_other() -> None:
    items = [item("a"), item("b", right="a dog", wrong="a cow"), item("c", right="a fox", wrong="a cat"), item("d")]
    found = examine(items).findings["contradiction"]
    assert (found.ids, found.same_as) == (["b", "c", "d"], ["a", "a", "c"])


def test_equal_answers_are_found_and_answers_that_differ_in_a_word_are_not() -> None:
    items = [item("a", wrong="a  cat"), item("b", "B?", right="one cat", wrong="one cat less")]
    assert ids("equal_answers", *items) == ["a"]
    assert ids("alike_answers", *items) == []


def test_the_correct_answer_is_looked_for_among_all_wrong_ones() -> None:
    meta = {"incorrect_answers": ["a dog", "a cat "]}
    assert ids("correct_among_wrong", item("a", meta=meta), item("b", meta={"incorrect_answers": ["a dog"]})) == ["a"]


@pytest.mark.parametrize(
    ("right", "wrong"), [("A cat.", "a cat"), ("well-known", "Well known"), ('"Emma"', "Emma"), ("Aa", "aa")]
)
def test_answers_alike_but_for_case_and_sentence_marks_are_found(right: str, wrong: str) -> None:
    assert ids("alike_answers", item(right=right, wrong=wrong)) == ["a"]
    assert ids("equal_answers", item(right=right, wrong=wrong)) == []


def test_empty_texts_and_outer_space_are_found() -> None:
    items = [item("a", ""), item("b", "B?", right=" "), item("c", "C?", wrong=""), item("d", "D?", wrong="a dog ")]
    assert ids("empty_question", *items) == ["a"]
    assert ids("empty_answer", *items) == ["b", "c"]
    assert ids("outer_space", *items) == ["b", "d"]


@pytest.mark.parametrize(
    "answer",
    ["Paris (correct)", "[Wrong answer] Paris", "Correct: Paris", "Answer: B", "The right answer is Paris", "Paris ✓",
     "This answer is wrong", "This is the best answer, I say", "It's wrong.", "Paris is the answer.", "Paris (false)",
     "$\\text{This option is not correct}$"],
)  # fmt: skip
def test_an_answer_that_names_its_verdict_is_a_leak(answer: str) -> None:
    assert answer_names_verdict(answer)
    assert ids("answer_names_verdict", item(wrong=answer)) == ["a"]


@pytest.mark.parametrize(
    "answer",
    ["that was wrong", "show they had the correct answer", "gather the correct materials", "I don't know the answer",
     "Only 1 and 5 are true", "In the picture (right)", "It is wrong to steal", "Say that this is the right time",
     "the best choice", "Cannot answer", "My answer is 2 parts", "She was incorrectly cited as author"],
)  # fmt: skip
def test_an_answer_that_speaks_of_right_and_wrong_in_the_world_is_no_leak(answer: str) -> None:
    assert not answer_names_verdict(answer)


class Words:
    """A tokenizer of one token a word, whose chat template adds two."""

    chat_template, name_or_path = "made", "words"

    def apply_chat_template(self, turns: list[dict[str, str]], **_: object) -> str:
        return f"<user> {turns[0]['content']} <end>"

    def __call__(self, texts: list[str], **_: object) -> dict[str, list[list[str]]]:
        return {"input_ids": [text.split() for text in texts]}


def test_the_longest_prompt_is_c2_with_the_longer_answer_and_the_limit_itself_is_allowed() -> None:
    short, long = item("short", right="x " * 99, wrong="y"), item("long", "Q?", right="x", wrong="y " * 100)
    n_short = Ruler(name="words", tokenizer=Words()).lengths([short])[0]
    found = examine([short, long], [Ruler(name="words", tokenizer=Words(), limit=n_short - 1)]).token_lengths[0]
    assert found.ids_over == ("short",)
    assert found.quantiles["max"] == n_short == found.quantiles["p50"] + 1
    assert examine([short, long], [Ruler(name="words", tokenizer=Words(), limit=n_short)]).token_lengths[0].n_over == 0


def test_reports_hold_ids_and_counts_and_no_text() -> None:
    secret = [item("a", "SECRET question?", "SECRET", "SECRET (correct)"), item("b", "SECRET question?", "x", "SECRET")]
    found = [examine(secret, [Ruler(name="words", tokenizer=Words(), limit=1)])]
    record = json.dumps(quality_record(found))
    assert "SECRET" not in record + quality_text(found)
    assert json.loads(record)["datasets"]["made"]["findings"]["answer_names_verdict"]["ids"] == ["a"]
    assert json.loads(record)["datasets"]["made"]["token_lengths"][0]["ids_over"] == ["a", "b"]


@needs_data
def test_the_published_test_split_has_these_findings_and_no_others() -> None:
    seen = {}
    for name in FILES:
        found = examine(published_items(name, DATA / "published")).findings
        seen[name] = {key: finding.n_items for key, finding in found.items() if finding.n_items}
    assert seen == {
        "truthfulqa": {},
        "advisorqa": {"correct_among_wrong": 1},
        "amqa": {},
        "bbq": {"outer_space": 1, "unknown_wrong": 76},
        "gpqa": {"names_options": 1},
        "halueval": {"answer_names_verdict": 1},
        "harp": {"names_options": 4},
        "plausibleqa": {"names_options": 1},
        "socialiqa": {"bare_verdict": 1},
    }


@needs_data
def test_the_known_item_of_advisorqa_and_bbqs_half_of_unknowns_are_found() -> None:
    advisorqa = examine(published_items("advisorqa", DATA / "published")).findings
    assert advisorqa["correct_among_wrong"].ids == ["advisorqa-206"]
    unknown = examine(published_items("bbq", DATA / "published")).findings["unknown_wrong"]
    assert (unknown.n_items, unknown.n_of) == (76, 150)


@needs_data
def test_the_publishers_files_that_are_at_hand_have_these_findings() -> None:
    files = sorted((DATA / "raw" / "bbq").glob("*.jsonl"))
    of_bbq = examine(one for file in files for one in bbq.convert_file(file)).findings
    assert (of_bbq["repeated_question"].n_items, of_bbq["repeated_item"].n_items) == (126, 4)
    assert (of_bbq["unknown_wrong"].n_items, of_bbq["unknown_wrong"].n_of) == (2_987, 5_978)
    of_harp = examine(harp.convert(DATA / "raw" / "harp")).findings
    assert {name: found.n_items for name, found in of_harp.items() if found.n_items} == {
        "repeated_question": 2,
        "names_options": 31,
    }

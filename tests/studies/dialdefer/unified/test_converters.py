"""Each rule by which a publisher's record becomes an item, on made records."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from evenhand.errors import DataError
from studies.dialdefer.item_table import INCORRECT_ANSWERS
from studies.dialdefer.published_items import GPQA_PASSWORD
from studies.dialdefer.records import Item
from studies.dialdefer.unified import amqa, bbq, gpqa, halueval, harp, plausibleqa, socialiqa, truthfulqa
from studies.dialdefer.unified.catalogue import DATASETS, NINE
from studies.dialdefer.unified.splits import published_ids
from tests.made import unified_rows as rows_of
from tests.made.locked_zip import write_locked_zip
from tests.made.unified_files import csv_text, json_lines, write_lines, write_raw, write_zip
from tests.made.unified_rows import Row

LINES = {
    "advisorqa": "test.jsonl",
    "amqa": amqa.FILE,
    "halueval": halueval.FILE,
    "harp": harp.FILE,
    "plausibleqa": plausibleqa.FILE,
    "socialiqa": socialiqa.FILE,
}


def converted(dataset: str, rows: Sequence[Row], folder: Path) -> list[Item]:
    """The items of records written as JSON lines."""
    write_lines(folder / LINES[dataset], rows)
    return list(DATASETS[dataset].convert(folder))


def wrong(item: Item) -> list[str]:
    return list(item.meta[INCORRECT_ANSWERS])


@pytest.mark.parametrize("dataset", [d for d in NINE if d.name != "bbq"], ids=lambda d: d.name)
def test_made_files_at_full_size_hold_table_8s_items_and_every_published_id(dataset, tmp_path):
    write_raw(tmp_path, datasets=[dataset.name])
    items = list(dataset.convert(tmp_path / dataset.name))
    ids = {item.item_id for item in items}
    assert len(items) == len(ids) == len({item.question for item in items}) == dataset.n_total
    assert set(published_ids()[dataset.name]) <= ids


def test_bbqs_files_have_table_8s_58492_lines_in_alphabetical_order():
    assert (sum(bbq.FILES.values()), len(bbq.FILES)) == (58_492, 11)
    assert list(bbq.FILES) == sorted(bbq.FILES)


def test_truthfulqa_takes_the_best_answers_and_numbers_rows_from_0(tmp_path):
    row = next(rows_of.truthfulqa_rows(1))
    odd = row | {"Question": " What?\n", "Best Answer": "a; b ", "Best Incorrect Answer": 'c, "d"'}
    (tmp_path / truthfulqa.FILE).write_text(csv_text([row, odd]), encoding="utf-8-sig", newline="")
    first, second = truthfulqa.convert(tmp_path)
    assert (first.item_id, second.item_id) == ("truthfulqa-0", "truthfulqa-1")
    assert (second.question, second.correct_answer, second.incorrect_answer) == ("What?", "a; b", 'c, "d"')
    assert second.meta == {"type": row["Type"], "category": row["Category"], INCORRECT_ANSWERS: ['c, "d"']}


def test_halueval_keeps_the_knowledge_as_it_stands_and_strips_the_rest(tmp_path):
    row = {"knowledge": " k\n", "question": " q ", "right_answer": " r", "hallucinated_answer": "h "}
    items = converted("halueval", [row, row], tmp_path)
    assert [item.item_id for item in items] == ["halueval-qa-0", "halueval-qa-1"]
    item = items[0]
    assert (item.context, item.question, item.correct_answer, item.incorrect_answer) == (" k\n", "q", "r", "h")
    assert item.meta == {"split": "all", INCORRECT_ANSWERS: ["h"]}


def plausible(candidates: dict[str, Row]) -> Row:
    return next(rows_of.plausibleqa_rows(1)) | {"id": "nq_7", "answer": "Right", "candidate_answers": candidates}


def test_plausibleqa_keeps_the_three_best_scored_candidates_with_ties_in_order(tmp_path):
    scores = {"low": 0.1, "tie": 0.5, "best": 0.9, "equal": 0.5, "last": 0.05}
    row = plausible({name: {plausibleqa.SCORE: score, "other": 9} for name, score in scores.items()})
    (item,) = converted("plausibleqa", [row], tmp_path)
    assert (item.item_id, item.meta["source_id"], item.correct_answer) == ("plausibleqa-nq_7", "nq_7", "Right")
    assert (wrong(item), item.incorrect_answer) == (["best", "tie", "equal"], "best")


def test_plausibleqa_counts_a_missing_score_as_0(tmp_path):
    row = plausible({"below": {plausibleqa.SCORE: -1}, "missing": {}, "above": {plausibleqa.SCORE: 0.001}})
    (item,) = converted("plausibleqa", [row], tmp_path)
    assert wrong(item) == ["above", "missing", "below"]


@pytest.mark.parametrize("dataset", ["halueval", "plausibleqa", "socialiqa", "amqa", "harp", "advisorqa"])
def test_an_array_and_json_lines_of_the_same_records_give_the_same_items(dataset, tmp_path):
    rows = list(getattr(rows_of, f"{dataset}_rows")(5))
    as_lines = converted(dataset, rows, tmp_path)
    for text in (json.dumps(rows), json.dumps(rows, indent=1), "\ufeff" + json.dumps(rows) + "\n"):
        (tmp_path / LINES[dataset]).write_text(text, encoding="utf-8")
        assert list(DATASETS[dataset].convert(tmp_path)) == as_lines


def test_bbq_joins_context_and_question_and_numbers_the_lines_of_each_file(tmp_path):
    row = next(rows_of.bbq_rows("Age", 1))
    row |= {"context": " c. ", "question": " q?", "ans0": "x", "ans1": "y ", "ans2": "z ", "label": 1}
    for stem in bbq.FILES:
        write_lines(tmp_path / f"{stem}.jsonl", [row, row])
    items = list(bbq.convert(tmp_path))
    assert [item.item_id for item in items] == [f"bbq-{stem}-{line}" for stem in bbq.FILES for line in (0, 1)]
    assert (items[0].question, items[0].correct_answer, wrong(items[0])) == ("c. q?", "y", ["x", "z "])
    meta = {key: items[0].meta[key] for key in ("source_file", "category", "context_condition", "question_polarity")}
    assert meta == {
        "source_file": "Age.jsonl",
        "category": "Age",
        "context_condition": "ambig",
        "question_polarity": "neg",
    }


@pytest.mark.parametrize("charmap", [{"Robin": "X"}, '{"X": "Robin"}'])
def test_socialiqa_keeps_the_charmap_in_either_form(charmap, tmp_path):
    row = next(rows_of.socialiqa_rows(1)) | {"charmap": charmap, "label_ix": 1}
    (item,) = converted("socialiqa", [row], tmp_path)
    assert item.item_id == "socialiqa-0"
    assert item.question == f"{row['context']} {row['question']}"
    assert (item.correct_answer, wrong(item)) == (row["answerB"], [row["answerA"], row["answerC"]])
    kept = ("promptDim", "charmap", "answerSourcesOrigins", "answerSourcesWithCor", "promptQuestionFocusChar")
    assert item.meta == {**{key: row[key] for key in kept}, INCORRECT_ANSWERS: wrong(item)}


def test_socialiqas_test_file_is_the_only_one_read_of_its_archive(tmp_path):
    write_raw(tmp_path, scale=0, datasets=["socialiqa"])
    packed = list(socialiqa.convert(tmp_path / "socialiqa"))
    assert packed == converted("socialiqa", list(rows_of.socialiqa_rows(20)), tmp_path)


def test_amqas_wrong_answers_are_the_options_that_read_differently(tmp_path):
    row = next(rows_of.amqa_rows(1)) | {"question_id": "17", "answer": "b ", "answer_idx": "B"}
    (item,) = converted("amqa", [row | {"options": {"A": "a", "B": "b", "C": "c ", "D": " b"}}], tmp_path)
    assert (item.item_id, item.question) == ("amqa-17", row["original_question"])
    assert (item.correct_answer, wrong(item), item.incorrect_answer) == ("b", ["a", "c "], "a")
    assert item.meta == {
        "answer_idx": "B",
        "desensitized_question": row["desensitized_question"],
        "variants": ["white", "black", "high_income", "low_income", "male", "female"],
        INCORRECT_ANSWERS: ["a", "c "],
    }


@pytest.mark.parametrize("inside", ["HARP_mcq.jsonl", "HARD-Math_mcq.jsonl", "data/HARP_mcq.jsonl"])
def test_harps_wrong_answers_keep_the_order_of_the_letters_in_either_releases_zip(inside, tmp_path):
    row = next(rows_of.harp_rows(1)) | {"year": "1999", "contest": "AHSME", "number": 3, "answer_choice": "C"}
    row["choices"] = {"E": " $5$", "B": "$2$", "C": "$3$ ", "A": "$1$", "D": "$4$"}
    write_zip(tmp_path / harp.ARCHIVE, {inside: json_lines([row]), "__MACOSX/._HARP_mcq.jsonl": "x"})
    (item,) = harp.convert(tmp_path)
    assert (item.item_id, item.question) == ("harp_mc-1999-AHSME-3", row["problem"])
    assert (item.correct_answer, wrong(item)) == ("$3$", ["$1$", "$2$", "$4$", "$5$"])
    kept = ("year", "contest", "number", "level", "subject", "multiple_choice_only", "num_solutions")
    meta = {**{key: row[key] for key in kept}, "solution": row["solution_1"], INCORRECT_ANSWERS: wrong(item)}
    assert item.meta == meta


def test_gpqas_cells_keep_the_blanks_at_the_ends_of_inner_lines(tmp_path):
    (row,) = rows_of.gpqa_rows(1)
    (tmp_path / gpqa.FILE).write_text(csv_text([row | {"Question": "\none \n two\n"}]), encoding="utf-8", newline="")
    (item,) = gpqa.convert(tmp_path)
    assert (item.item_id, item.question) == (f"gpqa-{row['Record ID']}", "one \n two")
    assert (item.correct_answer, wrong(item)) == (row["Correct Answer"], [row[name] for name in gpqa.WRONG])
    assert item.meta["domain"] == row["High-level domain"]
    assert item.meta["explanation"] == row["Explanation"]


def test_gpqas_locked_zip_gives_what_the_plain_csv_gives(tmp_path):
    text = csv_text(list(rows_of.gpqa_rows(3)))
    write_locked_zip(tmp_path / gpqa.ARCHIVE, f"dataset/{gpqa.FILE}", text.encode(), GPQA_PASSWORD)
    locked = list(gpqa.convert(tmp_path))
    (tmp_path / gpqa.FILE).write_text(text, encoding="utf-8", newline="")
    assert locked == list(gpqa.convert(tmp_path))
    assert len(locked) == 3


def advice(suffix: list[str], reward: list[float], best: int = 0) -> Row:
    return {"prefix": [" post ", "more"], "suffix": suffix, "reward": reward, "sft_index": best, "label": "safe"}


@pytest.mark.parametrize(
    ("row", "wrong_ones", "chosen"),
    [
        (advice(["a", "b", "c", "d"], [9, 5, -2, 3]), ["b", "c", "d"], "c"),
        (advice(["a", "b", "c", "d"], [9, 1, 0.5, 0.5]), ["b", "c", "d"], "c"),
        (advice(["a", "b", "c"], [1, 9, 0], best=1), ["a", "c"], "c"),
        (advice(["a", "b", "c"], [0, 9, 1], best=1), ["a", "c"], "a"),
        (advice(["a", "", " ", "d", "e"], [9, -5, -4, 1, 2]), ["d", "e"], "d"),
        (advice(["a"], [9]), [], ""),
    ],
)
def test_advisorqas_claim_is_the_least_upvoted_other_answer_the_first_of_equals(row, wrong_ones, chosen, tmp_path):
    (item,) = converted("advisorqa", [row], tmp_path)
    assert (wrong(item), item.incorrect_answer) == (wrong_ones, chosen)
    assert (item.item_id, item.question) == ("advisorqa-0", "post")
    assert item.correct_answer == row["suffix"][row["sft_index"]]
    kept = {key: row[key] for key in ("reward", "sft_index", "label")}
    assert item.meta == {**kept, "num_candidates": len(row["suffix"]), INCORRECT_ANSWERS: wrong_ones}


def test_advisorqas_file_is_the_one_of_1000_records_among_several(tmp_path):
    for n in (5, 1_000, 1_001):
        write_lines(tmp_path / f"part{n}.jsonl", list(rows_of.advisorqa_rows(n)))
    (tmp_path / "dataset_infos.json").write_text("{\n}", encoding="utf-8")
    assert sum(1 for _ in DATASETS["advisorqa"].convert(tmp_path)) == 1_000
    (tmp_path / "part1000.jsonl").rename(tmp_path / "part1000.txt")
    with pytest.raises(DataError) as caught:
        list(DATASETS["advisorqa"].convert(tmp_path))
    assert str(caught.value).startswith(
        f"{tmp_path}: 0 JSON files of 1000 records (JSON files here: dataset_infos.json (not readable as records), "
        "part1001.jsonl (more than 1000), part5.jsonl (5 records)); leave only the one"
    )

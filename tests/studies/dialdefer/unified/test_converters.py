"""Each rule by which a publisher's record becomes an item, and what is said of files that are not as documented."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from studies.dialdefer.records import INCORRECT_ANSWERS
from studies.dialdefer.unified.catalogue import DATASETS
from studies.dialdefer.unified.converters import GPQA_WRONG, PLAUSIBILITY
from tests.made.fuzz import draws
from tests.made.places import GOLDEN
from tests.made.unified_files import BBQ_LINES, PLAIN, TABLES, rows, source, write_lines, write_zip

CHOSEN = shipped_yaml(Path(__file__).with_name("chosen.yaml"))


def converted(dataset, records, folder):
    """The items of records in the plain file of a dataset."""
    (folder / PLAIN[dataset][0]).write_text(source(dataset, records), encoding="utf-8", newline="")
    return list(DATASETS[dataset].convert(folder))


def wrong(item):
    return list(item.meta[INCORRECT_ANSWERS])


def refusal(dataset, folder):
    """The error of a conversion, without the folder; it is one line."""
    with pytest.raises(DataError) as caught:
        list(DATASETS[dataset].convert(folder))
    message = str(caught.value)
    assert message.startswith(str(folder))
    assert message.isprintable()
    return message.removeprefix(str(folder)).removeprefix("/")


def refused(dataset, content, folder):
    """The error over a plain file of that content."""
    content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    (folder / PLAIN[dataset][0]).write_bytes(content)
    return refusal(dataset, folder)


def test_truthfulqa_takes_the_best_answers_and_numbers_rows_from_0(tmp_path):
    (row,) = rows("truthfulqa", 1)
    odd = row | {"Question": " What?\n", "Best Answer": "a; b ", "Best Incorrect Answer": 'c, "d"'}
    first, second = converted("truthfulqa", [row, odd], tmp_path)
    assert (first.item_id, second.item_id) == ("truthfulqa-0", "truthfulqa-1")
    assert (second.question, second.correct_answer, second.incorrect_answer) == ("What?", "a; b", 'c, "d"')
    assert second.meta == {"type": row["Type"], "category": row["Category"], INCORRECT_ANSWERS: ['c, "d"']}


@pytest.mark.parametrize(("scores", "kept"), CHOSEN["plausibleqa"])
def test_plausibleqa_keeps_the_three_best_scored_candidates_with_ties_in_order(scores, kept, tmp_path):
    candidates = {name: {} if score is None else {PLAUSIBILITY: score, "other": 9} for name, score in scores.items()}
    (row,) = rows("plausibleqa", 1)
    (item,) = converted("plausibleqa", [row | {"id": "nq_7", "candidate_answers": candidates}], tmp_path)
    assert (item.item_id, item.meta["source_id"]) == ("plausibleqa-nq_7", "nq_7")
    assert (wrong(item), item.incorrect_answer) == (kept, kept[0])


def test_bbq_joins_context_and_question_and_numbers_the_lines_of_each_file(tmp_path):
    assert DATASETS["bbq"].origin.files == tuple(f"data/{stem}.jsonl" for stem in BBQ_LINES)
    assert sum(BBQ_LINES.values()) == DATASETS["bbq"].n_total
    (row,) = rows("bbq", 1)
    row |= {"context": " c. ", "question": " q?", "ans0": "x", "ans1": "y ", "ans2": "z ", "label": 1}
    for stem in BBQ_LINES:
        write_lines(tmp_path / f"{stem}.jsonl", [row, row])
    items = list(DATASETS["bbq"].convert(tmp_path))
    assert [item.item_id for item in items] == [f"bbq-{stem}-{line}" for stem in BBQ_LINES for line in (0, 1)]
    assert (items[0].question, items[0].correct_answer, wrong(items[0])) == ("c. q?", "y", ["x", "z "])
    kept = {"category": "Age", "context_condition": "ambig", "question_polarity": "neg"}
    assert items[0].meta == {"source_file": "Age.jsonl", **kept, INCORRECT_ANSWERS: ["x", "z "]}
    (tmp_path / "Religion.jsonl").unlink()
    with pytest.raises(DataError, match=r"Religion\.jsonl"):
        list(DATASETS["bbq"].convert(tmp_path))


@pytest.mark.parametrize("charmap", [{"Robin": "X"}, '{"X": "Robin"}'])
def test_socialiqa_keeps_the_charmap_in_either_form(charmap, tmp_path):
    row = rows("socialiqa", 1)[0] | {"charmap": charmap, "label_ix": 1}
    (item,) = converted("socialiqa", [row], tmp_path)
    assert (item.item_id, item.question) == ("socialiqa-0", f"{row['context']} {row['question']}")
    assert (item.correct_answer, wrong(item)) == (row["answerB"], [row["answerA"], row["answerC"]])
    kept = ("promptDim", "charmap", "answerSourcesOrigins", "answerSourcesWithCor", "promptQuestionFocusChar")
    assert item.meta == {**{key: row[key] for key in kept}, INCORRECT_ANSWERS: wrong(item)}


def test_amqas_wrong_answers_are_the_options_that_read_differently(tmp_path):
    row = rows("amqa", 1)[0] | {"question_id": "17", "answer": "b ", "answer_idx": "B"}
    (item,) = converted("amqa", [row | {"options": {"A": "a", "B": "b", "C": "c ", "D": " b"}}], tmp_path)
    assert (item.item_id, item.question) == ("amqa-17", row["original_question"])
    assert (item.correct_answer, wrong(item), item.incorrect_answer) == ("b", ["a", "c "], "a")
    groups = ["white", "black", "high_income", "low_income", "male", "female"]
    asked = {"answer_idx": "B", "desensitized_question": row["desensitized_question"], "variants": groups}
    assert item.meta == {**asked, INCORRECT_ANSWERS: ["a", "c "]}


@pytest.mark.parametrize("inside", ["HARP_mcq.jsonl", "HARD-Math_mcq.jsonl", "data/HARP_mcq.jsonl"])
def test_harps_wrong_answers_keep_the_order_of_the_letters_in_either_releases_zip(inside, tmp_path):
    row = rows("harp", 1)[0] | {"year": "1999", "contest": "AHSME", "number": 3, "answer_choice": "C"}
    row["choices"] = {"E": " $5$", "B": "$2$", "C": "$3$ ", "A": "$1$", "D": "$4$"}
    write_zip(tmp_path / "HARP_mcq.jsonl.zip", {inside: source("harp", [row]), "__MACOSX/._HARP_mcq.jsonl": "x"})
    (item,) = DATASETS["harp"].convert(tmp_path)
    assert (item.item_id, item.question) == ("harp_mc-1999-AHSME-3", row["problem"])
    assert (item.correct_answer, wrong(item)) == ("$3$", ["$1$", "$2$", "$4$", "$5$"])
    kept = ("year", "contest", "number", "level", "subject", "multiple_choice_only", "num_solutions")
    meta = {**{key: row[key] for key in kept}, "solution": row["solution_1"], INCORRECT_ANSWERS: wrong(item)}
    assert item.meta == meta


def test_gpqas_cells_keep_the_blanks_at_the_ends_of_inner_lines_and_its_locked_zip_opens(tmp_path):
    (row,) = rows("gpqa", 1)
    (item,) = converted("gpqa", [row | {"Question": "\none \n two\n"}], tmp_path)
    assert (item.item_id, item.question) == (f"gpqa-{row['Record ID']}", "one \n two")
    assert (item.correct_answer, wrong(item)) == (row["Correct Answer"], [row[name] for name in GPQA_WRONG])
    assert (item.meta["domain"], item.meta["explanation"]) == (row["High-level domain"], row["Explanation"])
    (tmp_path / "gpqa_main.csv").unlink()
    shutil.copy(GOLDEN / "gpqa_locked.zip", tmp_path / "dataset.zip")
    (item,) = DATASETS["gpqa"].convert(tmp_path)
    assert (item.question, item.correct_answer, wrong(item)) == ("What?", "this", ["that", "x", "y"])


@pytest.mark.parametrize(("suffix", "reward", "best", "wrong_ones", "chosen"), CHOSEN["advisorqa"])
def test_advisorqas_claim_is_the_least_upvoted_other_answer_the_first_of_equals(
    suffix, reward, best, wrong_ones, chosen, tmp_path
):
    kept = {"reward": reward, "sft_index": best, "label": "safe"}
    (item,) = converted("advisorqa", [{"prefix": [" post ", "more"], "suffix": suffix, **kept}], tmp_path)
    assert (wrong(item), item.incorrect_answer) == (wrong_ones, chosen)
    assert (item.item_id, item.question, item.correct_answer) == ("advisorqa-0", "post", suffix[best])
    assert item.meta == {**kept, "num_candidates": len(suffix), INCORRECT_ANSWERS: wrong_ones}


def test_advisorqas_file_is_the_one_of_1000_records_among_several(tmp_path):
    for n in (5, 1_000, 1_001):
        write_lines(tmp_path / f"part{n}.jsonl", rows("advisorqa", n))
    (tmp_path / "dataset_infos.json").write_text("{\n}", encoding="utf-8")
    assert sum(1 for _ in DATASETS["advisorqa"].convert(tmp_path)) == 1_000
    (tmp_path / "part1000.jsonl").rename(tmp_path / "part1000.txt")
    here = "dataset_infos.json, part1001.jsonl, part5.jsonl"
    assert refusal("advisorqa", tmp_path).startswith(f": 0 JSON files of 1000 records (JSON files here: {here})")


# A column that the converter needs, of a table and of lines.
NEEDED = {"truthfulqa": "Best Answer", "halueval": "right_answer"}


@pytest.mark.parametrize("dataset", NEEDED)
def test_a_renamed_column_is_named_with_file_and_line(dataset, tmp_path):
    column, records = NEEDED[dataset], rows(dataset)
    for record in records if dataset in TABLES else records[2:]:
        record[f"{column}s"] = record.pop(column)
    message = refused(dataset, source(dataset, records), tmp_path)
    assert message.startswith(f"{PLAIN[dataset][0]}:{1 if dataset in TABLES else 3}: field '{column}' is absent")
    assert f"{column}s" in message


BAD = shipped_yaml(Path(__file__).with_name("bad_records.yaml"))
TABLE = "Type,Category,Question,Best Answer,Best Incorrect Answer\n"


@pytest.mark.parametrize(("dataset", "field", "value", "problem"), BAD["values"])
def test_a_bad_value_is_named_with_file_line_and_field(dataset, field, value, problem, tmp_path):
    records = rows(dataset)
    records[2] = json.loads(json.dumps(records[2])) | {field: "PUT HERE"}
    message = refused(dataset, source(dataset, records).replace('"PUT HERE"', value), tmp_path)
    assert message.startswith(f"{PLAIN[dataset][0]}:3: {problem}")


@pytest.mark.parametrize(("content", "problem"), BAD["tables"])
def test_a_bad_table_is_refused_with_the_line_where_its_row_begins(content, problem, tmp_path):
    assert refused("truthfulqa", TABLE + content, tmp_path).startswith(f"TruthfulQA.csv{problem}")


JUNK = (b"", b"\x00", b"\xe9", b"{", b"]", b",", b'"', b"null", b"1e999", rb"\ud800", b"[" * 100_000, b"9" * 5_000)


@pytest.mark.parametrize("dataset", PLAIN)
def test_a_damaged_file_ends_in_records_or_in_our_own_error(dataset, tmp_path):
    content = source(dataset, rows(dataset, 3)).encode()
    for draw in draws(dataset):
        start, end = sorted(draw.choices(range(len(content) + 1), k=2))
        damaged = content[:start] + draw.choice(JUNK) + content[draw.choice((start, start + 1, end)) :]
        (tmp_path / PLAIN[dataset][0]).write_bytes(damaged)
        try:
            items = list(DATASETS[dataset].convert(tmp_path))
        except DataError:
            continue
        for item in items:
            json.dumps(asdict(item), ensure_ascii=False, allow_nan=False).encode()

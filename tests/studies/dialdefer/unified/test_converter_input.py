"""Bad files of publishers: one error that names file, line and field, and says what to do."""

import json
import re
import shutil
from itertools import permutations
from pathlib import Path

import pytest

from studies.dialdefer.unified import truthfulqa
from tests.made.bad_input import PLAIN, TABLES, refusal, refused, rows, source
from tests.made.unified_files import write_raw

# A column each converter needs.
NEEDED = {
    "truthfulqa": "Best Answer",
    "advisorqa": "suffix",
    "amqa": "original_question",
    "bbq": "ans1",
    "gpqa": "Record ID",
    "halueval": "right_answer",
    "harp": "answer_choice",
    "plausibleqa": "candidate_answers",
    "socialiqa": "label_ix",
}


@pytest.mark.parametrize("dataset", PLAIN)
def test_a_renamed_column_is_named_with_file_line_and_the_new_name(dataset, tmp_path):
    column, records = NEEDED[dataset], rows(dataset)
    for record in records if dataset in TABLES else records[2:]:
        record[f"{column}s"] = record.pop(column)
    line = 1 if dataset in TABLES else 3
    message = refused(dataset, source(dataset, records), tmp_path)
    assert message.startswith(
        f"{PLAIN[dataset]}:{line}: field '{column}' is absent; is this the right file? did you mean"
    )
    assert f"'{column}s'" in message


def files_of(dataset: str, folder: Path) -> Path:
    """The made file of a dataset, BBQ's first."""
    write_raw(folder, scale=0, datasets=[dataset])
    return min((folder / dataset).iterdir())


@pytest.mark.parametrize(("given", "wanted"), list(permutations(PLAIN, 2)))
def test_a_file_of_another_dataset_is_refused_by_name_and_field(given, wanted, tmp_path):
    file = files_of(given, tmp_path)
    target = tmp_path / wanted
    target.mkdir()
    shutil.copy(file, target / PLAIN[wanted])
    message = refusal(wanted, target)
    assert message.startswith(PLAIN[wanted])
    of_field = r"(:\d+|: element 1): (in '\w+': )?field '[\w .]+' (is absent|must be|is )"
    # Bytes of an archive and a table have no fields to name in the first place.
    of_start = r":1: (begins with b'.*', as no JSON in UTF-8 does|is not UTF-8|holds the byte NUL)"
    no_fields = file.suffix in (".zip", ".tgz") or (given in TABLES and wanted not in TABLES)
    assert re.search(of_start if no_fields else of_field, message), message


@pytest.mark.parametrize("dataset", PLAIN)
def test_a_byte_in_another_encoding_is_named_with_its_line(dataset, tmp_path):
    lines = source(dataset, rows(dataset)).encode().splitlines(keepends=True)
    number = 2 if dataset in TABLES else 3
    lines[number - 1] = lines[number - 1].replace(b"case", b"caf\xe9", 1)
    message = refused(dataset, b"".join(lines), tmp_path)
    assert re.match(
        rf"{PLAIN[dataset]}:\d+: is not UTF-8 \(0xe9 at byte \d+ of the line\): encodings are mixed", message
    )


VALUES: list[tuple[str, str, str, str]] = [
    ("halueval", "question", "null", "field 'question' must be a text, found None"),
    ("halueval", "question", r'"a\ud800b"', "field 'question' holds half a surrogate pair at character 2"),
    ("halueval", "question", '"a', "is no JSON object (Expecting ',' delimiter at column"),
    ("bbq", "label", "3", "field 'label' must be a whole number from 0 to 2, found 3"),
    ("bbq", "context_condition", '"ambiguous"', "field 'context_condition' is 'ambiguous'; known: ambig, disambig"),
    ("socialiqa", "label_ix", "-1", "field 'label_ix' must be a whole number from 0 to 2, found -1"),
    ("amqa", "options", '{"A": "a", "B": "b", "D": "d"}', "in 'options': field 'C' is absent"),
    ("amqa", "answer_idx", '"E"', "field 'answer_idx' is 'E'; known: A, B, C, D"),
    ("advisorqa", "reward", "[1]", "field 'reward' must be a list of 4 numbers, one for each suffix"),
    ("advisorqa", "sft_index", "4", "field 'sft_index' must be a whole number from 0 to 3, found 4"),
    ("advisorqa", "label", '"Safe"', "field 'label' is 'Safe'; known: safe, unsafe"),
]


@pytest.mark.parametrize(("dataset", "field", "value", "problem"), VALUES)
def test_a_bad_value_is_named_with_file_line_and_field(dataset, field, value, problem, tmp_path):
    records = rows(dataset)
    records[2] = json.loads(json.dumps(records[2])) | {field: "PUT HERE"}
    message = refused(dataset, source(dataset, records).replace('"PUT HERE"', value), tmp_path)
    assert message.startswith(f"{PLAIN[dataset]}:3: {problem}")


TWICE = [
    ("amqa", "question_id", 2, 5),
    ("harp", "year, contest, number", 2, 5),
    ("gpqa", "Record ID", 8, 26),
]


@pytest.mark.parametrize(("dataset", "fields", "first", "second"), TWICE)
def test_an_id_that_occurs_twice_is_named_with_both_places(dataset, fields, first, second, tmp_path):
    records = rows(dataset)
    message = refused(dataset, source(dataset, [*records, records[1]]), tmp_path)
    assert message.startswith(f"{PLAIN[dataset]}:{second}: field '{fields}' makes the item id '{dataset}")
    assert re.search(rf"as .+/{PLAIN[dataset]}:{first} does", message)


TABLE = "Type,Category,Question,Best Answer,Best Incorrect Answer\n"
BAD_TABLES = [
    ("", "1: field 'Type' is absent"),
    (TABLE, ": holds no row"),
    (TABLE + "a,b,c,d,e\na,b,c,d\n", "3: row has 4 columns, the header 5, so 'Best Incorrect Answer' is lacking"),
    (TABLE + 'a,"b\nb",c,d,e\na,b,c,d,e,f\n', "4: row has 6 columns, the header 5"),
    (TABLE + "a,b,c,d,e\na,b\0,c,d,e\n", "3: holds the byte NUL"),
    (TABLE + 'a,b,c,d,e\na,"b,c,d,e\na,b,c,d,e\n', "3: is not a CSV row (unexpected end of data)"),
    (TABLE.replace("\n", ",Question\n") + "a,b,c,d,e,f\n", "1: column 'Question' occurs 2 times"),
]


@pytest.mark.parametrize(("content", "problem"), BAD_TABLES)
def test_a_bad_table_is_refused_with_the_line_where_its_row_begins(content, problem, tmp_path):
    message = refused("truthfulqa", content, tmp_path)
    assert message.removeprefix("TruthfulQA.csv").removeprefix(":").startswith(problem.removeprefix(":"))


def test_a_cell_may_be_longer_than_csvs_own_limit(tmp_path):
    essay = "words " * 50_000
    (tmp_path / truthfulqa.FILE).write_text(f"{TABLE}a,b,{essay},d,e\n", encoding="utf-8")
    (item,) = truthfulqa.convert(tmp_path)
    assert item.question == essay.strip()

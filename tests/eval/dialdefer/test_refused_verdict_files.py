"""External verdicts with something wrong in them: rows are named with file and line, sets with their items."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from eval.dialdefer.verdict_files import load_external
from evenhand.errors import DataError
from studies.dialdefer.records import Condition
from tests.made.made_verdicts import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT, Row, verdict_rows, write

C2_ONLY = (C2_CORRECT, C2_INCORRECT)


def refusal(*paths: Path, is_strict: bool = False) -> str:
    """The error of loading files, without their folder; it can be printed on one line."""
    with pytest.raises(DataError) as caught:
        load_external(paths, is_strict=is_strict)
    message = str(caught.value)
    assert message.isprintable()
    return message.replace(f"{paths[0].parent}/", "")


def refused(folder: Path, content: str | bytes | list[Row], name: str = "v.jsonl") -> str:
    """The error over a file of that content, or of those rows."""
    if isinstance(content, list):
        return refusal(write(folder / name, content))
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return refusal(folder / name)


BAD_FIELDS: list[tuple[dict[str, Any], str]] = [
    *(({"choice": value}, "'choice' must be 1, 2 or null, found ") for value in (3, "yes", True, 1.5, [1], 10**30)),
    ({"choice": float("nan")}, "'choice' must be 1, 2 or null, found nan"),
    ({"condition": "c2_corect"}, "'condition' is 'c2_corect'. Did you mean 'c2_correct'? Known: c1_true, "),
    ({"condition": 4}, "'condition' must be a text, found 4"),
    ({"condition": None}, "'condition' is empty"),
    ({"dataset": "truthful"}, "'dataset' is 'truthful'. Did you mean 'truthfulqa'? Known: advisorqa, aio, "),
    ({"dataset": "unified"}, "'dataset' is 'unified'. Known: "),
    ({"dataset": ["bbq"]}, "'dataset' must be a text, found list"),
    ({"model": ""}, "'model' is empty"),
    ({"model": "a\nb"}, "'model' must be a name on one line of at most 200 characters, found 'a\\nb'"),
    ({"model": "\ud800"}, "'model' must be a name on one line of at most 200 characters, found '\\ud800'"),
    ({"item_id": "x" * 201}, "'item_id' must be a name on one line of at most 200 characters, found 'xxx"),
    ({"item_id": 1.0}, "'item_id' must be a text, found 1.0"),
    ({"item_id": " "}, "'item_id' is empty"),
    ({"arm": 1}, "'arm' must be a text, found 1"),
    ({"roles": "2>1"}, "'roles' is '2>1'. Did you mean '2->1'? Known: 2->1, 1->2."),
    ({"benchmark": 7}, "'benchmark' must be a text, found 7"),
    ({"dataset": "aio", "label": "maybe"}, "'label' is 'maybe'. Known: OR, NOR."),
    ({"dataset": "r/AIO", "label": 1}, "'label' is '1'. Known: OR, NOR."),
    ({"error": "HTTP 500"}, "'error' says that there was no reply, yet the row has a choice; keep one of them"),
]


@pytest.mark.parametrize(("fields", "problem"), BAD_FIELDS, ids=[str(fields)[:40] for fields, _ in BAD_FIELDS])
def test_a_bad_field_is_named_with_file_line_and_what_is_known(
    tmp_path: Path, fields: dict[str, Any], problem: str
) -> None:
    rows = verdict_rows("bbq", 3)
    rows[6] |= fields
    assert refused(tmp_path, rows).startswith(f"v.jsonl:7: field {problem}")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("v.csv", "v.csv:34002"),
        ("v.jsonl.gz", "v.jsonl.gz:17001"),
        ("v.parquet", "v.parquet: row 17001"),
    ],
)
def test_a_bad_field_is_named_with_the_line_that_its_row_starts_on(tmp_path: Path, name: str, place: str) -> None:
    rows = verdict_rows("bbq", 5000, reason="two\nlines")  # more than one batch
    rows[17_000]["condition"] = "c3"
    assert refused(tmp_path, rows, name).startswith(f"{place}: field 'condition' is 'c3'")


@pytest.mark.parametrize("name", ["model", "dataset", "item_id", "condition"])
def test_a_row_without_what_every_row_needs_is_named(tmp_path: Path, name: str) -> None:
    rows = verdict_rows("bbq", 3)
    del rows[6][name]
    assert refused(tmp_path, rows) == f"v.jsonl:7: field '{name}' is absent"
    for row in rows:
        row.pop(name, None)
    assert refused(tmp_path, rows, "v.csv").startswith(f"v.csv:1: there is no column '{name}'.")
    assert refused(tmp_path, rows, "v.parquet").startswith(f"v.parquet: row 1: there is no column '{name}'.")


def test_a_row_with_neither_choice_nor_response_says_nothing_and_is_refused(tmp_path: Path) -> None:
    rows = verdict_rows("bbq", 3)
    del rows[6]["choice"]
    assert refused(tmp_path, rows).startswith("v.jsonl:7: field 'choice' is absent, and so is a response")
    rows[6]["response"] = 1
    assert refused(tmp_path, rows) == "v.jsonl:7: field 'response' must be a text, found 1"
    for row in rows:
        row.pop("choice", None)
    del rows[6]["response"]
    assert "there is no column 'choice' or 'response'" in refused(tmp_path, rows, "v.csv")


LINE = json.dumps(verdict_rows("bbq", 1)[0])
HEADER = "model,dataset,item_id,condition,choice"
BAD_LINES: list[tuple[str, bytes, str]] = [
    ("v.jsonl", b"{half a li", "is not a JSON object (Expecting property name enclosed in double quotes at column 2)"),
    ("v.jsonl", b"[1, 2]", "is not a JSON object (but a list)"),
    ("v.jsonl", b"[" * 100_000, "is not a JSON object (maximum recursion depth exceeded"),
    ("v.jsonl", b'{"choice": 1, "choice": 2}', "is not a JSON object (field 'choice' is there twice)"),
    ("v.jsonl", b'{"model": "caf\xe9"}', "is not UTF-8 (0xe9 at byte 15 of the line); save the file as UTF-8"),
    ("v.csv", b"a,b,c", "row has 3 columns, the header 5; quote cells that hold commas or newlines"),
    ("v.csv", b"a,b,c,d,e,f", "row has 6 columns, the header 5; quote cells that hold commas or newlines"),
    ("v.csv", b'm,bbq,"a"b,c1_true,1', "is not a CSV row (',' expected after '\"')"),
    ("v.csv", b'm,bbq,"a,c1_true,1\n', "is not a CSV row (unexpected end of data)"),
    ("v.csv", b"m,bbq,\xff,c1_true,1", "is not UTF-8 (0xff at byte 7 of the line); save the file as UTF-8"),
]


@pytest.mark.parametrize(("name", "line", "problem"), BAD_LINES)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, name: str, line: bytes, problem: str) -> None:
    first = LINE if name == "v.jsonl" else HEADER
    assert refused(tmp_path, first.encode() + b"\n" + line, name).startswith(f"{name}:2: {problem}")


def test_a_gzip_file_that_is_cut_off_or_damaged_is_named_with_the_line(tmp_path: Path) -> None:
    whole = gzip.compress("".join(json.dumps(row) + "\n" for row in verdict_rows("bbq", 2000)).encode(), mtime=0)
    assert "damaged there (Compressed file ended before" in refused(tmp_path, whole[: len(whole) // 2], "v.jsonl.gz")
    assert refused(tmp_path, b"no gzip", "v.csv.gz").startswith("v.csv.gz:1: the gzip data is cut off or damaged")
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 0xFF
    assert "v.jsonl.gz:" in refused(tmp_path, bytes(broken), "v.jsonl.gz")


def test_files_that_hold_nothing_or_name_a_column_wrongly_or_twice_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "\n\n") == "v.jsonl: holds no verdict; is this the right file?"
    assert refused(tmp_path, "", "v.csv").startswith("v.csv:1: there is no column 'model'. The header has: nothing.")
    assert refused(tmp_path, f"{HEADER}\n", "v.csv").startswith("v.csv: holds no verdict")
    assert "The cells of a row must be separated by commas" in refused(tmp_path, "model;dataset\n", "v.csv")
    assert refused(tmp_path, "x", "v.parquet").startswith("v.parquet: cannot be read as parquet (")
    assert refusal(tmp_path / "w.jsonl") == "w.jsonl: cannot be read (No such file or directory)"
    rows = [{"Arm" if name == "arm" else name: v for name, v in row.items()} for row in verdict_rows("bbq", 1, arm="x")]
    assert refused(tmp_path, rows) == "v.jsonl:1: column 'Arm' must be written 'arm'"
    assert refused(tmp_path, f"{HEADER},choice\n", "v.csv") == "v.csv:1: column 'choice' is there 2 times; keep one"


def test_a_condition_that_some_items_or_all_lack_is_refused_with_their_number_and_the_first_five(
    tmp_path: Path,
) -> None:
    rows = [r for r in verdict_rows("bbq", 9) if r["condition"] != C2_CORRECT or r["item_id"] in ("bbq-0", "bbq-8")]
    where = "model 'm', bbq, arm none, roles 2->1: "
    lacking = "7 items (bbq-1, bbq-2, bbq-3, bbq-4, bbq-5, ...) have no complete verdict for c2_correct"
    assert refused(tmp_path, rows).startswith(where + lacking)
    half = verdict_rows("bbq", 2, conditions=(C1_TRUE, C2_CORRECT, C2_INCORRECT))
    assert refused(tmp_path, half).startswith(f"{where}2 items (bbq-0, bbq-1) have no c1_false")


@pytest.mark.parametrize("conditions", [tuple(Condition), C2_ONLY])
def test_unequal_items_of_arms_are_refused_but_models_and_directions_may_differ(
    tmp_path: Path, conditions: tuple[Condition, ...]
) -> None:
    after = [r for r in verdict_rows("bbq", 12, arm="dpo", conditions=conditions) if r["item_id"] != "bbq-3"]
    assert refused(tmp_path, [*after, *verdict_rows("bbq", 4)]).startswith(
        "model 'm', bbq, roles 2->1: 8 items (bbq-10, bbq-11, bbq-4, bbq-5, bbq-6, ...) have verdicts in arm dpo and "
        "none in arm none"
    )
    assert refused(tmp_path, [*after, *verdict_rows("bbq", 12)]).startswith(
        "model 'm', bbq, roles 2->1: 1 item (bbq-3) has verdicts in arm none and none in arm dpo"
    )
    rows = [*verdict_rows("aio", 4), *verdict_rows("aio", 5, model="n"), *verdict_rows("aio", 6, roles="1->2")]
    assert len(load_external([write(tmp_path / "v.jsonl", rows)]).judges) == 2


def test_two_rows_for_one_key_and_two_labels_for_one_item_are_refused_with_both_places(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", verdict_rows("halueval", 8))
    again = [{**row, "item_id": row["item_id"].replace("-", "-qa-")} for row in verdict_rows("halueval", 8)[6:30:4]]
    second = write(tmp_path / "b.csv", [*verdict_rows("bbq", 1), *again])
    assert refusal(first, second) == (
        "b.csv:6: model 'm', halueval, item 'halueval-qa-1', c2_correct, arm none, roles 2->1 does not go with "
        "a.jsonl:7. 6 items (halueval-qa-1, halueval-qa-2, halueval-qa-3, halueval-qa-4, halueval-qa-5, ...) have more "
        "than one row for a key; keep one"
    )
    rows = verdict_rows("aio", 3, label="OR")
    rows[5]["label"], rows[11]["label"], rows[0]["label"] = "NOR", "NOR", None
    message = refused(tmp_path, rows)
    assert message.startswith("v.jsonl:6: model 'm', aio, item 'aio-1', ")
    assert " does not go with v.jsonl:5. 2 items (aio-1, aio-2) have two labels" in message


@pytest.mark.parametrize(
    ("arm", "conditions", "lacks"),
    [
        ("sft", C2_ONLY, "c1_true and c1_false, nor has arm none"),
        ("none", C2_ONLY, "c1_true and c1_false, nor has arm none"),
        ("none", (C1_TRUE, C1_FALSE), "c2_correct and c2_incorrect"),
        ("sft", (C1_TRUE, C1_FALSE), "c2_correct and c2_incorrect"),
    ],
)
@pytest.mark.parametrize("beside", ["nothing", "an arm of its own"])
def test_an_arm_that_lacks_a_framing_is_left_out_and_named_or_refused_if_that_is_asked_for(
    tmp_path: Path, arm: str, conditions: tuple[Condition, ...], lacks: str, beside: str
) -> None:
    rows = [*verdict_rows("bbq", 2), *verdict_rows("gpqa", 2, arm=arm, conditions=conditions)]
    if is_beside := beside != "nothing" and arm != "none":
        rows += verdict_rows("gpqa", 2, arm="dpo")
    path = write(tmp_path / "v.jsonl", rows)
    files = load_external([path])
    (reason,) = files.left_out
    assert f"model 'm', gpqa, arm {arm}, roles 2->1: 2 items (gpqa-0, gpqa-1) have no verdicts for {lacks};" in reason
    assert {panel.dataset for panel in files.judges[0].panels} == {"bbq", *(["gpqa"] if is_beside else [])}
    assert refusal(path, is_strict=True) == reason
    alone = [row for row in rows if row["dataset"] == "gpqa" and row["arm"] == arm]
    assert "there is no shift to score" in refused(tmp_path, alone, "alone.jsonl")


def test_statements_of_the_untreated_arm_serve_another_arm(tmp_path: Path) -> None:
    rows = verdict_rows("bbq", conditions=(C1_TRUE, C1_FALSE))
    rows += verdict_rows("bbq", arm="dpo", conditions=C2_ONLY)
    files = load_external([write(tmp_path / "v.jsonl", rows)])
    assert (len(files.judges[0].panels), files.left_out) == (2, ())

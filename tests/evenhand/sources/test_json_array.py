"""Files that are one JSON array, PlausibleQA's for one: bad elements are named, and long files cost little memory."""

import io
import json
import re
import tracemalloc
from pathlib import Path

import pytest

from evenhand.sources import json_array
from evenhand.sources.raw_files import json_records
from tests.made.bad_input import refused, rows

PLAUSIBLE_VALUES = [
    ("candidate_answers", '{"a": 1}', "field 'candidate_answers['a']' must be an object of scores, found 1"),
    ("answer", "[" * 100_000 + "]" * 100_000, "is no JSON object (maximum recursion depth exceeded"),
]


@pytest.mark.parametrize(("field", "value", "problem"), PLAUSIBLE_VALUES)
def test_a_bad_value_in_an_array_is_named_with_file_element_and_field(field, value, problem, tmp_path):
    records = rows("plausibleqa")
    records[2] |= {field: "PUT HERE"}
    message = refused("plausibleqa", json.dumps(records).replace('"PUT HERE"', value), tmp_path)
    assert message.startswith(f"test.json: element 3: {problem}")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_array_is_refused(share, tmp_path):
    whole = json.dumps(rows("plausibleqa", 50))
    message = refused("plausibleqa", whole[: int(share * len(whole))], tmp_path)
    assert re.match(rf"test\.json: element {int(share * 50) + 1}: is no JSON object \(.+\); .* fetch it again", message)


N_LONG = 20_000
LITTLE = 12_000_000  # bytes; the records themselves take 60 million


def long_file(path: Path) -> Path:
    """About 20 MB of records, as lines or as an array by its name."""
    element = json.dumps({"text": "word " * 200, "list": list(range(20))})
    begin, between, end = ("[", ", ", "]") if path.suffix == ".json" else ("", "\n", "\n")
    path.write_text(begin + between.join([element] * N_LONG) + end, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["lines.jsonl", "array.json"])
def test_a_long_file_is_read_in_little_memory(name, tmp_path):
    path = long_file(tmp_path / name)
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    try:
        assert sum(1 for _ in json_records(path)) == N_LONG
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LITTLE


def test_an_element_larger_than_what_is_read_at_once_comes_out_whole(tmp_path):
    texts = ["é" * 3_000_000, "short", "x" * 1_500_000]
    path = tmp_path / "array.json"
    path.write_text(json.dumps([{"text": text} for text in texts], ensure_ascii=False), encoding="utf-8")
    assert [record.values["text"] == text for record, text in zip(json_records(path), texts, strict=True)] == [True] * 3


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 50])
def test_where_the_chunks_of_a_file_end_makes_no_difference(chunk, monkeypatch):
    objects = [{"é": 'quote " and \\ and ]'}, {}, {"a": [{"b": [1.5, -2e3, None]}], "€": "\u2028"}]
    monkeypatch.setattr(json_array, "CHUNK", chunk)
    for text in (json.dumps(objects), json.dumps(objects, ensure_ascii=False, indent=2) + " \n"):
        assert list(json_array.array_objects(io.BytesIO(text.encode()))) == objects

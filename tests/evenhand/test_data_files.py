"""Data files of users: one table in any format is the same rows, and what would fill memory is refused early."""

import gzip
import json
import tracemalloc
from collections import deque
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from evenhand.data_files import csv_records, rows
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from tests.made.places import cases

TABLE = [{"id": "1", "q": "is it; or, not?"}, {"id": "2", "q": "zwölf\nlines"}]
TEXTS = cases(__file__)  # a file's name → the table's text


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_table_is_the_same_in_every_format(name, packing, mark, tmp_path):
    content = (mark + TEXTS[name]).encode()
    path = tmp_path / (name + packing)
    path.write_bytes(gzip.compress(content) if packing else content)
    assert [dict(row.values) for row in rows(path)] == TABLE


def test_the_first_line_of_a_table_is_a_row_where_its_header_is_given(tmp_path):
    for name in ("commas.csv", "semicolons.csv", "tabs.tsv"):
        (tmp_path / name).write_text(TEXTS[name].partition("\n")[2])
        records = list(rows(tmp_path / name, header=["id", "q"]))
        assert [dict(row.values) for row in records] == TABLE
        assert records[0].where.endswith(f"{name}:1")
    with pytest.raises(DataError, match="1: row has 2 columns, the header 3"):
        list(rows(tmp_path / "commas.csv", header=["id", "q", "r"]))
    (tmp_path / "a.jsonl").write_text(TEXTS["a.jsonl"])
    with pytest.raises(DataError, match="header names the columns of CSV"):
        list(rows(tmp_path / "a.jsonl", header=["id", "q"]))
    with pytest.raises(DataError, match="t: holds no row"):
        list(csv_records([b"\n"], "t", ["id"]))


def test_a_parquet_table_is_the_same_rows_also_with_lists_nulls_and_long_texts(tmp_path):
    table = [{"id": i, "q": None if i % 3 else "x" * i, "c": {"n": [f"a{i}", None]}} for i in range(700)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), tmp_path / "t.parquet")
    found = list(rows(tmp_path / "t.parquet"))
    assert [dict(row.values) for row in found] == table
    assert found[699].where.endswith("t.parquet: row 700")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        *shipped_yaml(Path(__file__).with_name("unreadable_data.yaml")),
        ("a.json", "[" * 100_000, "a.json:1: is no JSON"),
        ("a.csv", b"a\n\xe9\n", "a.csv:2: is not UTF-8"),
        ("a.csv.gz", gzip.compress(b"a,b\n" + bytes(range(65, 91)) * 99, mtime=0)[:40], "gzip data are cut off"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(name, content, says, tmp_path):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as refusal:
        list(rows(tmp_path / name))
    assert says in str(refusal.value)


def test_a_document_names_the_key_that_holds_its_rows_and_reads_them_there(tmp_path):
    path = tmp_path / "wrapped.json"
    path.write_text(json.dumps({"version": 1, "results": {"rows": TABLE}}))
    assert [dict(row.values) for row in rows(path, "results.rows")] == TABLE
    with pytest.raises(DataError, match="no key 'rows' in it; keys there: 'version', 'results'"):
        list(rows(path, "rows"))


def one_line_bomb(path):
    path.write_bytes(gzip.compress(b'{"a":"' + b"x" * 100_000_000, 1))


def parquet_bomb(path):
    codes = pyarrow.array([0] * 1_000_000, pyarrow.int32())
    texts = pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(["x" * 20_000]))
    pyarrow.parquet.write_table(pyarrow.table({"a": texts}), path, compression="zstd")


def nulls_bomb(path):
    pyarrow.parquet.write_table(pyarrow.table({"a": pyarrow.nulls(60_000_000, pyarrow.bool_())}), path)


def list_bomb(path):
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100_000), pyarrow.array(["x" * 3000]))
    parts = pyarrow.array([0, 100_000], pyarrow.int32()), texts
    lists, maps = pyarrow.ListArray.from_arrays(*parts), pyarrow.MapArray.from_arrays(*parts, pyarrow.nulls(100_000))
    column = pyarrow.StructArray.from_arrays([maps if path.stem == "map" else lists], ["b"])
    pyarrow.parquet.write_table(pyarrow.table({"a": column}), path)


def texts_bomb(path, kind=None):
    tables = [pyarrow.table({"a": pyarrow.array([bytes([i]) * 5_000_000], kind)}) for i in range(3)]
    with pyarrow.parquet.ParquetWriter(path, tables[0].schema, compression="zstd") as file:
        for i in range(60):
            file.write_table(tables[i % 3])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((one_line_bomb, f"a.{kind}.gz") for kind in ("jsonl", "json", "csv")),
        *((parquet_bomb, "a.parquet"), (nulls_bomb, "a.parquet"), (list_bomb, "a.parquet"), (list_bomb, "map.parquet")),
        *((texts_bomb, "a.parquet"), (partial(texts_bomb, kind=pyarrow.binary(5_000_000)), "a.parquet")),
    ],
)
def test_kilobytes_that_unpack_to_gigabytes_are_refused_before_they_fill_memory(make, name, tmp_path):
    make(tmp_path / name)
    most_before = pyarrow.default_memory_pool().max_memory()
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"unpacks to|holds a line|holds more than"):
            for _ in rows(tmp_path / name):
                pass
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
        assert pyarrow.default_memory_pool().max_memory() < max(most_before + 1, 100 << 20)
    finally:
        tracemalloc.stop()


def test_a_packed_file_of_millions_of_rows_is_refused_before_they_are_made(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"a":1}\n' * 2_000_000))
    n_rows = count()
    with pytest.raises(DataError, match="unpacks to"):
        deque(zip(rows(tmp_path / "a.jsonl.gz"), n_rows, strict=False), maxlen=0)
    assert next(n_rows) < 1_000_000


@pytest.mark.parametrize("name", ["commas.csv", "a.jsonl", "lines.json"])
def test_a_megabyte_of_blank_lines_is_read_at_once(name, tmp_path):
    (tmp_path / name).write_text("\n" * 500_000 + TEXTS[name] + "\n" * 500_000)
    assert len(list(rows(tmp_path / name))) == 2

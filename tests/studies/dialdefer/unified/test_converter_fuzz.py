"""Damaged publishers' files end in records that can be written, or in our own error: cases drawn by seed."""

import json
from collections import Counter
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest

from evenhand.errors import DataError
from studies.dialdefer.unified import amqa, bbq, gpqa, halueval, harp, plausibleqa, socialiqa, truthfulqa
from studies.dialdefer.unified.catalogue import DATASETS
from tests.made import mutations
from tests.made import unified_rows as rows_of
from tests.made.fuzz import draws
from tests.made.unified_files import csv_text, json_lines

N_ROWS = 3
AMQA = list(rows_of.amqa_rows(N_ROWS))
BBQ = list(rows_of.bbq_rows("Age", N_ROWS))
PLAUSIBLE = list(rows_of.plausibleqa_rows(N_ROWS))
# Dataset → the file that is damaged, the records in it.
RECORDS = {
    "advisorqa": ("test.jsonl", list(rows_of.advisorqa_rows(N_ROWS))),
    "amqa": (amqa.FILE, AMQA),
    "bbq": ("Age.jsonl", BBQ),
    "halueval": (halueval.FILE, list(rows_of.halueval_rows(N_ROWS))),
    "harp": (harp.FILE, list(rows_of.harp_rows(N_ROWS))),
    "plausibleqa": (plausibleqa.FILE, PLAUSIBLE),
    "socialiqa": (socialiqa.FILE, list(rows_of.socialiqa_rows(N_ROWS))),
}
TABLES = {
    "gpqa": (gpqa.FILE, csv_text(list(rows_of.gpqa_rows(N_ROWS))).encode()),
    "truthfulqa": (truthfulqa.FILE, csv_text(list(rows_of.truthfulqa_rows(N_ROWS))).encode()),
}


def cases() -> list[tuple[str, str]]:
    """(dataset, what is damaged) of every group of cases."""
    json_ones = [(dataset, kind) for dataset in RECORDS for kind in ("values", "bytes")]
    csv_ones = [(dataset, kind) for dataset in TABLES for kind in ("cells", "bytes")]
    return [*json_ones, *csv_ones]


def damage_of(dataset: str, kind: str) -> tuple[str, mutations.Damage]:
    """The file to write and how to draw its content."""
    if dataset in TABLES:
        name, content = TABLES[dataset]
        return name, partial(mutations.damaged_cells if kind == "cells" else mutations.damaged_bytes, content)
    name, rows = RECORDS[dataset]
    as_array = dataset == "plausibleqa"
    if kind == "values":
        return name, partial(mutations.damaged_array if as_array else mutations.damaged_lines, rows)
    content = json.dumps(rows) if as_array else json_lines(rows)
    return name, partial(mutations.damaged_bytes, content.encode())


def outcome(dataset: str, folder: Path) -> str:
    """ "records" or "error"; fails on records that cannot be written and on errors that cannot be read."""
    try:
        items = list(DATASETS[dataset].convert(folder))
    except DataError as error:
        message = str(error)
        message.encode()
        assert str(folder) in message
        assert len(message) - len(str(folder)) < 700
        assert message.isprintable()
        return "error"
    for item in items:
        json.dumps(asdict(item), ensure_ascii=False, allow_nan=False).encode()
        texts = (item.item_id, item.question, item.correct_answer, item.incorrect_answer, item.context)
        assert [type(text) for text in texts[:4]] == [str] * 4
        assert item.context is None or isinstance(item.context, str)
    return "records"


@pytest.mark.parametrize(("dataset", "kind"), cases())
def test_a_damaged_file_ends_in_records_or_in_our_own_error(dataset, kind, tmp_path):
    if dataset == "bbq":
        for stem in bbq.FILES:
            (tmp_path / f"{stem}.jsonl").write_text(json_lines(BBQ[:1]), encoding="utf-8")
    name, damage = damage_of(dataset, kind)
    outcomes: Counter[str] = Counter()
    for number, draw in enumerate(draws(f"{dataset} {kind}")):
        (tmp_path / name).write_bytes(damage(draw))
        try:
            outcomes[outcome(dataset, tmp_path)] += 1
        except Exception as error:
            error.add_note(f"case {number} of {dataset}, {kind}")
            raise
    assert min(outcomes["records"], outcomes["error"]) > 0, outcomes

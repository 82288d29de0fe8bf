"""Damaged files of external verdicts end in scores that can be written, or in our own error: 2,400 cases by seed."""

import gzip
import json
import random
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from eval.dialdefer.external.load_verdicts import load_external, score_external
from eval.estimates.observed import Drawing
from evenhand.errors import DataError
from tests.made import mutations
from tests.made.made_verdicts import C2_CORRECT, C2_INCORRECT, csv_text, verdict_rows, write

ROWS = [
    *verdict_rows("bbq", 2),
    *verdict_rows("bbq", 2, arm="sft", conditions=(C2_CORRECT, C2_INCORRECT), response="{}", error=None),
    *verdict_rows("aio", 1, label="OR", roles="1->2", benchmark="dialdefer"),
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = csv_text(ROWS).encode()

# File → how to draw its content, number of cases.
DAMAGES: dict[str, tuple[mutations.Damage, int]] = {
    "values.jsonl": (partial(mutations.damaged_lines, ROWS), 700),
    "bytes.jsonl": (partial(mutations.damaged_bytes, LINES), 400),
    "cells.csv": (partial(mutations.damaged_cells, CSV), 500),
    "bytes.csv": (partial(mutations.damaged_bytes, CSV), 400),
    "bytes.jsonl.gz": (partial(mutations.damaged_bytes, gzip.compress(LINES, mtime=0)), 200),
    "bytes.parquet": (lambda draw: mutations.damaged_bytes(PARQUET[0], draw), 200),
}
PARQUET: list[bytes] = []  # filled by the test: pyarrow is not imported before it is needed


def outcome(path: Path) -> str:
    """ "scores" or "error"; fails on scores that cannot be written and on errors that cannot be read."""
    try:
        rows = list(score_external(load_external([path]), ("answered",), Drawing(n_draws=4, seed=0)))
    except DataError as error:
        message = str(error)
        assert message.isprintable()
        assert path.name in message or message.startswith(("model '", "aio", "bbq"))
        assert len(message) - len(str(path)) < 1500
        return "error"
    assert rows
    json.dumps([row.as_dict() for row in rows], ensure_ascii=False, allow_nan=False).encode()
    return "scores"


def test_the_cases_are_two_thousand_and_more() -> None:
    assert sum(n for _, n in DAMAGES.values()) >= 2000


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_ends_in_scores_or_in_our_own_error(tmp_path: Path, name: str) -> None:
    damage, n_cases = DAMAGES[name]
    PARQUET[:] = [write(tmp_path / "whole.parquet", ROWS).read_bytes()] if name.endswith(".parquet") else []
    outcomes: Counter[str] = Counter()
    for number in range(n_cases):
        (tmp_path / name).write_bytes(damage(random.Random(f"{name} {number}")))
        try:
            outcomes[outcome(tmp_path / name)] += 1
        except Exception as error:
            error.add_note(f"case {number}")
            raise
    assert outcomes["error"] > 0.3 * n_cases, outcomes
    assert outcomes["scores"] > 0.01 * n_cases, outcomes

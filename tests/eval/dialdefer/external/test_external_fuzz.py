"""Damaged files of external verdicts end in scores that can be written, or in our own error: cases drawn by seed."""

import gzip
import json
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from eval.dialdefer.external.load_verdicts import load_external, score_external
from eval.estimates.observed import Drawing
from evenhand.errors import DataError
from tests.made import mutations
from tests.made.fuzz import IS_MANY, N_DAMAGED, draws
from tests.made.made_verdicts import C2_CORRECT, C2_INCORRECT, csv_text, verdict_rows, write

ROWS = [
    *verdict_rows("bbq", 2),
    *verdict_rows("bbq", 2, arm="sft", conditions=(C2_CORRECT, C2_INCORRECT), response="{}", error=None),
    *verdict_rows("aio", 1, label="OR", roles="1->2", benchmark="dialdefer"),
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = csv_text(ROWS).encode()

# File → how to draw its content.
DAMAGES: dict[str, mutations.Damage] = {
    "values.jsonl": partial(mutations.damaged_lines, ROWS),
    "bytes.jsonl": partial(mutations.damaged_bytes, LINES),
    "cells.csv": partial(mutations.damaged_cells, CSV),
    "bytes.csv": partial(mutations.damaged_bytes, CSV),
    "bytes.jsonl.gz": partial(mutations.damaged_bytes, gzip.compress(LINES, mtime=0)),
    "bytes.parquet": lambda draw: mutations.damaged_bytes(PARQUET[0], draw),
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


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_ends_in_scores_or_in_our_own_error(tmp_path: Path, name: str) -> None:
    PARQUET[:] = [write(tmp_path / "whole.parquet", ROWS).read_bytes()] if name.endswith(".parquet") else []
    outcomes: Counter[str] = Counter()
    for number, draw in enumerate(draws(name)):
        (tmp_path / name).write_bytes(DAMAGES[name](draw))
        try:
            outcomes[outcome(tmp_path / name)] += 1
        except Exception as error:
            error.add_note(f"case {number}")
            raise
    assert outcomes["error"] > 0.3 * N_DAMAGED, outcomes
    assert outcomes["scores"] > 0.01 * N_DAMAGED or not IS_MANY, outcomes

"""Rows → scores.json and CSV side by side."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.jsonl import write_json, write_whole


def write_rows(folder: Path, stem: str, rows: Sequence[Mapping[str, Any]]) -> list[Path]:
    """`<stem>.json` (a list of objects) and `<stem>.csv`; what is unknown is null in one and empty in the other."""
    json_file, csv_file = folder / f"{stem}.json", folder / f"{stem}.csv"
    write_json(json_file, list(rows))
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: " ".join(v) if isinstance(v, tuple | list) else v for k, v in row.items()})
    write_whole(csv_file, text.getvalue())
    return [json_file, csv_file]

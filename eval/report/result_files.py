"""Rows → scores.json and CSV side by side."""

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from evenhand.jsonl import write_whole

Cell = TypeVar("Cell")


def write_rows(folder: Path, stem: str, rows: Sequence[Mapping[str, Any]]) -> list[Path]:
    """`<stem>.json` (a list of objects) and `<stem>.csv`; what is unknown is null in one and empty in the other.

    Rows may have columns of their own; in the CSV a row is empty in those that it lacks.
    """
    json_file, csv_file = folder / f"{stem}.json", folder / f"{stem}.csv"
    # A row a line: to indent takes several times as long.
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    write_whole(json_file, "[\n" + ",\n".join(lines) + "\n]\n")
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([words(row.get(name)) for name in names] for row in rows)]
    write_whole(csv_file, str(CsvText(cells)))
    return [json_file, csv_file]


def words(value: Any) -> Any:
    """A value for one cell: a list's words after each other."""
    return " ".join(value) if isinstance(value, tuple | list) else value


class CsvText:
    """CSV as a text. Only a line terminator with both characters makes Python quote a text that holds either."""

    def __init__(self, lines: Iterable[Sequence[Any]]) -> None:
        self.lines: list[str] = []
        csv.writer(self, lineterminator="\r\n").writerows(map(inert, cells) for cells in lines)

    def write(self, line: str) -> None:
        """Take one line, as csv.writer hands it over."""
        self.lines.append(line.removesuffix("\r\n") + "\n")

    def __str__(self) -> str:
        return "".join(self.lines)


def inert(cell: Cell) -> Cell | str:
    """A cell that no spreadsheet computes: before a text that begins as a formula does stands an apostrophe.

    Numbers as we print them ("+1.2", "-3.0 [-5.1, 2.0]") can call nothing and stay.
    """
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return cell
    return cell if re.fullmatch(r"[-+0-9.,%±\[\]() –]+", cell) else f"'{cell}"

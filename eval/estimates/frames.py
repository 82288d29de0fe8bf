"""The long frames of scores and of changes, one row a measure and setting, and the same as files.

Both have study, dataset, datasets, measure, unit, n_units, n_draws, seed, and a column for each name of the setting
(what was asked, and how replies were read and counted). Scores have run, judge, value, low, high; changes first,
second, n_errors, before, after and change with their ends (`before_low`, ...), p, p_holm, direction. What is unknown is
NaN or None there, null in JSON, and empty in CSV.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eval.estimates.changes import Change
from eval.estimates.scores import Score
from eval.report.numbers import is_unknown
from eval.report.tables import csv_text
from evenhand.jsonl import write_whole

SHARED = ("dataset", "datasets", "measure", "unit", "n_units", "n_draws", "seed")
SCORE_FIGURES = ("value", "low", "high")
CHANGE_FIGURES = (
    *(f"{side}{end}" for side in ("before", "after", "change") for end in ("", "_low", "_high")),
    *("p", "p_holm"),
)
SCORE_COLUMNS = ("run", "judge", *SHARED, *SCORE_FIGURES)
CHANGE_COLUMNS = ("first", "second", *SHARED, *CHANGE_FIGURES, "n_errors", "direction")
NUMBERS = {*SCORE_FIGURES, *CHANGE_FIGURES}


def scores_frame(scores: Iterable[Score]) -> pd.DataFrame:
    """The scores of one study."""
    return framed((score.as_dict() for score in scores), SCORE_COLUMNS)


def changes_frame(changes: Iterable[Change]) -> pd.DataFrame:
    """The changes of one study; direction: -1 and 1 for a significant fall and rise, 0 for none."""
    return framed(({**change.as_dict(), "direction": change.direction} for change in changes), CHANGE_COLUMNS)


def framed(rows: Iterable[Mapping[str, Any]], least: Sequence[str]) -> pd.DataFrame:
    """Rows as a frame that has at least these columns; figures are floats, all else is as it was."""
    listed = list(rows)
    names = list(dict.fromkeys([*(name for row in listed for name in row), *least]))
    frame = pd.DataFrame([[row.get(name) for name in names] for row in listed], columns=names, dtype=object)
    return frame.astype({name: "float64" for name in names if name in NUMBERS})


def write_rows(folder: Path, stem: str, rows: Sequence[Mapping[str, Any]]) -> list[Path]:
    """`<stem>.json` (a list of objects) and `<stem>.csv`; in the CSV a row is empty in columns that it lacks."""
    json_file, csv_file = folder / f"{stem}.json", folder / f"{stem}.csv"
    # A row a line: to indent takes several times as long.
    lines = (json.dumps({k: None if is_unknown(v) else v for k, v in row.items()}, ensure_ascii=False) for row in rows)
    write_whole(json_file, "[\n" + ",\n".join(lines) + "\n]\n")
    names = list(dict.fromkeys(name for row in rows for name in row))
    write_whole(csv_file, csv_text([names, *([row.get(name) for name in names] for row in rows)]))
    return [json_file, csv_file]


def write_long(folder: Path, stem: str, of_studies: Mapping[str, Sequence[Score] | Sequence[Change]]) -> list[Path]:
    """<stem>.json and .csv of the rows of all studies; the paths written. Nothing where there is no row."""
    rows = [{"study": study, **row.as_dict()} for study, of_study in of_studies.items() for row in of_study]
    return write_rows(folder, stem, rows) if rows else []

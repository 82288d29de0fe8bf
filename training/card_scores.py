"""What was measured, for a model card: a file of changes in long form, as `evenhand compare` and `scorecard` write."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.markdown import table
from training.card_numbers import number, signed, with_interval

FILES = ("compare.json", "scorecard_changes.json")
# What every row of such a file has; the others say what was asked.
COLUMNS = (
    *("study", "first", "second", "dataset", "datasets", "measure", "unit", "n_units", "n_errors"),
    *(f"{level}{end}" for level in ("before", "after", "change") for end in ("", "_low", "_high")),
    *("p", "p_holm", "n_draws", "seed"),
)
HEADER = ("asked", "over", "measure", "units", "before", "after", "change")
Row = Mapping[str, Any]


def scores_text(place: Path, training_run: str, named: str | None = None) -> str:
    """The section "Scores before and after" of the model that a training run made.

    place: a file of changes, or a folder with some. named: which of its models is meant, by a part of its name, where
    it is not the training run's. Raises DataError when there is no such file or the model is not clear.
    """
    files = [place] if not place.is_dir() else [place / name for name in FILES if (place / name).is_file()]
    if not files:
        raise DataError(
            f"{place}: has neither {' nor '.join(FILES)}; `evenhand compare BASE_RUN AFTER_RUN --out FOLDER` or "
            "`evenhand scorecard` makes one"
        )
    return "\n\n".join(changes_text(rows_of_model(read_rows(file), training_run, named, file)) for file in files)


def read_rows(file: Path) -> list[Row]:
    """A list of rows. Raises DataError when the file holds none."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror}); `evenhand compare` makes a compare.json") from None
    except ValueError:
        raise DataError(f"{file}: is no JSON; make it anew with `evenhand compare` or `evenhand scorecard`") from None
    if not rows or not isinstance(rows, list) or not all(isinstance(r, dict) and r.keys() >= {*COLUMNS} for r in rows):
        raise DataError(f"{file}: holds no changes; make it anew with `evenhand compare` or `evenhand scorecard`")
    return rows


def rows_of_model(rows: Sequence[Row], training_run: str, named: str | None, place: Path) -> list[Row]:
    """The rows of one model after training, against the first that it was held against."""
    there = list(dict.fromkeys(str(row["second"]) for row in rows))
    found = there if named is None and len(there) == 1 else [name for name in there if (named or training_run) in name]
    if len(found) != 1:
        meant = f"are called after training run {training_run}" if named is None else f"are called '{named}'"
        raise DataError(
            f"{place}: {len(found)} of its models {meant}; say which with --scores-of NAME. There are: "
            + ", ".join(there)
        )
    of_model = [row for row in rows if row["second"] == found[0]]
    return [row for row in of_model if row["first"] == of_model[0]["first"]]


def changes_text(rows: Sequence[Row]) -> str:
    """Some changes of one model: averages where there are any, else every dataset."""
    averages = [row for row in rows if len(row["datasets"]) > 1]
    shown, first = averages or rows, rows[0]
    return (
        f"Before: {first['first']}. After: {first['second']}. Percent and percentage points (pp); in brackets 95 % "
        f"intervals, paired by unit, from {first['n_draws']:,} draws.\n\n"
        + table(HEADER, [line_of(row, asked(shown)) for row in shown], n_words=3)
    )


def asked(rows: Sequence[Row]) -> list[str]:
    """The keys that say what was asked and are not the same in all rows."""
    keys = [key for key in rows[0] if key not in COLUMNS]
    return [key for key in keys if len({str(row.get(key)) for row in rows}) > 1]


def line_of(row: Row, keys: Sequence[str]) -> list[str]:
    """One change as cells."""
    setting = ", ".join(f"{key} {row[key]}" for key in keys if row.get(key) not in (None, ""))
    written = signed if row["unit"] == "pp" else number
    levels = [with_interval(row, level, written) for level in ("before", "after")]
    measure = f"{row['measure']}, {row['unit']}"
    return [setting, row["dataset"], measure, f"{row['n_units']:,}", *levels, with_interval(row, "change", signed)]

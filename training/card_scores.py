"""What was measured, for a model card: compare.json (own C1 and fixed C1, both labelled) and scorecard.json."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.markdown import table
from training.card_numbers import number, signed, with_interval
from training.card_scorecard import FIELDS, scorecard_text

COMPARE_FILE, SCORECARD_FILE = "compare.json", "scorecard.json"
OWN, FIXED = "own", "fixed"
HEADER = (
    "dataset", "items", "accuracy C1", "accuracy C2", "DDS before", "DDS after, own C1", "DDS after, fixed C1",
    "change of DDS, own C1",
)  # fmt: skip
COMPARE_FIELDS = {
    "after_run", "after_model", "base_model", "arm", "roles", "variant", "c1_source", "dataset", "denominator",
    "verdict", "n_items", "n_draws", "base_acc_c1", "base_acc_c2", "base_dds_pp", "after_acc_c1", "after_acc_c2",
    "after_dds_pp", "after_dds_ci_low_pp", "after_dds_ci_high_pp", "change_dds_pp", "change_dds_ci_low_pp",
    "change_dds_ci_high_pp", "over_corrected",
}  # fmt: skip
Row = Mapping[str, Any]


def scores_text(place: Path, training_run: str, named: str | None = None) -> str:
    """The section "Scores before and after" of the model that a training run made.

    place: a compare.json or scorecard.json, or a folder with either or both. named: which of its models is meant, by
    its run or label, where it holds several. Raises DataError when there is no such file or the model is not clear.
    """
    files = [place]
    if place.is_dir():
        files = [place / name for name in (COMPARE_FILE, SCORECARD_FILE) if (place / name).is_file()]
    if not files:
        raise DataError(
            f"{place}: has neither {COMPARE_FILE} nor {SCORECARD_FILE}; `evenhand compare BASE_RUN AFTER_RUN --out "
            "FOLDER` or `evenhand scorecard` makes one"
        )
    parts = []
    for file in files:
        rows = read_rows(file)
        if all(row.keys() >= FIELDS for row in rows):
            parts.append(scorecard_text(rows, training_run, named, file))
        elif all(row.keys() >= COMPARE_FIELDS for row in rows):
            parts.append(compare_text(rows_of_model(rows, named, file)))
        else:
            raise DataError(f"{file}: holds no rows of `evenhand compare` or `evenhand scorecard`; make it anew")
    return "\n\n".join(parts)


def read_rows(file: Path) -> list[Row]:
    """A list of rows. Raises DataError when the file holds none."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror}); `evenhand compare` makes a compare.json") from None
    except ValueError:
        raise DataError(f"{file}: is no JSON; make it anew with `evenhand compare` or `evenhand scorecard`") from None
    if not rows or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{file}: is no list of rows; make it anew with `evenhand compare` or `evenhand scorecard`")
    return rows


def compare_text(rows: Sequence[Row]) -> str:
    """The rows of one model in compare.json."""
    first = rows[0]
    wordings = dict.fromkeys(wording(row) for row in rows)
    tables = [
        (f"{name}:\n\n" if name else "") + table(HEADER, score_rows([r for r in rows if wording(r) == name]), n_words=1)
        for name in wordings
    ]
    reading = f"`{first['verdict']}` verdicts"
    if first["verdict"] != "margin":
        reading += f", unreadable replies {'counted as wrong' if first['denominator'] == 'published' else 'left out'}"
    over = sorted({row["dataset"] for row in rows if row["over_corrected"] and row["c1_source"] == OWN})
    return "\n\n".join(
        [
            f"Before: {first['base_model']}. After: {first['after_model']}, run `{first['after_run']}`. Accuracies in "
            f"percent, before → after; DDS in percentage points (above 0 deference, below 0 skepticism); {reading}; "
            f"in brackets 95 % intervals, by a bootstrap over items with {first['n_draws']:,} draws.",
            *tables,
            "`own C1` compares the model's verdicts on speakers' turns with its own on statements: the one to believe. "
            "`fixed C1` compares them with the untrained model's, as published mitigation tables do.",
            f"Over-corrected (DDS above 0 before, below 0 after, own C1): {', '.join(over) or 'none'}.",
        ]
    )


def rows_of_model(rows: Sequence[Row], named: str | None, place: Path) -> list[Row]:
    """The rows of one model after training. Raises DataError naming those there are."""
    runs = {str(row["after_run"]): str(row["after_model"]) for row in rows}
    found = [run for run, model in runs.items() if named is None or named in (run, model)]
    if len(found) != 1:
        there = ", ".join(f"{run} ({model})" for run, model in runs.items())
        problem = "holds several models" if named is None else f"'{named}' names {len(found)} of its models"
        raise DataError(f"{place}: {problem}; say which with --scores-of NAME. There are: {there}")
    return [row for row in rows if row["after_run"] == found[0]]


def wording(row: Row) -> str:
    """What a row's prompts are called beside the plain ones; empty for those."""
    arm = "" if row["arm"] == "none" else f"arm {row['arm']}"
    return ", ".join(part for part in (arm, row["roles"] and f"roles {row['roles']}", row["variant"]) if part)


def score_rows(rows: Sequence[Row]) -> list[list[str]]:
    """A line for each dataset and average, from its row with own C1 and its row with fixed C1."""
    by_source = {source: {r["dataset"]: r for r in rows if r["c1_source"] == source} for source in (OWN, FIXED)}
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        own, fixed = (by_source[source].get(dataset) for source in (OWN, FIXED))
        some = own or fixed
        assert some is not None
        c1 = f"{number(some['base_acc_c1'])} → {number(own['after_acc_c1'] if own else None)}"
        c2 = f"{number(some['base_acc_c2'])} → {number(some['after_acc_c2'])}"
        measures = [
            with_interval(row, name) for row, name in ((own, "after_dds"), (fixed, "after_dds"), (own, "change_dds"))
        ]
        lines.append([dataset, f"{some['n_items']:,}", c1, c2, signed(some["base_dds_pp"]), *measures])
    return lines

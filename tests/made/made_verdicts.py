"""Rows of external verdicts made up for tests, and the files that they can lie in."""

import gzip
import json

import pandas as pd

from eval.__main__ import score_main
from studies.dialdefer.records import Condition

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition

# Of 10 items: C1_True 6 right, C1_False 8, C2_Correct 8 (only ever better), C2_Incorrect 5 (items 0-2 flip).
WRONG = {C1_TRUE: {0, 1, 2, 3}, C1_FALSE: {8, 9}, C2_CORRECT: {0, 9}, C2_INCORRECT: {0, 1, 2, 8, 9}}


def verdict_rows(dataset, n_items=10, wrong=WRONG, conditions=tuple(Condition), **fields):
    """A row for each item and condition: right but for the items named, of model `m` unless `fields` say more."""
    rows = []
    for number in range(n_items):
        for condition in conditions:
            right = 1 if condition.claim_is_true else 2
            choice = 3 - right if number in wrong.get(condition, ()) else right
            key = {"model": "m", "dataset": dataset, "item_id": f"{dataset}-{number}", "condition": str(condition)}
            rows.append({**key, "choice": choice, **fields})
    return rows


def write(path, rows):
    """The rows as a file of the kind that its suffix says."""
    if path.suffix == ".parquet":
        pd.DataFrame(rows, dtype=object).to_parquet(path, index=False)
        return path
    if path.suffix == ".json":
        path.write_text(json.dumps(rows))
        return path
    content = csv_text(rows) if ".csv" in path.suffixes else "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(content.encode(), mtime=0) if path.suffix == ".gz" else content.encode())
    return path


def csv_text(rows):
    """The rows as CSV; null is an empty cell."""
    return pd.DataFrame(rows, dtype=object).to_csv(index=False)


def scored(paths, *options, draws=200):
    """What `evenhand score RUN` or `evenhand score FILE...` writes, in wide_rows."""
    out = paths[0].parent / "out"
    score_main([*map(str, paths), "--out", str(out), "--draws", str(draws), "--all", *options])
    return wide_rows(out)


FIGURES = ("measure", "unit", "value", "low", "high", "n_units")


def wide_rows(folder):
    """scores.json as a row a setting and dataset, with <measure>, <measure>_low and <measure>_high; _pp for points."""
    rows = {}
    for score in json.loads((folder / "scores.json").read_text(encoding="utf-8")):
        asked = {name: value for name, value in score.items() if name not in FIGURES}
        row = rows.setdefault(json.dumps(asked), asked)
        end = "_pp" if score["unit"] == "pp" else ""
        row[f"{score['measure']}{end}"] = score["value"]
        row |= {f"{score['measure']}_{side}{end}": score[side] for side in ("low", "high") if score[side] is not None}
    return list(rows.values())


def scores_of(folder, rows, *options):
    """The same of rows of verdicts, by way of JSON lines."""
    return scored([write(folder / "verdicts.jsonl", rows)], *options)


KEY = ("judge", "arm", "roles", "c1_source", "dataset")


def by_key(rows):
    """Key → row without the name of its source. No two rows have one key."""
    keyed = {tuple(row[name] for name in KEY): {k: v for k, v in row.items() if k != "run"} for row in rows}
    assert len(keyed) == len(rows)
    return keyed


def only(rows, **keys):
    """The one row with these values."""
    found = [row for row in rows if all(row[name] == value for name, value in keys.items())]
    assert len(found) == 1, f"{len(found)} rows for {keys}"
    return found[0]

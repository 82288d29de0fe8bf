"""Scores and changes as files in long form, one row a measure and setting; *.schema.json beside this file say what a
row holds."""

from collections.abc import Sequence
from pathlib import Path

from eval.estimates.changes import Change
from eval.estimates.scores import Score
from eval.report.result_files import write_rows


def write_scores(folder: Path, study: str, scores: Sequence[Score]) -> list[Path]:
    """scores.json and scores.csv in a folder; the paths written."""
    return write_rows(folder, "scores", [{"study": study, **score.as_dict()} for score in scores])


def write_changes(folder: Path, stem: str, study: str, changes: Sequence[Change]) -> list[Path]:
    """<stem>.json and <stem>.csv in a folder; the paths written."""
    return write_rows(folder, stem, [{"study": study, **change.as_dict()} for change in changes])

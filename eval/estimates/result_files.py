"""Scores and changes of every study as files in long form, one row a measure and setting."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.estimates.changes import Change
from eval.estimates.scores import Score
from eval.report.result_files import write_rows


def write_scores(folder: Path, of_studies: Mapping[str, Sequence[Score]]) -> list[Path]:
    """scores.json and scores.csv in a folder; the paths written."""
    return write_long(folder, "scores", of_studies)


def write_changes(folder: Path, stem: str, of_studies: Mapping[str, Sequence[Change]]) -> list[Path]:
    """<stem>.json and <stem>.csv in a folder; the paths written. Nothing where there is no change."""
    return write_long(folder, stem, of_studies) if any(of_studies.values()) else []


def write_long(folder: Path, stem: str, of_studies: Mapping[str, Sequence[Score] | Sequence[Change]]) -> list[Path]:
    """The rows of all studies, each with the name of its own."""
    rows = [{"study": study, **row.as_dict()} for study, of_study in of_studies.items() for row in of_study]
    return write_rows(folder, stem, rows)

"""Scores of this study as files: in long form, and in the wide view."""

from collections.abc import Sequence
from pathlib import Path

from eval.dialdefer.rows import ScoreRow
from eval.estimates.result_files import write_scores
from eval.estimates.scores import Score
from eval.report.result_files import write_rows

STUDY = "dialdefer"


def write_all(out: Path, scores: Sequence[Score], rows: Sequence[ScoreRow]) -> list[Path]:
    """scores and scores_wide, each as .json and .csv, in a folder; rows: the wide view. The paths written."""
    return [*write_scores(out, STUDY, scores), *write_rows(out, "scores_wide", [row.as_dict() for row in rows])]

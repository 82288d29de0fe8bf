"""Scores of this study as files: in long form, and in the wide view."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.dialdefer.rows import ScoreRow
from eval.estimates.result_files import write_scores
from eval.estimates.scores import Score
from eval.report.result_files import write_rows

STUDY = "dialdefer"


def write_all(out: Path, scores: Sequence[Score], rows: Sequence[ScoreRow]) -> list[Path]:
    """scores and scores_wide, each as .json and .csv, in a folder; rows: the wide view. The paths written."""
    wide = [file for stem, of in wide_view(rows).items() for file in write_rows(out, stem, of)]
    return [*write_scores(out, {STUDY: scores}), *wide]


def wide_view(rows: Sequence[ScoreRow]) -> dict[str, list[dict[str, Any]]]:
    """scores_wide: a row for each dataset and setting, and a column for each measure."""
    return {"scores_wide": [row.as_dict() for row in rows]}

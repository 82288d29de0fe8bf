"""The long frames of scores and of changes, one row a measure and setting

Both have study, dataset, datasets, measure, unit, n_units, n_draws, seed, and a column for each name of the setting
(what was asked, and how replies were read and counted). Scores have run, judge, value, low, high; changes first,
second, n_errors, before, after and change with their ends (`before_low`, ...), p, p_holm, direction. What is unknown is
NaN or None.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from eval.estimates.changes import Change
from eval.estimates.estimate import Drawing, Estimate, Setting

SHARED = ("dataset", "datasets", "measure", "unit", "n_units", "n_draws", "seed")
SCORE_FIGURES = ("value", "low", "high")
CHANGE_FIGURES = (
    *(f"{side}{end}" for side in ("before", "after", "change") for end in ("", "_low", "_high")),
    *("p", "p_holm"),
)
SCORE_COLUMNS = ("run", "judge", *SHARED, *SCORE_FIGURES)
CHANGE_COLUMNS = ("first", "second", *SHARED, *CHANGE_FIGURES, "n_errors", "direction")
NUMBERS = {*SCORE_FIGURES, *CHANGE_FIGURES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One measure of one judge in one setting."""

    run: str  # the run directory's name, or the files'
    judge: str  # what tables call it
    setting: Setting  # what was asked and how replies were read and counted, by name
    dataset: str  # or the average's name
    datasets: tuple[str, ...]  # that it is over
    measure: str
    unit: str  # "%", "pp" (percentage points), "count", "p", "rate" (0 to 1), "ratio", "SD"
    estimate: Estimate
    drawing: Drawing | None  # None where no interval is drawn

    def as_dict(self) -> dict[str, Any]:
        """The row as files have it."""
        estimate, drawing = self.estimate, self.drawing
        own = {"run": self.run, "judge": self.judge, **self.setting, "dataset": self.dataset, "datasets": self.datasets}
        value = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n_units": estimate.n_units}
        draws = {"n_draws": drawing and drawing.n_draws, "seed": drawing and drawing.seed}
        return {**own, "measure": self.measure, "unit": self.unit, **value, **draws}


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

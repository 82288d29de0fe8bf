"""Scores in long form: one a measure and setting, of every study."""

from dataclasses import dataclass
from typing import Any

from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing, Setting


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
        return {
            "run": self.run,
            "judge": self.judge,
            **self.setting,
            "dataset": self.dataset,
            "datasets": self.datasets,
            "measure": self.measure,
            "unit": self.unit,
            "value": self.estimate.value,
            "low": self.estimate.low,
            "high": self.estimate.high,
            "n_units": self.estimate.n_units,
            "n_draws": self.drawing and self.drawing.n_draws,
            "seed": self.drawing and self.drawing.seed,
        }

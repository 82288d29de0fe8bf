"""The rows of a scorecard, as every study sees them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from eval.sampling_runs import SampledRun
from evenhand.errors import DataError

BASE = "base"


def refuse_repeated(paths: Sequence[Path]) -> None:
    """Raises DataError when a run is named twice, as base or as arm."""
    resolved = [path.resolve() for path in paths]
    for i, path in enumerate(resolved):
        if path in resolved[:i]:
            raise DataError(f"{paths[i]}: is named twice; an arm is a run of its own, beside the base and the others")


class CardArm(Protocol):
    """A base or an arm: one row."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str:
        """BASE, "trained", or "calibrated": thresholds on the base's run."""
        ...

    @property
    def run(self) -> SampledRun:
        """Its run of the card's own study."""
        ...

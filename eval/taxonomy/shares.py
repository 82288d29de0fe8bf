"""Coded flips → shares of codes and categories with intervals, and ratios between directions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from eval.estimates.estimate import Drawn, Estimate, clustered, estimate_of
from eval.estimates.observed import Drawing, Measure, Observed, added_up
from eval.estimates.resampling import percentile_interval
from eval.taxonomy.coded_flips import CodedFlip
from studies.flips import LENIENT, STRICT
from studies.taxonomy.codebook import categories, category_of, codes

ALL = "all"  # directions, or datasets
DIRECTIONS = (ALL, LENIENT, STRICT)
What = Literal["primary", "listed", "category"]


def labels_of(flip: CodedFlip, what: What) -> Collection[str]:
    """What a flip is sorted under."""
    if what == "listed":
        return flip.codes
    return (flip.primary,) if what == "primary" else (category_of()[flip.primary],)


def all_labels(what: What) -> list[str]:
    """Every code, or every category, in the order of Table 19."""
    return [of.category for of in categories()] if what == "category" else list(codes())


def part(number: int) -> Measure:
    """The share of one label in percent."""
    return Measure(
        name="share",
        unit="%",
        statistic=lambda means: 100 * means[..., number],
        interval="cluster_t",
        is_share=True,
    )


@dataclass(frozen=True, kw_only=True)
class Shares:
    """How often each label occurs among some flips."""

    flips: Sequence[CodedFlip]
    what: What

    @cached_property
    def labels(self) -> list[str]:
        """All that there are."""
        return all_labels(self.what)

    @cached_property
    def observed(self) -> Observed:
        """A part for each label, over items."""
        return added_up(
            "flips",
            [
                [(flip.unit, float(label in labels_of(flip, self.what)), 1.0) for flip in self.flips]
                for label in self.labels
            ],
        )

    def count(self, label: str) -> int:
        """How many flips have it."""
        return round(float(self.observed.earned[:, self.labels.index(label)].sum()))

    def estimate(self, label: str) -> Estimate:
        """Its share in percent, with an interval of Student's t over items; unknown without flips."""
        if not self.flips:
            return Estimate(value=None, low=None, high=None, n_units=0)
        return clustered(part(self.labels.index(label)), self.observed)

    def ranked(self) -> list[str]:
        """The labels that occur, most frequent first, equal ones in the order of Table 19."""
        return sorted((label for label in self.labels if self.count(label)), key=lambda label: -self.count(label))


def in_direction(flips: Sequence[CodedFlip], direction: str) -> list[CodedFlip]:
    """The flips of a direction, or all."""
    return [flip for flip in flips if direction in (ALL, flip.direction)]


def ratio_of(flips: Sequence[CodedFlip], what: What, label: str, drawing: Drawing) -> Estimate:
    """How many times as frequent a label is among deference as among skepticism flips (Table 32).

    The interval resamples items. Unknown where either share is 0 or has no flips, and without an interval where a draw
    has none.
    """
    parts = [
        [(flip.unit, float(label in labels_of(flip, what)), 1.0) for flip in in_direction(flips, way)]
        for way in (LENIENT, STRICT)
    ]
    drawn = Drawn(observed=added_up("ratios", parts), drawing=drawing)
    shares = drawn.observed.means
    if not (shares > 0).all():
        return Estimate(value=None, low=None, high=None, n_units=len(drawn.observed.units))
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = drawn.means[:, 0] / drawn.means[:, 1]
    ends = percentile_interval(draws) if np.isfinite(draws).all() else None
    return estimate_of(float(shares[0] / shares[1]), ends, len(drawn.observed.units))

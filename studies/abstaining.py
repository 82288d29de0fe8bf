"""Abstaining: on which claims a judge gives one verdict however it is asked, and how often it is right on these.

Risk against coverage: how often the most common verdict is wrong on the claims that are kept, as the least sure ones
are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eval.estimates.estimate import Measure, Observed, estimate
from eval.estimates.resampling import Drawing, FloatArray

if TYPE_CHECKING:
    from eval.report.plots import Plot

UNCLEAR = -1.0  # the verdict of an unparsed reply, or of a tie: it agrees with none
SHARES_KEPT = np.arange(1, 11) / 10  # of the claims, by margin
ROUNDING = 1e-9
MOST_JUDGES = 3  # in the figure, two lines each


def part_mean(name: str, part: int) -> Measure:
    """A part of Claims.columns, in percent."""
    return Measure(name=name, unit="%", statistic=lambda means: 100 * means[..., part], is_share=True)


NAMES = ("agreed", "right_agreed", "right_majority", "right_all")
AGREED, RIGHT_AGREED, *_ = MEASURES = [part_mean(name, part) for part, name in enumerate(NAMES)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Claims:
    """A judge's verdicts on the claims of one dataset: arrays (n_items, n_claims, n_askings), framings × orders.

    verdicts: which answer, from 0 on, or UNCLEAR; NaN where a claim was not asked so.
    right: 1 or 0, the share of several samples, or half of a tie; NaN where unknown.
    odds: log-odds of one answer against the other, in nats; NaN where unknown.
    """

    dataset: str
    items: tuple[str, ...]
    clusters: Sequence[str]  # of each item
    verdicts: FloatArray
    right: FloatArray
    odds: FloatArray

    @cached_property
    def shares(self) -> FloatArray:
        """(n_items, n_claims, n_askings): the share of a claim's askings that have the same verdict; 0 for UNCLEAR."""
        is_same = (self.verdicts[..., None] == self.verdicts[..., None, :]) & (self.verdicts[..., None] >= 0)
        return np.asarray(is_same.mean(axis=-1))

    @cached_property
    def support(self) -> FloatArray:
        """(n_items, n_claims): the share of askings with the most common verdict; NaN where one was not asked."""
        return np.where(np.isnan(self.verdicts).any(axis=-1), np.nan, self.shares.max(axis=-1))

    @cached_property
    def right_by_majority(self) -> FloatArray:
        """(n_items, n_claims): whether the most common verdict is right, the mean of several; NaN where unknown."""
        is_counted = (self.shares == self.support[..., None]) & ~np.isnan(self.right)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(is_counted, self.right, 0.0).sum(axis=-1) / is_counted.sum(axis=-1))

    @cached_property
    def sureness(self) -> FloatArray:
        """(n_items, n_claims): the rank of the mean |log-odds|, from 0 for the least sure to 1.

        A claim of which they are unknown is the least sure; NaN where it was not asked, or all are unknown.
        """
        odds = np.abs(self.odds).mean(axis=-1)
        is_missing = np.isnan(odds) & ~np.isnan(self.support) & ~np.isnan(odds).all()
        ranks = pd.Series(np.where(is_missing, -1.0, odds).ravel()).rank(pct=True)
        return np.asarray(ranks).reshape(self.odds.shape[:2])

    def columns(self, is_kept: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """(earned, counted), each (n_items, 4): claims that are kept, of all; most common verdicts that are right, of
        these and of all; verdicts that are right, of all.

        is_kept: (n_items, n_claims).
        """
        is_asked, is_labelled = ~np.isnan(self.support), ~np.isnan(self.right_by_majority)
        parts = [
            (is_kept.astype(float), is_asked),
            (self.right_by_majority, is_kept & is_labelled),
            (self.right_by_majority, is_labelled),
            (self.right, is_asked[..., None] & ~np.isnan(self.right)),
        ]
        by_item = [(np.where(is_in, values, 0.0), is_in) for values, is_in in parts]
        earned, counted = (
            np.stack([pair[side].reshape(len(self.items), -1).sum(axis=1) for pair in by_item], axis=1)
            for side in (0, 1)
        )
        return earned, counted.astype(float)

    def observed(self, is_kept: NDArray[np.bool_]) -> Observed:
        """The columns, by cluster."""
        earned, counted = self.columns(is_kept)
        of_items = Observed(dataset=self.dataset, units=self.items, earned=earned, counted=counted)
        return of_items.by_cluster(self.clusters)


def risks(claims: Sequence[Claims], drawing: Drawing) -> pd.DataFrame:
    """Wrong majorities in percent (value, low, high) against the percentage of claims kept (x), a series for each order
    in which claims are left out: by how many askings agree, and by margin. Means over datasets; empty without labels.
    """
    supports = np.unique(np.concatenate([part.support.ravel() for part in claims]))
    orders: dict[str, tuple[Any, list[FloatArray]]] = {
        "by agreement": (supports[supports >= 0] - ROUNDING, [part.support for part in claims]),
        "by margin": (1 - SHARES_KEPT + ROUNDING, [part.sureness for part in claims]),
    }
    points = list[dict[str, Any]]()
    for series, (limits, scores) in orders.items():
        for limit in limits:
            parts = [part.observed(score > limit) for part, score in zip(claims, scores, strict=True)]
            right = estimate(RIGHT_AGREED, parts, drawing)
            if right.value is None:
                continue
            errors = [None if value is None else 100 - value for value in (right.value, right.high, right.low)]
            kept = float(AGREED.over([AGREED.statistic(part.means) for part in parts]))
            points.append({"series": series, "x": kept, **dict(zip(("value", "low", "high"), errors, strict=True))})
    return pd.DataFrame(points)


def risk_plots(judges: Mapping[str, Sequence[Claims]], drawing: Drawing) -> "list[Plot]":
    """The figure of risk against coverage; none without labels."""
    from eval.report.plots import line_plot  # loads matplotlib, which scoring does not need

    shown = list(judges.items())[:MOST_JUDGES]
    frames = {name: risks(claims, drawing) for name, claims in shown if claims}
    lines = [
        frame.assign(series=[f"{name} {series}" if len(shown) > 1 else series for series in frame["series"]])
        for name, frame in frames.items()
        if len(frame)
    ]
    labels = ("claims kept, %; the others are left to somebody else", "wrong by majority, %")
    return [line_plot("abstaining", "Errors on the claims that are kept", pd.concat(lines), labels)] if lines else []

"""DDS item by item, and how it spreads over a judge's items (DialDefer appendix I.1 and J.1, Tables 25 and 29)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import credit
from eval.dialdefer.dds import dds_pp
from eval.dialdefer.flip_analysis import FlipCount, flip_count, percent, summed
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import panels_by_judge
from eval.dialdefer.panels import Panel, without_errors
from eval.report.table import Table

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSpread:
    """One judge's item-level DDS over the items of all its datasets, pooled: a dataset weighs as many items as it has.

    Item-level figures are None when no item has one. The shares are of items whose DDS is above, at and below zero.
    """

    judge: str
    datasets: tuple[str, ...]
    n_items: int  # with an item-level DDS
    n_without: int  # items that have none: a condition of theirs is not counted (denominator `answered`)
    mean_dds_pp: float | None
    std_dds_pp: float | None  # over items, ddof 0
    deference_rate: float | None
    neutral_rate: float | None
    skepticism_rate: float | None
    histogram: tuple[tuple[float, int], ...]  # (item-level DDS in pp, n_items), ascending, only what occurs
    flips: FlipCount


def item_dds_pp(panel: Panel, denominator: str = "published") -> FloatArray:
    """Each item's own DDS in percentage points, in [-200, 200], shape (n_items,); NaN where a condition is not counted.

    It is DDS with the item's credit for accuracy: 0 or 1 (½ for a tie, a fraction with several samples). With
    denominator `published` its mean over a dataset is the dataset's DDS.
    """
    earned, counted = credit(panel.replies, denominator)
    return np.where(counted.all(axis=1), dds_pp(earned), np.nan)


def item_spreads(judges: Sequence[Judge], denominator: str = "published") -> list[ItemSpread]:
    """One spread for each judge, without items lost to engine errors."""
    panels = panels_by_judge(judges)
    return [spread_of(judge, list(by_dataset.values()), denominator) for judge, by_dataset in panels.items()]


def spread_of(judge: str, panels: Sequence[Panel], denominator: str) -> ItemSpread:
    """The spread over the items of some panels."""
    every = np.concatenate([item_dds_pp(without_errors(panel)[0], denominator) for panel in panels])
    known = every[~np.isnan(every)]
    # Rounded, so that thirds of several samples that are equal but for their last bit are one value.
    rounded = known.round(6)
    values, n_of_value = np.unique(rounded, return_counts=True)
    some = len(known) > 0
    return ItemSpread(
        judge=judge,
        datasets=tuple(panel.dataset for panel in panels),
        n_items=len(known),
        n_without=len(every) - len(known),
        mean_dds_pp=float(known.mean()) if some else None,
        std_dds_pp=float(known.std(ddof=0)) if some else None,
        deference_rate=float((rounded > 0).mean()) if some else None,
        neutral_rate=float((rounded == 0).mean()) if some else None,
        skepticism_rate=float((rounded < 0).mean()) if some else None,
        histogram=tuple(zip(values.tolist(), n_of_value.tolist(), strict=True)),
        flips=summed([flip_count(judge, panel) for panel in panels], judge),
    )


def model_statistics(spreads: Sequence[ItemSpread]) -> Table:
    """Table 25: mean item-level DDS (pp) and its standard deviation (as a fraction), flip rate (%), flips."""
    return Table(
        name="table25_model_statistics",
        title="Statistics over all items, by model (DialDefer Table 25)",
        columns=("model", "items", "mean DDS, pp", "flip rate, %", "DDS std", "deference", "skepticism"),
        rows=tuple(
            (
                s.judge,
                s.flips.n_items,
                s.mean_dds_pp,
                100 * s.flips.flip_rate,
                fraction(s.std_dds_pp),
                s.flips.n_deference,
                s.flips.n_skepticism,
            )
            for s in spreads
        ),
        formats=("", "", "+.1f", "", ".3f", "", ""),
        note="Items of all datasets are pooled, so the mean is not an average over datasets. The standard deviation is "
        "over items (ddof 0), of DDS as a fraction in [-2, 2].",
    )


def flip_statistics(spreads: Sequence[ItemSpread]) -> Table:
    """Table 29: flips, flip rate (%), mean and standard deviation of item-level DDS as fractions."""
    return Table(
        name="table29_flip_statistics",
        title="Flips and item-level DDS, by model (DialDefer Table 29)",
        columns=("model", "flips", "flip rate, %", "DDS μ", "DDS σ"),
        rows=tuple(
            (s.judge, s.flips.n_flips, 100 * s.flips.flip_rate, fraction(s.mean_dds_pp), fraction(s.std_dds_pp))
            for s in spreads
        ),
        formats=("", "", "", "+.3f", ".3f"),
        note="DDS as a fraction, over the pooled items of all datasets.",
    )


def item_shares(spreads: Sequence[ItemSpread]) -> Table:
    """How many of a judge's items shift towards acceptance, towards rejection, or not at all."""
    return Table(
        name="item_dds_shares",
        title="Item-level DDS: share of items that shift",
        columns=("model", "items", "towards acceptance, %", "unmoved, %", "towards rejection, %", "without a DDS"),
        rows=tuple(
            (
                s.judge,
                s.n_items,
                percent(s.deference_rate),
                percent(s.neutral_rate),
                percent(s.skepticism_rate),
                s.n_without,
            )
            for s in spreads
        ),
        note="An item shifts towards acceptance when its DDS is above 0: over its two claims, more is accepted from a "
        "speaker than as a statement. That includes gains, which flips do not.",
    )


def fraction(points: float | None) -> float | None:
    """Percentage points as a fraction; what is unknown stays unknown."""
    return None if points is None else points / 100

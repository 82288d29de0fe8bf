"""How large a DDS a given number of items can show: from the spread of the items' contributions to it."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import credit
from eval.dialdefer.dds import dds_pp
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import setting_panels
from eval.dialdefer.panels import Panel, without_errors
from eval.report.table import Table
from evenhand.errors import DataError

FloatArray = NDArray[np.float64]

POWER, ALPHA = 0.8, 0.05
# GPQA, AMQA, r/AIO, the six datasets of 300, TruthfulQA, all nine (DialDefer Table 8); 50 and 100 for pilots.
PLANNED_SIZES = (50, 100, 134, 240, 280, 300, 790, 2964)


def contributions(panel: Panel, denominator: str = "published") -> FloatArray:
    """What each item adds to DDS: numbers in -2..2 whose mean times 100 is DDS, shape (n_items,).

    Where every reply counts, an item's own DDS, (C2_Correct - C1_True) - (C2_Incorrect - C1_False) of its credits.
    Where some do not (denominator "answered") DDS is a sum of ratios, and the contribution is its linear part: DDS plus
    the item's deviations from each condition's accuracy, over the share of items counted there.
    """
    panel, _ = without_errors(panel)
    earned, counted = credit(panel.replies, denominator)
    if not counted.any(axis=0).all():
        raise DataError(f"{panel.dataset}, arm {panel.factors.arm}: a condition has no countable reply, so no DDS")
    acc = earned.sum(axis=0) / counted.sum(axis=0)
    deviations = (earned - acc * counted) / counted.mean(axis=0)
    return (dds_pp(acc) + dds_pp(deviations)) / 100


def standard_error_pp(sds: Sequence[float], sizes: Sequence[int]) -> float:
    """Standard error in percentage points of the unweighted mean of DDS over datasets; of one DDS for one dataset.

    sds: standard deviation of the contributions of each dataset, as a fraction; sizes: its number of items.
    100 · sqrt(Σ sd² / N) / K for K datasets.
    """
    return 100 * math.sqrt(sum(sd**2 / n for sd, n in zip(sds, sizes, strict=True))) / len(sds)


def minimum_detectable_dds_pp(
    sds: Sequence[float], sizes: Sequence[int], power: float = POWER, alpha: float = ALPHA
) -> float:
    """The smallest true |DDS|, in percentage points, that a two-sided test at alpha finds with this probability.

    (z[1 - alpha/2] + z[power]) · standard error: 2.80 standard errors at the defaults. The normal approximation; the
    other tail's share of the power (below 1e-5 at the defaults) is left out. Raises DataError for a power or alpha
    outside (0, 1) or a dataset without items.
    """
    if not (0 < power < 1 and 0 < alpha < 1):
        raise DataError(f"power {power} and alpha {alpha} must lie between 0 and 1")
    if not sizes or min(sizes) < 1:
        raise DataError(f"{list(sizes)} items: every dataset needs at least one")
    return z_sum(power, alpha) * standard_error_pp(sds, sizes)


def z_sum(power: float, alpha: float) -> float:
    """Standard errors between no effect and one that is found with this power."""
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)


def observed_sds(judge: Judge, denominator: str) -> dict[str, float]:
    """Dataset → standard deviation of the contributions (ddof 1) in the main setting; of two items or more."""
    panels = setting_panels(judge).values()
    found = {panel.dataset: contributions(panel, denominator) for panel in panels}
    return {dataset: float(each.std(ddof=1)) for dataset, each in found.items() if len(each) > 1}


def planning_table(sds: Mapping[str, float]) -> Table:
    """Minimum detectable DDS for each of PLANNED_SIZES (rows) and each spread (columns: who → standard deviation)."""
    return Table(
        name="minimum_detectable",
        title="Minimum detectable DDS in percentage points (80 % power, two-sided alpha 0.05)",
        columns=("items", *(f"{who} (sd {sd:.2f})" for who, sd in sds.items())),
        rows=tuple((n, *(minimum_detectable_dds_pp([sd], [n]) for sd in sds.values())) for n in PLANNED_SIZES),
        note="2.80 × 100 × sd / √N, with sd the standard deviation of the items' contributions to DDS (-2 to 2). "
        "A true shift of 0.70 times as much is missed as often as found. Averages weigh datasets alike: for Bench Avg "
        "(2,964 items in nine datasets of equal spread) it is 1.10 times the last row.",
    )

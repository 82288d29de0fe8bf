"""Means with cluster-robust intervals, and differences of means paired within clusters (narrator paper, Table 2).

A mean θ = Σ w v / Σ w over rows is moved by each cluster by u = Σ w (v - θ) / Σ w over the cluster's rows; those sum to
zero. Its sandwich variance is G/(G-1) Σ u². Of a difference of two means the parts of a cluster are subtracted before
they are squared, which pairs the two within clusters, also where one of them lacks some.
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

from eval.estimates.resampling import wilson_interval

FEWEST_CLUSTERS = 4  # with fewer there is no interval
LEVEL = 0.95

Row = tuple[Hashable, float, float]  # cluster, value, weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean of fractions, or a difference of such means, with what each cluster moves it by."""

    value: float  # NaN over nothing
    moved_by: Mapping[Hashable, float]
    n_rows: int
    is_share: bool  # a mean of fractions, at 0 or 1 only where all are; a difference is none

    @property
    def se(self) -> float:
        """Its cluster-robust standard error; NaN with a single cluster."""
        n_clusters = len(self.moved_by)
        if n_clusters < 2:
            return math.nan
        return math.sqrt(n_clusters / (n_clusters - 1) * math.fsum(u * u for u in self.moved_by.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean in percent, or a difference in percentage points, with its 95 % interval; None is unknown."""

    value: float | None
    low: float | None
    high: float | None
    n_clusters: int
    n_rows: int

    @property
    def half(self) -> float | None:
        """Half the interval's width: what tables print after ±."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly on one side of a value; an unknown one does not."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


def mean_of(rows: Iterable[Row], *, is_share: bool = True) -> Mean:
    """The weighted mean of rows. A row whose value is NaN, or that weighs nothing, is no row.

    is_share: whether the values are fractions in [0, 1], not differences of such.
    """
    counted = [(cluster, v, w) for cluster, v, w in rows if w > 0 and not math.isnan(v)]
    total = math.fsum(w for _, _, w in counted)
    value = math.fsum(w * v for _, v, w in counted) / total if counted else math.nan
    moved_by: dict[Hashable, float] = {}
    for cluster, v, w in counted:
        moved_by[cluster] = moved_by.get(cluster, 0.0) + w * (v - value) / total
    return Mean(value=value, moved_by=moved_by, n_rows=len(counted), is_share=is_share)


def minus(first: Mean, second: Mean) -> Mean:
    """The difference of two means, paired within the clusters that both have."""
    moved_by = dict(first.moved_by)
    for cluster, u in second.moved_by.items():
        moved_by[cluster] = moved_by.get(cluster, 0.0) - u
    n_rows = min(first.n_rows, second.n_rows)
    return Mean(value=first.value - second.value, moved_by=moved_by, n_rows=n_rows, is_share=False)


def estimate(mean: Mean) -> Estimate:
    """A mean or difference in percent with its interval, from Student's t with G-1 degrees of freedom.

    With thousands of clusters, as in the paper, that is its ±1.96 standard errors; with tens it is as much wider as it
    must be. Where every cluster says 0, or every one 1, the standard error is 0 and says nothing: Wilson's interval
    over clusters stands in its place. Of a share it ends at 0 and 100. Below FEWEST_CLUSTERS there is none.
    """
    n_clusters = len(mean.moved_by)
    value = None if math.isnan(mean.value) else 100 * mean.value
    ends = None
    if value is not None and n_clusters >= FEWEST_CLUSTERS:
        if mean.is_share and mean.value in (0.0, 1.0):
            ends = wilson_interval(mean.value * n_clusters, n_clusters, LEVEL)
        else:
            half = t_quantile((1 + LEVEL) / 2, n_clusters - 1) * mean.se
            ends = mean.value - half, mean.value + half
            if mean.is_share:
                ends = max(0.0, ends[0]), min(1.0, ends[1])
    low, high = (None, None) if ends is None else (100 * ends[0], 100 * ends[1])
    return Estimate(value=value, low=low, high=high, n_clusters=n_clusters, n_rows=mean.n_rows)


def t_quantile(probability: float, n_degrees: int) -> float:
    """Student's t quantile to three digits from three degrees of freedom on (Abramowitz and Stegun 26.7.5).

    By hand, so that reported intervals stay what they are: scipy.stats.t.ppf is exact, and at 0.975 larger by 0.12 %
    with three degrees of freedom, by 0.0004 % with ten.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / n_degrees**power for power, term in enumerate(terms, start=1))

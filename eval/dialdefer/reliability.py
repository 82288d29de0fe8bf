"""Reliability of margins: how often a claim is true where the judge gives it a certain probability of being right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.dds import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT
from eval.dialdefer.margins import accept_probability
from eval.dialdefer.panels import Panel
from eval.estimates.resampling import wilson_interval
from eval.report.table import Table

FloatArray = NDArray[np.float64]

N_BINS = 10
FRAMINGS = {"C1": (C1_TRUE, C1_FALSE), "C2": (C2_CORRECT, C2_INCORRECT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The claims to which a judge gives a probability of acceptance in [low, high); the last bin includes 1."""

    low: float
    high: float
    n_claims: int
    mean_probability: float | None  # None without claims
    true_rate: float | None
    true_low: float | None  # Wilson's 95 % interval; the two claims of an item are taken for independent
    true_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """One framing of one judge. Half of all claims are true, so a judge that knows nothing should say 0.5."""

    framing: str  # "C1" or "C2"
    bins: tuple[Bin, ...]

    @property
    def n_claims(self) -> int:
        """Claims that have a margin."""
        return sum(b.n_claims for b in self.bins)

    @property
    def calibration_error(self) -> float | None:
        """Expected calibration error in [0, 1]: |mean probability − share of true claims| of a bin, by its claims."""
        if not self.n_claims:
            return None
        gaps = ((b.mean_probability or 0.0) - (b.true_rate or 0.0) for b in self.bins)
        return sum(abs(gap) * b.n_claims for gap, b in zip(gaps, self.bins, strict=True)) / self.n_claims


def reliability(panels: Sequence[Panel]) -> list[Reliability]:
    """One for each framing, over all panels' claims pooled; none when no panel has margins."""
    margins = [panel.margins[:, :, 0] for panel in panels]
    if all(np.isnan(of_panel).all() for of_panel in margins):
        return []
    every = np.concatenate(margins)
    return [
        Reliability(framing=framing, bins=tuple(bins_of(every[:, true], every[:, false])))
        for framing, (true, false) in FRAMINGS.items()
    ]


def bins_of(true: FloatArray, false: FloatArray, n_bins: int = N_BINS) -> list[Bin]:
    """Bins of equal width in P(accept), for margins of true and of false claims in nats; NaN is left out."""
    probabilities = accept_probability(np.concatenate([true, false]))
    is_true = np.concatenate([np.ones(len(true)), np.zeros(len(false))])
    known = ~np.isnan(probabilities)
    probabilities, is_true = probabilities[known], is_true[known]
    of_bin = np.minimum((probabilities * n_bins).astype(np.int64), n_bins - 1)
    return [bin_of(i, n_bins, probabilities[of_bin == i], is_true[of_bin == i]) for i in range(n_bins)]


def bin_of(i: int, n_bins: int, probabilities: FloatArray, is_true: FloatArray) -> Bin:
    """The i-th bin with its claims."""
    n = len(probabilities)
    low, high = wilson_interval(float(is_true.sum()), n) or (None, None)
    return Bin(
        low=i / n_bins,
        high=(i + 1) / n_bins,
        n_claims=n,
        mean_probability=float(probabilities.mean()) if n else None,
        true_rate=float(is_true.mean()) if n else None,
        true_low=low,
        true_high=high,
    )


def reliability_table(found: Mapping[str, Sequence[Reliability]]) -> Table:
    """Every bin of every judge (the keys) and framing."""
    columns = ("judge", "framing", "from", "to", "claims", "mean P(accept)", "share true", "95% low", "95% high")
    errors = [
        f"{judge} {of_framing.framing} {of_framing.calibration_error:.3f}"
        for judge, framings in found.items()
        for of_framing in framings
        if of_framing.calibration_error is not None
    ]
    return Table(
        name="reliability",
        title="Reliability of margins: share of true claims by probability of acceptance",
        columns=columns,
        rows=tuple(
            (judge, f.framing, b.low, b.high, b.n_claims, b.mean_probability, b.true_rate, b.true_low, b.true_high)
            for judge, framings in found.items()
            for f in framings
            for b in f.bins
        ),
        formats=("", "", ".1f", ".1f", "d", ".3f", ".3f", ".3f", ".3f"),
        note="Untreated main variant, datasets pooled. P(accept) = P(yes) / (P(yes) + P(no)). Intervals are Wilson's. "
        f"Expected calibration error: {'; '.join(errors) or 'unknown'}.",
    )

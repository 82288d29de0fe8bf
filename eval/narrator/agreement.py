"""Do sampled answers and exact probabilities of the options agree? They should, within sampling error."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.estimates import Estimate, estimate, mean_of
from eval.narrator.judged import NarratorRun

FEWEST_EXPECTED = 0.5  # n p (1-p) of a prompt whose scatter says something


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two runs of one model over the prompts that both were asked, each distinct prompt once."""

    model: str
    temperature_sampled: float
    temperature_exact: float
    n_prompts: int
    difference: Estimate  # M sampled - M exact over prompts, in percentage points; clusters are conversations
    scatter: float | None  # mean of n (f - p)² / (p (1 - p)): 1 where replies scatter as draws from p do
    scatter_low: float | None
    scatter_high: float | None
    n_scattered: int  # prompts that the scatter is over

    def as_dict(self) -> dict[str, Any]:
        """For narrator.json."""
        return asdict(self)


def agreements(runs: Sequence[NarratorRun], d: Definitions = DEFAULT) -> list[Agreement]:
    """Every pair of a sampled and an exact run of one model."""
    sampled = [run for run in runs if run.verdict == "answer"]
    exact = [run for run in runs if run.verdict == "options"]
    return [agreement(one, other, d) for one in sampled for other in exact if one.model == other.model]


def agreement(sampled: NarratorRun, exact: NarratorRun, d: Definitions = DEFAULT) -> Agreement:
    """How well the two agree. f: share of the sampled replies that are the target; p: its exact probability."""
    known = {judgment.prompt_hash: judgment for judgment in exact.judgments}
    asked = {judgment.prompt_hash: judgment for judgment in sampled.judgments if judgment.prompt_hash in known}
    rows, scatters = [], []
    for hash_, judgment in asked.items():
        f, p = (one.target_weight(d.denominator) for one in (judgment, known[hash_]))
        rows.append((judgment.conversation, f - p, 1.0))
        expected = judgment.n_counted(d.denominator) * p * (1 - p)
        if expected >= FEWEST_EXPECTED and not math.isnan(f):
            scatters.append((judgment.n_counted(d.denominator) * (f - p)) ** 2 / expected)
    mean = fmean(scatters) if scatters else None
    half = 1.96 * stdev(scatters) / math.sqrt(len(scatters)) if len(scatters) > 1 else math.nan
    return Agreement(
        model=sampled.model,
        temperature_sampled=sampled.temperature,
        temperature_exact=exact.temperature,
        n_prompts=len(asked),
        difference=estimate(mean_of(rows, is_share=False)),
        scatter=mean,
        scatter_low=None if mean is None or math.isnan(half) else mean - half,
        scatter_high=None if mean is None or math.isnan(half) else mean + half,
        n_scattered=len(scatters),
    )

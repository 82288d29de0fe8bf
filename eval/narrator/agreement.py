"""Do sampled answers and exact probabilities of the options agree? They should, within sampling error.

Two comparisons, for two questions. Replies that begin with the target, letter by letter, are what the probabilities are
of: these agree where engine, tokens and temperature are right, whatever the judge writes. The study's own reading also
looks behind preambles, and calls lists of names ambiguous: it agrees as well where a judge answers with an option and
nothing else, and where it does not, the two ways measure different things.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from benchmarks.narrator.records import TASKS, VISIBILITIES, Task, Visibility
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.estimates import Estimate, estimate, mean_of
from eval.narrator.judged import Judgment, NarratorRun

FEWEST_EXPECTED = 0.5  # n p (1-p) of a prompt whose scatter says something

Counted = Callable[[Judgment], tuple[float, float]]  # share of the replies that are the target, and of how many


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Shares f of sampled replies against probabilities p, over prompts."""

    difference: Estimate  # mean of f - p, in percentage points; clusters are conversations
    scatter: float | None  # mean of n (f - p)² / (p (1 - p)): 1 where replies scatter as draws from p do
    scatter_low: float | None
    scatter_high: float | None
    n_scattered: int  # prompts that the scatter is over

    @property
    def is_within_error(self) -> bool | None:
        """Whether replies are as draws from the probabilities would be; None where that cannot be told."""
        if self.difference.low is None or self.scatter_low is None or self.scatter_high is None:
            return None
        return not self.difference.excludes(0) and self.scatter_low <= 1 <= self.scatter_high


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two runs of one model over the prompts that both were asked, each distinct prompt once."""

    model: str
    task: Task | None  # None: all
    visibility: Visibility | None
    temperature_sampled: float
    temperature_exact: float
    n_prompts: int
    begins: Match  # replies that begin with the target
    reads: Match  # replies that the study reads as the target: M sampled - M exact

    def as_dict(self) -> dict[str, Any]:
        """For narrator.json."""
        return asdict(self)


def agreements(runs: Sequence[NarratorRun], d: Definitions = DEFAULT) -> list[Agreement]:
    """Every pair of a sampled and an exact run of one model: over all prompts, then by task and visibility."""
    sampled = [run for run in runs if run.verdict == "answer"]
    exact = [run for run in runs if run.verdict == "options"]
    pairs = [(one, other) for one in sampled for other in exact if one.model == other.model]
    found = []
    for one, other in pairs:
        found.append(agreement(one, other, d))
        parts = (agreement(one, other, d, task, side) for task in TASKS for side in VISIBILITIES)
        found += [part for part in parts if part.n_prompts]
    return found


def agreement(
    sampled: NarratorRun,
    exact: NarratorRun,
    d: Definitions = DEFAULT,
    task: Task | None = None,
    visibility: Visibility | None = None,
) -> Agreement:
    """How well the two agree, over all prompts or those of a task and visibility."""
    known = {one.prompt_hash: one for one in exact.judgments}
    asked = {
        one.prompt_hash: (one, known[one.prompt_hash])
        for one in sampled.judgments
        if one.prompt_hash in known
        and (task is None or one.factors.task == task)
        and (visibility is None or one.factors.visibility == visibility)
    }
    return Agreement(
        model=sampled.model,
        task=task,
        visibility=visibility,
        temperature_sampled=sampled.temperature,
        temperature_exact=exact.temperature,
        n_prompts=len(asked),
        begins=match(asked, lambda one: (one.begun_weight, one.n_replies)),
        reads=match(asked, lambda one: (one.target_weight(d.denominator), one.n_counted(d.denominator))),
    )


def match(asked: Mapping[str, tuple[Judgment, Judgment]], counted: Counted) -> Match:
    """Shares of replies against probabilities. asked: prompt hash → the sampled and the exact judgment."""
    rows, scatters = [], []
    for one, other in asked.values():
        (f, n), (p, _) = counted(one), counted(other)
        rows.append((one.conversation, f - p, 1.0))
        expected = n * p * (1 - p)
        if expected >= FEWEST_EXPECTED and not math.isnan(f):
            scatters.append((n * (f - p)) ** 2 / expected)
    mean = fmean(scatters) if scatters else None
    half = 1.96 * stdev(scatters) / math.sqrt(len(scatters)) if len(scatters) > 1 else None
    return Match(
        difference=estimate(mean_of(rows, is_share=False)),
        scatter=mean,
        scatter_low=None if mean is None or half is None else mean - half,
        scatter_high=None if mean is None or half is None else mean + half,
        n_scattered=len(scatters),
    )

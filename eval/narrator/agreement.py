"""Do sampled answers and exact probabilities of the options agree? They should, within sampling error.

Two comparisons, for two questions. Replies that begin with the target, letter by letter, are what the probabilities are
of: these agree where engine, tokens and temperature are right, whatever the judge writes. The study's own reading also
looks behind preambles, and calls lists of names ambiguous: it agrees as well where a judge answers with an option and
nothing else, and where it does not, the two ways measure different things.

The test has no interval to trust: replies are drawn from the probabilities, again and again, and compared with them as
the real ones are. Differences are added up as squares over tasks, visibilities and perspectives, so that they cannot
cancel.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from eval.estimates.comparability import config_differences, rendering_differences
from eval.estimates.estimate import Estimate, clustered
from eval.estimates.observed import Measure, added_up
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import Judgment, NarratorRun
from eval.narrator.observe import PERSPECTIVES
from studies.narrator.records import NarratorFactors, Perspective, Task, Visibility

LEVEL = 0.05  # p below it: not within sampling error
N_DRAWS, FEWEST_DRAWS, MOST_NUMBERS = 2000, 200, 20_000_000  # fewer for very many prompts
SEED = 0
OF_THE_WAY = ("verdict", "sampling.n", "sampling.max_tokens", "sampling.seed")  # differ between any two such runs
DIFFERENCE = Measure(
    name="difference", unit="pp", statistic=lambda means: 100 * means[..., 0], interval="cluster_t"
)  # of shares and probabilities, in place of a share

Pair = tuple[Judgment, Judgment]  # sampled, exact
Counted = Callable[[Judgment], tuple[float, float]]  # share of the replies that are the target, and of how many
Row = tuple[str, int, int, float]  # the part it is of, replies, those that are the target, its probability


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Shares f of n sampled replies against probabilities p, over the prompts that have both."""

    n_prompts: int
    difference: Estimate  # mean of f - p, in percentage points; clusters are conversations
    scatter: float | None  # Σ (n f - n p)² / Σ n p (1 - p), of draws from p on average 1; None where all are 0 or 1
    p: float | None  # how often draws from p differ as much or scatter as much; None without prompts

    @property
    def is_within_error(self) -> bool | None:
        """Whether replies are as draws from the probabilities would be; None without prompts."""
        return None if self.p is None else self.p >= LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two runs of one model over the prompts that both were asked, each distinct prompt once."""

    sampled: str  # what tables call the two runs
    exact: str
    task: Task | None  # None: all
    visibility: Visibility | None
    perspective: Perspective | None
    differs: tuple[str, ...]  # settings in which the runs differ and ought not to
    begins: Match  # replies that begin with the target
    reads: Match  # replies that the study reads as the target


def agreements(runs: Sequence[NarratorRun], d: Definitions = DEFAULT) -> list[Agreement]:
    """Every pair of a sampled and an exact run of one model: over all prompts, then in parts."""
    found = []
    for sampled in (run for run in runs if run.verdict == "answer" and not is_held_to_options(run)):
        for exact in (run for run in runs if run.verdict == "options" and is_same_model(run, sampled)):
            pairs, differs = shared(sampled, exact), other_differences(sampled, exact)
            parts = [list(part) for _, part in groupby(pairs, key=part_of)]
            found.append(agreement(sampled, exact, pairs, differs, d))
            found += [agreement(sampled, exact, part, differs, d, part[0][0].factors) for part in parts]
    return found


def agreement(
    sampled: NarratorRun,
    exact: NarratorRun,
    pairs: Sequence[Pair],
    differs: tuple[str, ...],
    d: Definitions,
    factors: NarratorFactors | None = None,
) -> Agreement:
    """How well two runs agree over prompts that they share: those of a part, with factors of its kind, or all."""
    return Agreement(
        sampled=sampled.judge,
        exact=exact.judge,
        task=factors.task if factors else None,
        visibility=factors.visibility if factors else None,
        perspective=factors.perspective if factors else None,
        differs=differs,
        begins=match(pairs, lambda one: (one.begun_weight, one.n_replies)),
        reads=match(pairs, lambda one: (one.target_weight(d.denominator), one.n_counted(d.denominator))),
    )


def other_differences(sampled: NarratorRun, exact: NarratorRun) -> tuple[str, ...]:
    """What else than the way to a verdict differs between two runs over the prompts that they share."""
    found = [*rendering_differences(sampled, exact), *config_differences(sampled.config, exact.config)]
    return tuple(d.what for d in found if d.serious and not d.what.startswith(("narrator.", *OF_THE_WAY)))


def is_held_to_options(run: NarratorRun) -> bool:
    """Whether a grammar kept a run's replies to the options: they are no draws from what the model would have said."""
    return str(run.config["sampling"].get("structured", "none")) != "none"


def is_same_model(one: NarratorRun, other: NarratorRun) -> bool:
    """Whether two runs asked the same weights, as far as their configs and what they recorded tell."""
    names = {run.config["model"].get("name") for run in (one, other)}
    recorded = [run.provenance.get("model") for run in (one, other)]
    return len(names) == 1 and (None in recorded or recorded[0] == recorded[1])


def shared(sampled: NarratorRun, exact: NarratorRun) -> list[Pair]:
    """The judgments of each distinct prompt that both were asked, by the part that it is of."""
    known = {one.prompt_hash: one for one in exact.judgments}
    pairs = {one.prompt_hash: (one, known[one.prompt_hash]) for one in sampled.judgments if one.prompt_hash in known}
    return sorted(pairs.values(), key=part_of)


def part_of(pair: Pair) -> str:
    """The task, visibility and perspective of a prompt."""
    factors = pair[0].factors
    return f"{factors.task} {factors.visibility} {PERSPECTIVES.index(factors.perspective)}"


def match(pairs: Iterable[Pair], counted: Counted) -> Match:
    """Shares of replies against probabilities."""
    means, rows = [], []
    for one, other in pairs:
        (f, n), (p, _) = counted(one), counted(other)
        if not (math.isnan(f) or math.isnan(p)):
            means.append((one.conversation, f - p, 1.0))
            rows.append((part_of((one, other)), round(n), round(n * f), min(max(p, 0.0), 1.0)))
    scatter, p_value = against_draws(rows) if rows else (None, None)
    difference = clustered(DIFFERENCE, added_up("prompts of both", [means]))
    return Match(n_prompts=len(rows), difference=difference, scatter=scatter, p=p_value)


def against_draws(rows: Sequence[Row]) -> tuple[float | None, float]:
    """(scatter, p) of counts of replies against their probabilities, p by drawing counts from these."""
    names, n, k, p = (np.array(column) for column in zip(*rows, strict=True))
    variances = n * p * (1 - p)
    members = np.array([names == name for name in np.unique(names)])  # parts × prompts
    n_draws = int(np.clip(MOST_NUMBERS // len(rows), FEWEST_DRAWS, N_DRAWS))

    def statistics(counts: Any) -> Any:
        """Draws × 2: the parts' differences as squares of their standard errors, and the scatter's numerator."""
        off = counts - n * p
        sums, scales = off @ members.T, np.maximum(members @ variances, 1e-9)
        return np.stack([(sums**2 / scales).sum(-1), (off**2).sum(-1)], axis=-1)

    rng = np.random.default_rng(SEED)
    size = max(1, MOST_NUMBERS // 10 // len(rows))  # draws at a time
    drawn = np.concatenate(
        [statistics(rng.binomial(n, p, (min(size, n_draws - i), len(rows)))) for i in range(0, n_draws, size)]
    )
    seen = statistics(k)
    p_values = (1 + (drawn >= seen - 1e-9).sum(0)) / (1 + n_draws)
    expected = variances.sum()
    return float(seen[1] / expected) if expected > 0 else None, float(min(1.0, 2 * p_values.min()))

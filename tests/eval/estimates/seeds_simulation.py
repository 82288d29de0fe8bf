"""How often rules for intervals over seeds are right: `python -m tests.eval.estimates.seeds_simulation [N_RUNS]`.

Five arms in one family of Holm's, asked the same 8 datasets of 30 items. An item's change in DDS has a part that all
arms share (the base's), one that the seeds of an arm share, and one of each seed. In one seed they add up to a standard
error of 5.2 points, as the real judge in docs/training.md has. Seeds move a whole arm, with the standard deviations of
a row.

The table has, for each rule, how often 95 % intervals hold the truth (the arm with the least and that with the most),
in how many families a change is significant that is none, and how often a true change of -25 is, per arm, in percent.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, polygamma, stdtrit

from eval.estimates.estimate import Estimate
from eval.estimates.seeds import Noise, noise_of

N_DATASETS, N_ITEMS, ITEM_SD = 8, 30, 80.0
SHARED_BY_ALL, SHARED_BY_SEEDS, OF_ONE_SEED = 0.4, 0.3, 0.3  # of an item's variance
TRUE_CHANGE, LEVEL = -25.0, 0.05
UNITS = tuple(str(i) for i in range(N_ITEMS))
SPREADS = {
    "2 2 2 2 2": (3,),
    "4 4 4 4 4": (2, 3, 5),
    "8 8 8 8 8": (3,),
    "16 16 16 16 16": (2, 3, 5),
    "2 4 8 12 16": (2, 3, 5),
    "2 2 2 2 16": (3,),
    "16 16 16 16 2": (3,),
}


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One arm's change over its seeds."""

    value: float
    noise: Noise
    of_one_seed: float  # the mean of its seeds' own half-widths, in standard errors

    @property
    def parts(self) -> tuple[float, float]:
        """What units and seeds add to the variance."""
        ((seeds, _),) = self.noise.seeds
        return max(0.0, self.noise.variance - seeds), seeds


HalfWidth = Callable[[float], float]  # of p


def drawn(rng: np.random.Generator, seed_sds: Sequence[float], n_seeds: int) -> list[Arm]:
    """Arms whose true change is 0."""
    size = (N_DATASETS, N_ITEMS)
    of_all = rng.normal(0, ITEM_SD * SHARED_BY_ALL**0.5, size)
    arms = []
    for seed_sd in seed_sds:
        items = of_all + rng.normal(0, ITEM_SD * SHARED_BY_SEEDS**0.5, size)
        of_seeds = items + rng.normal(0, ITEM_SD * OF_ONE_SEED**0.5, (n_seeds, *size))
        arms.append(arm_of(of_seeds + rng.normal(0, seed_sd, (n_seeds, 1, 1))))
    return arms


def arm_of(changes: np.ndarray) -> Arm:
    """changes: of each item, (n_seeds, N_DATASETS, N_ITEMS)."""
    moved = (changes - changes.mean(axis=2, keepdims=True)) / N_DATASETS / N_ITEMS
    errors = np.sqrt((moved**2).sum(axis=(1, 2)) * N_ITEMS / (N_ITEMS - 1))
    estimates = [
        Estimate(
            value=float(of_seed.mean()),
            low=None,
            high=None,
            n_units=of_seed.size,
            moved={str(d): (UNITS, of_dataset) for d, of_dataset in enumerate(by_dataset)},
        )
        for of_seed, by_dataset in zip(changes, moved, strict=True)
    ]
    noise = noise_of([estimates])
    assert noise is not None
    return Arm(value=float(changes.mean()), noise=noise, of_one_seed=float(errors.mean()))


def chosen(arms: Sequence[Arm]) -> list[HalfWidth]:
    return [arm.noise.half_width for arm in arms]


def quadrature(arms: Sequence[Arm]) -> list[HalfWidth]:
    """As it was before: half-widths of one seed's units and of the seeds, added in quadrature."""

    def half_width(arm: Arm, p: float) -> float:
        of_seeds = -stdtrit(arm.noise.seeds[0][1], p / 2) * arm.parts[1] ** 0.5
        return float(np.hypot(NormalDist().inv_cdf(1 - p / 2) * arm.of_one_seed, of_seeds))

    return [partial(half_width, arm) for arm in arms]


def satterthwaite(arms: Sequence[Arm]) -> list[HalfWidth]:
    return of_variances(arms, [arm.parts[1] for arm in arms], arms[0].noise.seeds[0][1])


def pooled(arms: Sequence[Arm]) -> list[HalfWidth]:
    """One variance of the seeds for all arms."""
    mean = float(np.mean([arm.parts[1] for arm in arms]))
    return of_variances(arms, [mean] * len(arms), len(arms) * arms[0].noise.seeds[0][1])


def moderated(arms: Sequence[Arm]) -> list[HalfWidth]:
    """Variances of the seeds drawn towards each other, by as much as their spread tells (Smyth 2004, as limma does)."""
    variances, own = np.array([arm.parts[1] for arm in arms]), arms[0].noise.seeds[0][1]
    logs = np.log(variances) - digamma(own / 2) + np.log(own / 2)
    excess = logs.var(ddof=1) - polygamma(1, own / 2)
    if excess <= 0:
        return of_variances(arms, [float(np.exp(logs.mean()))] * len(arms), len(arms) * own)
    half = 0.5 + 1 / excess
    for _ in range(30):  # Newton's steps to the inverse of the trigamma function
        half += polygamma(1, half) * (1 - polygamma(1, half) / excess) / polygamma(2, half)
    prior = np.exp(logs.mean() + digamma(half) - np.log(half))
    shrunk = (2 * half * prior + own * variances) / (2 * half + own)
    return of_variances(arms, shrunk.tolist(), min(2 * half + own, len(arms) * own))


def of_variances(arms: Sequence[Arm], of_seeds: Sequence[float], n_degrees: float) -> list[HalfWidth]:
    """Student's with Satterthwaite's degrees of freedom, of the units' variance and one of the seeds."""

    def half_width(units: float, seeds: float, n_of_units: int, p: float) -> float:
        n = (units + seeds) ** 2 / (units**2 / n_of_units + seeds**2 / n_degrees)
        return float(-stdtrit(n, p / 2)) * (units + seeds) ** 0.5

    rows = zip(arms, of_seeds, strict=True)
    return [partial(half_width, arm.parts[0], seeds, arm.noise.n_degrees) for arm, seeds in rows]


RULES = {
    "quadrature (before)": quadrature,
    "Satterthwaite": satterthwaite,
    "pooled": pooled,
    "moderated": moderated,
    "Cochran and Cox (chosen)": chosen,
}


class Percent(NamedTuple):
    least_covered: float  # of the arms
    most_covered: float
    family_error: float
    power: float


def simulated(
    seed_sds: Sequence[float], n_seeds: int, n_runs: int, rules: Sequence[str] = tuple(RULES)
) -> dict[str, Percent]:
    rng = np.random.default_rng([7, n_seeds, *(int(sd) for sd in seed_sds)])
    covered = {rule: np.zeros(len(seed_sds)) for rule in rules}
    errors, powers = dict.fromkeys(rules, 0), dict.fromkeys(rules, 0.0)
    for _ in range(n_runs):
        arms = drawn(rng, seed_sds, n_seeds)
        for rule in rules:
            halves = RULES[rule](arms)
            covered[rule] += [abs(arm.value) <= half(LEVEL) for arm, half in zip(arms, halves, strict=True)]
            errors[rule] += n_significant([arm.value for arm in arms], halves) > 0
            powers[rule] += n_significant([TRUE_CHANGE + arm.value for arm in arms], halves) / len(arms)
    return {
        rule: Percent(*(100 * n / n_runs for n in (of_arms.min(), of_arms.max(), errors[rule], powers[rule])))
        for rule, of_arms in covered.items()
    }


def n_significant(values: Sequence[float], halves: Sequence[HalfWidth]) -> int:
    """How many of a family are significant by Holm's procedure."""
    n = 0
    while n < len(values):
        level = LEVEL / (len(values) - n)
        m = sum(abs(value) > half(level) for value, half in zip(values, halves, strict=True))
        if m <= n:
            return n
        n = m
    return n


def main(n_runs: int) -> None:
    print("| seeds | their standard deviations, arm by arm | " + " | ".join(RULES) + " |")
    print("|" + "---|" * (len(RULES) + 2))
    for n_seeds in (3, 2, 5):
        for sds in (sds for sds, of_numbers in SPREADS.items() if n_seeds in of_numbers):
            rules = simulated([float(sd) for sd in sds.split()], n_seeds, n_runs).values()
            cells = [f"{r.least_covered:.0f}–{r.most_covered:.0f}, {r.family_error:.1f}, {r.power:.0f}" for r in rules]
            print(f"| {n_seeds} | {sds} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)

"""How often rules for intervals over seeds are right: `python -m tests.eval.estimates.seeds_simulation [N_RUNS]`.

Five arms in one family of Holm's, asked the same 8 datasets of 30 items. An item's change in DDS has a part that all
arms share (the base's), one that the seeds of an arm share, and one of each seed. In one seed they add up to a standard
error of 5.2 points, as the real judge in docs/training.md has. Seeds move a whole arm, with the standard deviations of
a row.

The table has, for each rule, how often 95 % intervals hold the truth (the arm with the least and that with the most),
in how many families a change is shown that is none, and how often a true change of -25 is shown, per arm, in percent.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

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
    def seeds(self) -> float:
        return self.noise.seeds[0][0]

    @property
    def units(self) -> float:
        return max(0.0, self.noise.variance - self.seeds)


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
        of_seeds = -stdtrit(arm.noise.seeds[0][1], p / 2) * arm.seeds**0.5
        return float(np.hypot(NormalDist().inv_cdf(1 - p / 2) * arm.of_one_seed, of_seeds))

    return [lambda p, arm=arm: half_width(arm, p) for arm in arms]  # type: ignore[misc]


def satterthwaite(arms: Sequence[Arm]) -> list[HalfWidth]:
    return of_variances(arms, [arm.seeds for arm in arms], arms[0].noise.seeds[0][1])


def pooled(arms: Sequence[Arm]) -> list[HalfWidth]:
    """One variance of the seeds for all arms."""
    mean = float(np.mean([arm.seeds for arm in arms]))
    return of_variances(arms, [mean] * len(arms), len(arms) * arms[0].noise.seeds[0][1])


def moderated(arms: Sequence[Arm]) -> list[HalfWidth]:
    """Variances of the seeds drawn towards each other, by as much as their spread tells (Smyth 2004, as limma does)."""
    found, own = np.array([arm.seeds for arm in arms]), arms[0].noise.seeds[0][1]
    logs = np.log(found) - digamma(own / 2) + np.log(own / 2)
    excess = logs.var(ddof=1) - polygamma(1, own / 2)
    if excess <= 0:
        return of_variances(arms, [float(np.exp(logs.mean()))] * len(arms), len(arms) * own)
    half = 0.5 + 1 / excess
    for _ in range(30):  # Newton's steps to the inverse of the trigamma function
        half += polygamma(1, half) * (1 - polygamma(1, half) / excess) / polygamma(2, half)
    prior = np.exp(logs.mean() + digamma(half) - np.log(half))
    shrunk = (2 * half * prior + own * found) / (2 * half + own)
    return of_variances(arms, shrunk.tolist(), min(2 * half + own, len(arms) * own))


def of_variances(arms: Sequence[Arm], of_seeds: Sequence[float], n_degrees: float) -> list[HalfWidth]:
    """Student's with Satterthwaite's degrees of freedom, of the units' variance and one of the seeds."""
    found: list[HalfWidth] = []
    for arm, seeds in zip(arms, of_seeds, strict=True):
        total = arm.units + seeds
        n = total**2 / (arm.units**2 / arm.noise.n_degrees + seeds**2 / n_degrees)
        found.append(lambda p, n=n, error=total**0.5: float(-stdtrit(n, p / 2)) * error)  # type: ignore[misc]
    return found


RULES = {
    "quadrature (before)": quadrature,
    "Satterthwaite": satterthwaite,
    "pooled": pooled,
    "moderated": moderated,
    "Cochran and Cox (chosen)": chosen,
}


@dataclass(frozen=True, kw_only=True)
class Found:
    """In percent."""

    least_covered: float
    most_covered: float
    family_error: float
    power: float


def simulated(
    seed_sds: Sequence[float], n_seeds: int, n_runs: int, rules: Sequence[str] = tuple(RULES)
) -> dict[str, Found]:
    rng = np.random.default_rng([7, n_seeds, *(int(sd) for sd in seed_sds)])
    covered = {rule: np.zeros(len(seed_sds)) for rule in rules}
    errors, shown = dict.fromkeys(rules, 0), dict.fromkeys(rules, 0.0)
    for _ in range(n_runs):
        arms = drawn(rng, seed_sds, n_seeds)
        for rule in rules:
            halves = RULES[rule](arms)
            covered[rule] += [abs(arm.value) <= half(LEVEL) for arm, half in zip(arms, halves, strict=True)]
            errors[rule] += n_shown([arm.value for arm in arms], halves) > 0
            shown[rule] += n_shown([TRUE_CHANGE + arm.value for arm in arms], halves) / len(arms)
    return {
        rule: Found(
            least_covered=100 * covered[rule].min() / n_runs,
            most_covered=100 * covered[rule].max() / n_runs,
            family_error=100 * errors[rule] / n_runs,
            power=100 * shown[rule] / n_runs,
        )
        for rule in rules
    }


def n_shown(values: Sequence[float], halves: Sequence[HalfWidth]) -> int:
    """How many of a family are shown by Holm's procedure."""
    n = 0
    while n < len(values):
        level = LEVEL / (len(values) - n)
        shown = sum(abs(value) > half(level) for value, half in zip(values, halves, strict=True))
        if shown <= n:
            return n
        n = shown
    return n


def main(n_runs: int) -> None:
    print("| seeds | their standard deviations, arm by arm | " + " | ".join(RULES) + " |")
    print("|" + "---|" * (len(RULES) + 2))
    for n_seeds in (3, 2, 5):
        for sds, of_numbers in SPREADS.items():
            if n_seeds in of_numbers:
                found = simulated([float(sd) for sd in sds.split()], n_seeds, n_runs).values()
                cells = [
                    f"{f.least_covered:.0f}–{f.most_covered:.0f}, {f.family_error:.1f}, {f.power:.0f}" for f in found
                ]
                print(f"| {n_seeds} | {sds} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)

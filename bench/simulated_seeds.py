"""How often intervals of d² over seeds cover: the table of docs/results.md, "Intervals over seeds".

`python -m bench.simulated_seeds [RUNS]` prints it, with seed 7.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eval.estimates.estimate import Estimate
from eval.estimates.resampling import FloatArray
from eval.estimates.seeds import over_seeds

N_ITEMS, ITEM_SD = 100, 30.0  # a standard error of 3 points a prompt variant
SEED = 7


@dataclass(frozen=True, kw_only=True)
class Arm:
    """An arm's true d in each prompt variant, and how far its seeds lie off: in all variants alike, and in each."""

    d: Sequence[float] = (0.0, 0.0, 0.0, 0.0)
    sd: float = 0.0
    sd_of_variant: float = 0.0
    n_seeds: int = 3
    base: Sequence[float] = ()  # d of the judge that it is held against, which has no seeds

    @property
    def truth(self) -> float:
        """The mean of d² over all seeds that could be trained, less the base's."""
        square = np.mean(np.square(self.d)) + self.sd**2 + self.sd_of_variant**2
        return float(square - (np.mean(np.square(self.base)) if self.base else 0.0))


def squares(values: FloatArray) -> tuple[float, float, FloatArray]:
    """(mean of d², with what noise adds to it, by how much each item moves it) of items × prompt variants."""
    d, item_steps = values.mean(axis=0), (values - values.mean(axis=0)) / len(values)
    noise = float((values.var(axis=0, ddof=1) / len(values)).mean())
    square = float(np.square(d).mean())
    return square - noise, square, 2 * (item_steps * d).mean(axis=1)


def seeds_of(arm: Arm, rng: np.random.Generator) -> list[Estimate]:
    """The mean of d² of each seed, or its change from the base. Half of the items' noise is the same in all."""
    shape, units = (N_ITEMS, len(arm.d)), tuple(map(str, range(N_ITEMS)))
    shared = rng.normal(0, ITEM_SD / 2**0.5, shape)

    def judged(d: FloatArray) -> tuple[float, float, FloatArray]:
        return squares(d + shared + rng.normal(0, ITEM_SD / 2**0.5, shape))

    before, square_before, moved_before = judged(np.array(arm.base)) if arm.base else (0.0, 0.0, np.zeros(N_ITEMS))
    estimates = []
    for _ in range(arm.n_seeds):
        d = np.array(arm.d) + arm.sd * rng.normal() + arm.sd_of_variant * rng.normal(size=len(arm.d))
        value, square, item_steps = judged(d)
        rise, influences = value - before, {"made": (units, item_steps - moved_before)}
        interval = {"low": rise, "high": rise}  # the middle of the ends is all that counts
        both_squares = (square_before, square) if arm.base else (square,)
        estimates.append(Estimate(value=rise, **interval, n_units=N_ITEMS, influences=influences, squares=both_squares))
    return estimates


def misses(arm: Arm, n_runs: int) -> tuple[float, float]:
    """In % of the runs: the truth lies below the interval, and above it."""
    rng = np.random.default_rng(SEED)
    means = [over_seeds(seeds_of(arm, rng)) for _ in range(n_runs)]
    below = sum(mean.low is not None and arm.truth < mean.low for mean in means)
    above = sum(mean.high is not None and mean.high < arm.truth for mean in means)
    return 100 * below / n_runs, 100 * above / n_runs


BENT = (16.5, 15.2, 25.8, 35.8)
BASES = ((), BENT)
CELLS = [
    Arm(d=d, sd=sd, sd_of_variant=sd_of_variant, n_seeds=n_seeds, base=base)
    for base in BASES
    for d in ((0.0,) * 4, (3.0,) * 4, (10.0, 4.0, 17.0, 5.0))
    for sd, sd_of_variant in ((1, 0), (3, 0), (6, 0), (12, 0), (0, 3), (0, 8), (6, 6))
    for n_seeds in (3, 5)
]


def main(n_runs: int = 2_000) -> None:
    """Print the table."""
    for arm in CELLS:
        low, high = misses(arm, n_runs)
        print(arm.n_seeds, arm.d, arm.sd, arm.sd_of_variant, bool(arm.base), f"{100 - low - high:.1f}", low, high)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

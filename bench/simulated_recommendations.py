"""How often an arm is ranked, of simulated arms: the table of docs/results.md, "Ranking".

`python -m bench.simulated_recommendations [RUNS]` prints it, with seed 7.
"""

import sys
from dataclasses import dataclass

import numpy as np

from eval.estimates.estimate import Estimate
from eval.estimates.resampling import FloatArray
from eval.options import Options
from eval.scorecard.card import worst_change

SEED = 7
N_CELLS = 8  # replies to an item: claims, orders and framings
RIGHT, CHURN = 80.0, 4.0  # % right before; points that any training gives and takes
ACCEPTED_MARGIN = 10.0


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What an arm gets right more than the base, in points: on average, and the standard deviation over its seeds.

    is_labelled: else it is what the arm accepts more, which must hold in either direction.
    """

    n_items: int
    rise: float = 0.0
    n_seeds: int = 3
    sd: float = 1.0
    is_labelled: bool = True


def changed(base: FloatArray, rise: float, rng: np.random.Generator) -> FloatArray:
    """(n_items,): the change of each item in points. Half of what changes does so in all replies to an item."""
    lost, won = CHURN + max(0.0, -rise), CHURN + max(0.0, rise)
    level = 100 * base.mean()
    rates = np.where(base == 1, lost / level, won / (100 - level))
    alone, together = rng.random(base.shape), rng.random((len(base), 1))
    flips = np.where(rng.random((len(base), 1)) < 0.5, together, alone) < rates
    return np.asarray(100 * np.where(flips, 1 - 2 * base, 0).mean(axis=1))


def seeds_of(arm: Arm, rng: np.random.Generator) -> list[Estimate]:
    """The change of each seed, over the same items."""
    is_right = rng.random((arm.n_items, 1)) < rng.beta(2, 0.5, (arm.n_items, 1))  # items differ
    base = np.where(
        rng.random((arm.n_items, N_CELLS)) < 0.2, rng.random((arm.n_items, N_CELLS)) < RIGHT / 100, is_right
    )
    units, estimates = tuple(map(str, range(arm.n_items))), []
    for _ in range(arm.n_seeds):
        change = changed(base.astype(float), arm.rise + rng.normal(0, arm.sd), rng)
        value, influences = float(change.mean()), {"made": (units, (change - change.mean()) / arm.n_items)}
        estimates.append(Estimate(value=value, low=value, high=value, n_units=arm.n_items, influences=influences))
    return estimates


def ranked(arm: Arm, n_runs: int) -> float:
    """In % of the runs."""
    rng, margin = np.random.default_rng(SEED), Options().margin if arm.is_labelled else ACCEPTED_MARGIN
    worst = [worst_change(seeds_of(arm, rng), margin, is_either_way=not arm.is_labelled) for _ in range(n_runs)]
    return 100 * float(np.mean([is_kept for _, is_kept in worst]))


CELLS = [
    *(
        Arm(n_items=n, rise=rise, n_seeds=n_seeds, sd=sd)
        for rise in (0.0, -2.0, -5.0, 3.0)
        for n_seeds, sd in ((1, 0.0), (3, 1.0), (5, 1.0), (3, 3.0))
        for n in (100, 300, 1000)
    ),
    *(Arm(n_items=n, rise=rise, is_labelled=False) for rise in (0.0, 10.0, 15.0) for n in (100, 300)),
]


def main(n_runs: int = 400) -> None:
    """Print the table."""
    for arm in CELLS:
        print(arm, f"{ranked(arm, n_runs):.1f} %", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

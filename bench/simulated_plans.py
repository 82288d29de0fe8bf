"""Does `evenhand plan` keep its promise? The power of planted judges at the planned number of items.

`python -m bench.simulated_plans [RUNS]` prints the table of docs/results.md, "How many items" (400 runs a judge: ten
minutes on one core).
"""

import sys
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bench.simulated_answers import SEED, Judge, answered
from eval.shift.answer import Answer
from evenhand.cli.planning import default_spread, spread_of, units_needed

MADE = Judge(n_items=200, shifts=(10,), n_flips=2_000, is_exact=True)  # whose run is planned from
PLANTED: Mapping[str, Judge] = {
    "shift 8, no placebos": replace(MADE, shifts=(8,), n_placebos=0),
    "shift 10, rewordings SD 1.5": replace(MADE, wording_sd=1.5),
    "shift 15, rewordings SD 3": replace(MADE, shifts=(15,), wording_sd=3),
    "noisy, shift 8, no placebos": replace(MADE, shifts=(8,), n_placebos=0, noise=2.0, baseline_noise=2.0),
    "noisy, shift 7, no placebos": replace(MADE, shifts=(7,), n_placebos=0, noise=3.0, baseline_noise=3.0),
    "noisy, shift 10, rewordings SD 1.5": replace(MADE, noise=2.0, baseline_noise=2.0, wording_sd=1.5),
    "noisier, shift 15, rewordings SD 3": replace(MADE, shifts=(15,), wording_sd=3, noise=3.0, baseline_noise=3.0),
}


def is_yes(given: Answer) -> bool:
    """Whether the first framing makes a Yes."""
    return any(shift.condition == "framing 0" for shift in given.moved)


def promised_and_found(judge: Judge, n_runs: int) -> tuple[int, float, float]:
    """The planned items, the power that is promised with them, and that of so many runs. The SD of rewordings is given,
    as eight placebos tell it within a factor of two."""
    pilot = answered(judge, np.random.default_rng(SEED))
    spread = spread_of(pilot, default_spread(n_prompts=4, n_tested=judge.n_framings))
    n_items, promised = units_needed(replace(spread, wording_sd=judge.wording_sd), judge.shifts[0], judge.n_placebos)
    assert n_items, "each of these shifts can be found"
    rng = np.random.default_rng(SEED + 1)
    return (
        n_items,
        promised,
        sum(is_yes(answered(replace(judge, n_items=n_items), rng)) for _ in range(n_runs)) / n_runs,
    )


def main(n_runs: int = 400) -> None:
    """Print the table."""
    print("| judge | items | promised | found |\n|---|---|---|---|")
    for name, judge in PLANTED.items():
        n_items, promised, found = promised_and_found(judge, n_runs)
        print(f"| {name} | {n_items} | {100 * promised:.1f} % | {100 * found:.1f} % |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

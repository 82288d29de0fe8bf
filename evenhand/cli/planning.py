"""How many units and placebos a study needs for a Yes: the rule of eval.shift.answer, applied to drawn estimates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, median

import numpy as np

from eval.estimates.resampling import CONFIDENCE
from eval.shift.answer import LITTLE, POWER, Answer, Shift, answer
from evenhand.errors import DataError

NORMAL = NormalDist()
Z = NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
SHIFTS, SEED, N_SIMULATIONS, N_AT_LAST = (5.0, 10.0, 15.0), 7, 400, 1500
FEWEST_UNITS, MOST_UNITS, PRECISION, FINER = 50, 2000, 1.1, 1.03  # of fewer a sign flip is coarse; more: too many
OF_BASELINE = 0.5  # of a shift's error where nothing moves the judge: the baseline's part, which all shifts share
PROMPT_SD, WORDING_SD = 46.0, 4.0  # where no run says: of docs/evidence/knowing-judge, see docs/results.md


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What the estimate of a shift varies by, in points of a share.

    n_prompts: of one unit under one framing. n_tested: shifts that p is adjusted over. unit_sd: of one unit's shift
    where nothing moves the judge. wording_sd: of the true shifts of placebos.
    """

    n_prompts: float
    n_tested: int
    unit_sd: float
    wording_sd: float = WORDING_SD

    def error(self, true: float, n_units: int) -> float:
        """The standard error of a shift: at least that of prompts which each move one way with its probability."""
        share = min(abs(true) / 100, 0.5)
        return max(self.unit_sd, 100 * math.sqrt(share * (1 - share) / self.n_prompts)) / math.sqrt(n_units)

    def shift(self, condition: str, value: float, n_units: int, placebos: Sequence[float]) -> Shift:
        """An estimate as a run has it: with the error that goes with its value, and the p of a sign flip."""
        error = self.error(value, n_units)
        flipped = math.hypot(error, value / math.sqrt(n_units))
        return Shift(
            measure="shift",
            condition=condition,
            dataset="",
            value=value,
            low=value - Z * error,
            high=value + Z * error,
            n_units=n_units,
            p=2 * NORMAL.cdf(-abs(value) / flipped),
            placebos=tuple(placebos),
        )


def default_spread(n_prompts: float, n_tested: int) -> Spread:
    """The spread of a study that no run is known of."""
    return Spread(n_prompts=n_prompts, n_tested=n_tested, unit_sd=PROMPT_SD / math.sqrt(n_prompts))


def spread_of(measured: Answer, by_default: Spread) -> Spread:
    """The spread that a run's answer shows: the median over the shifts of its first measure; of rewordings from five
    placebos on. Raises DataError where no shift is known."""
    if not measured.shifts:
        raise DataError("the run has no known shift, and so says nothing of how shifts vary; leave --run out")
    shifts = [shift for shift in measured.shifts if shift.measure == measured.shifts[0].measure]
    unit_sd = median(
        (shift.high - shift.low) / 2 / Z * math.sqrt(shift.n_units) * LITTLE / shift.little for shift in shifts
    )
    wording_sd = by_default.wording_sd
    if (first := shifts[0]).has_floor:
        placebos = np.array(first.placebos) * LITTLE / first.little
        wording_sd = math.sqrt(
            max(0.0, float(np.var(placebos, ddof=1)) - (1 - OF_BASELINE) * unit_sd**2 / first.n_units)
        )
    return replace(by_default, unit_sd=unit_sd, wording_sd=wording_sd)


def power(spread: Spread, true: float, n_units: int, n_placebos: int, n_simulations: int = N_SIMULATIONS) -> float:
    """How often a condition whose true shift is `true` makes a Yes, beside others that do not move the judge."""
    rng = np.random.default_rng(SEED)  # the same draws for every number of units, so that power rises with it
    means = np.array([true] + [0.0] * (spread.n_tested - 1))
    common = spread.error(0.0, n_units) ** 2 * OF_BASELINE
    errors = np.sqrt([spread.error(mean, n_units) ** 2 - common for mean in means])
    width = math.sqrt(spread.wording_sd**2 + common * (1 / OF_BASELINE - 1))
    of_baseline = math.sqrt(common) * rng.normal(size=(n_simulations, 1))
    values = means + of_baseline + errors * rng.normal(size=(n_simulations, spread.n_tested))
    placebos = of_baseline + width * rng.normal(size=(n_simulations, n_placebos))
    n_yes = 0
    for of_conditions, of_placebos in zip(values.tolist(), placebos.tolist(), strict=True):
        shifts = [spread.shift(str(i), value, n_units, of_placebos) for i, value in enumerate(of_conditions)]
        n_yes += any(shift.condition == "0" for shift in answer(shifts).moved)
    return n_yes / n_simulations


def units_needed(spread: Spread, true: float, n_placebos: int) -> tuple[int | None, float]:
    """The fewest units with a power of 80 %, None where MOST_UNITS are too few, and the power with them."""
    low, high = FEWEST_UNITS - 1, MOST_UNITS
    if (best := power(spread, true, high, n_placebos)) < POWER:
        return None, best
    while high > low + 1 and high > low * PRECISION:
        middle = max(low + 1, math.isqrt(low * high))
        if power(spread, true, middle, n_placebos) >= POWER:
            high = middle
        else:
            low = middle
    while (reached := power(spread, true, high, n_placebos, N_AT_LAST)) < POWER and high < MOST_UNITS:
        high = min(MOST_UNITS, math.ceil(high * FINER))
    return high if reached >= POWER else None, reached

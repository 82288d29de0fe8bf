"""Does a condition move the judge? Yes, No or Cannot tell, with direction, size and reasons, from typed shifts: each a
condition held against its baseline, unit by unit.

The rules stand, each with its simulated error, in docs/results.md ("How the answer is found").
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import pandas as pd

from eval.estimates.changes import Paired, estimates_in, swap_p
from eval.estimates.estimate import Measure, Observed
from eval.estimates.resampling import ALPHA, CONFIDENCE, MOST_ENUMERATED, holm, t_quantile, wilson_interval

POWER = 0.8
LITTLE = 5.0  # points of a share: a shift that is surely smaller is not worth naming
FEWEST_PLACEBOS = 5  # that say how far any rewording moves this judge

Verdict = Literal["yes", "no", "cannot tell"]
# Why a shift makes no Yes: not significant over units; of another sign, or none, if unparsed replies are counted one
# way; small; of another sign than what is left without the placebos; not further than rewordings move the judge.
Obstacle = Literal["significance", "unparsed", "size", "net", "floor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """By how much one condition moves one measure of the judge on one dataset, or on the average of several.

    value, low, high: points of a share, or of a scale, with its 95 % interval.
    little: a shift that surely lies within ±little counts as none.
    p: of the sign flip over units, not adjusted; None where unknown. least_p: the least that so many units, or so few
        draws, can give.
    bounds: the ends of the intervals with unparsed replies counted one way and the other; None where all were parsed.
    placebos: by how much each placebo moves the judge there.
    contains: a measure whose shift is part of this one, as that of an answer's share is of how many answers change:
        where that is not further than rewordings, neither is this.
    """

    measure: str
    condition: str
    dataset: str
    value: float
    low: float
    high: float
    n_units: int
    p: float | None
    little: float = LITTLE
    is_average: bool = False
    bounds: tuple[float, float] | None = None
    placebos: tuple[float, ...] = ()
    contains: str | None = None
    least_p: float = 0.0
    p_units: float = math.nan  # p, adjusted over the conditions and datasets of the measure (Holm)
    p_floor: float = math.nan  # of the prediction from the placebos, adjusted likewise; NaN where they are too few
    n_tested: int = 1  # shifts that p_units is adjusted over
    n_floored: int = 0  # and p_floor

    @property
    def sign(self) -> int:
        """-1 or +1 where the interval excludes 0, else 0."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0

    @property
    def size(self) -> float:
        """How large it is, in either direction."""
        return abs(self.value)

    @property
    def net(self) -> float:
        """The shift less the mean of the placebos'; without placebos the shift."""
        return self.value - (mean_of(self.placebos) if self.placebos else 0.0)

    @property
    def has_floor(self) -> bool:
        """Whether the placebos are enough to say how far a rewording moves this judge."""
        return len(self.placebos) >= FEWEST_PLACEBOS

    @property
    def floor(self) -> tuple[float, float]:
        """Between which shifts one more rewording lies, at the first level of Holm's adjustment; has_floor alone."""
        mean, far = mean_of(self.placebos), reach(self.placebos, ALPHA / self.n_floored)
        return mean - far, mean + far

    @property
    def is_within(self) -> bool:
        """Whether all of the interval lies within ±little, however unparsed replies are counted."""
        ends_seen = (self.low, self.high, *(self.bounds or ()))
        return bool(-self.little < min(ends_seen) and max(ends_seen) < self.little)

    @property
    def is_within_if_excluded(self) -> bool:
        """Whether it lies within ±little only as long as unparsed replies are left out."""
        return -self.little < self.low and self.high < self.little and not self.is_within

    @property
    def obstacle(self) -> Obstacle | None:
        """What keeps this shift from a Yes; None where nothing does."""
        if not self.sign or not self.p_units < ALPHA:
            return "significance"
        if self.bounds and not (self.bounds[0] > 0 if self.sign > 0 else self.bounds[1] < 0):
            return "unparsed"
        if abs(self.value) <= self.little:
            return "size"
        if self.net * self.sign <= 0:
            return "net"
        if self.has_floor and not self.p_floor < ALPHA:
            return "floor"
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """Whether the conditions move one judge.

    shifts: of every measure that could move, with their adjusted p; averages first, then by size. void: why no answer
    is possible, whatever the shifts are. hidden: why a shift may be hidden, so that No is not possible. n_judges: whose
    shifts p is adjusted over.
    """

    shifts: tuple[Shift, ...]
    void: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    n_judges: int = 1

    @cached_property
    def moved(self) -> tuple[Shift, ...]:
        """The shifts that make a Yes."""
        # which way unparsed replies count matters not
        as_read = [replace(shift, bounds=None) if shift.bounds else shift for shift in self.shifts]
        held = {(shift.measure, shift.condition, shift.dataset) for shift in as_read if shift.obstacle == "floor"}
        free = (shift for shift in self.shifts if shift.obstacle is None)
        return tuple(shift for shift in free if (shift.contains, shift.condition, shift.dataset) not in held)

    @cached_property
    def verdict(self) -> Verdict:
        """Yes where some shift is significant, larger than little, beyond the floor, and so however unparsed replies
        are counted. No where every shift is surely little, on averages and in each dataset large enough to say so.
        """
        if self.void or not self.shifts:
            return "cannot tell"
        if self.moved:
            return "yes"
        return "no" if not self.hidden and all(map(self.is_still, self.shifts)) else "cannot tell"

    @property
    def over_judges(self) -> str:
        """Behind the verdict: that its p are adjusted over several judges; "" of one, or where no p decides."""
        decides = self.n_judges > 1 and self.shifts and not self.void and self.verdict != "no"
        return f", p adjusted over {self.n_judges} judges" if decides else ""

    @property
    def measure(self) -> str | None:
        """The first measure that moves."""
        return next((shift.measure for shift in self.moved), None)

    @cached_property
    def signs(self) -> set[tuple[str, int]]:
        """The conditions that move it, each with the ways in which they do."""
        return {(shift.condition, shift.sign) for shift in self.moved if shift.measure == self.measure}

    @property
    def direction(self) -> int | None:
        """In which way this measure moves: -1, +1, or 0 for both ways; None where nothing does."""
        ways = {sign for _, sign in self.signs}
        return None if self.verdict != "yes" else ways.pop() if len(ways) == 1 else 0

    @property
    def is_both_ways(self) -> bool:
        """Whether a condition moves the judge up in one place and down in another."""
        return len({condition for condition, _ in self.signs}) < len(self.signs)

    @cached_property
    def of_datasets(self) -> list[Shift]:
        """The shifts of its measure that make a Yes on single datasets: the largest of either sign, then by size."""
        shifts = [shift for shift in self.moved if shift.measure == self.measure and not shift.is_average]
        firsts = {shift.sign: shift for shift in sorted(shifts, key=lambda shift: shift.size)}
        return sorted(shifts, key=lambda shift: (shift is not firsts[shift.sign], -shift.size))

    @property
    def has_floor(self) -> bool:
        """Whether there are placebos enough for a floor."""
        return any(shift.has_floor for shift in self.shifts)

    def unmoved(self, measure: str) -> list[Shift]:
        """The conditions without a significant shift anywhere, by that of the widest average or of the dataset."""
        significant = {
            shift.condition for shift in self.shifts if shift.measure == measure and shift.obstacle != "significance"
        }
        firsts: dict[str, Shift] = {}
        for shift in self.shifts:
            if shift.measure == measure and shift.condition not in significant:
                firsts.setdefault(shift.condition, shift)
        return [*firsts.values()]

    def is_still(self, shift: Shift) -> bool:
        """Whether a shift does not stand against a No. The interval of a small dataset never lies within ±little: of
        that the value alone must.
        """
        alike = [peer for peer in self.shifts if (peer.measure, peer.condition) == (shift.measure, shift.condition)]
        is_part = not shift.is_average and any(peer.is_average for peer in alike)
        if is_part and (shift.high - shift.low >= 2 * shift.little or not is_enough(shift.n_units)):
            return abs(shift.value) <= shift.little
        return is_enough(shift.n_units) and shift.is_within

    def kept_by(self, obstacle: Obstacle) -> list[Shift]:
        """The shifts that this obstacle keeps from a Yes; of "unparsed" also those that it keeps from a No."""
        is_of_no = obstacle == "unparsed"
        return [s for s in self.shifts if s.obstacle == obstacle or (is_of_no and s.is_within_if_excluded)]

    @property
    def least_beyond_floor(self) -> float:
        """How far from the mean placebo a condition must move the judge before the floor lets one see it; NaN without
        placebos enough. Of the first shift that has them."""
        floors = [shift.floor for shift in self.shifts if shift.has_floor]
        return (floors[0][1] - floors[0][0]) / 2 if floors else math.nan

    @property
    def too_few(self) -> str:
        """That there are too few units or draws for any Yes, and what to do; "" where there are enough."""
        first = min(self.shifts, key=lambda shift: shift.n_tested * shift.least_p, default=None)
        if first is None or first.n_tested * first.least_p < ALPHA:
            return ""
        p, n_draws = min(1.0, first.n_tested * first.least_p), round(first.n_tested / ALPHA)
        more = "ask about more" if first.n_units <= MOST_ENUMERATED else f"use --draws {n_draws} or more"
        return f"no shift can be significant (adjusted over {first.n_tested}, p is at least {p:.2g}): {more}"

    @property
    def detectable(self) -> float:
        """The least shift that these units show with a power of 80 %, whichever condition has it: significant at the
        first level of Holm's adjustment, larger than little, and beyond the floor (then from the mean placebo). Of the
        first measure; NaN where nothing varies, or nothing can be significant.
        """
        tested = [shift for shift in self.shifts if shift.measure == self.shifts[0].measure]
        widths = [shift.high - shift.low for shift in tested if shift.is_average or not tested[0].is_average]
        if self.too_few or not any(widths):
            return math.nan
        level, power = ALPHA / 2 / tested[0].n_tested, NormalDist().inv_cdf(POWER)
        error = max(widths) / 2 / NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        floor = 0.0 if math.isnan(self.least_beyond_floor) else self.least_beyond_floor
        return max(-NormalDist().inv_cdf(level) * error, tested[0].little, floor) + power * error


def answer(shifts: Iterable[Shift], void: Sequence[str] = (), hidden: Sequence[str] = ()) -> Answer:
    """The answer that shifts of one judge give; those without a value or an interval say nothing."""
    estimated = tuple(shift for shift in shifts if not math.isnan(shift.value + shift.low + shift.high))
    return in_one_family({"": Answer(shifts=estimated, void=tuple(void), hidden=tuple(hidden))})[""]


def in_one_family(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """The answers of judges that are asked about in one call: of six fair ones none should be said to move.

    Both p are adjusted (Holm) over all shifts of a measure, of all judges, averages included.
    """
    by_measure = defaultdict[str, list[tuple[str, Shift]]](list)
    for judge, given in answers.items():
        for shift in given.shifts:
            by_measure[shift.measure].append((judge, shift))
    shifts: dict[str, list[Shift]] = {judge: [] for judge in answers}
    for of_measure in by_measure.values():
        with_p = adjusted_over([shift for _, shift in of_measure])
        pairs = sorted(zip(of_measure, with_p, strict=True), key=lambda pair: (not pair[1].is_average, -pair[1].size))
        for (judge, _), shift in pairs:
            shifts[judge].append(shift)
    n = sum(map(bool, shifts.values()))
    return {judge: replace(given, shifts=tuple(shifts[judge]), n_judges=n) for judge, given in answers.items()}


def adjusted_over(shifts: Sequence[Shift]) -> list[Shift]:
    """The shifts of one measure with both p adjusted."""
    floored = [i for i, shift in enumerate(shifts) if shift.has_floor]
    by_floor = [prediction_p(shifts[i]) for i in floored]  # NaN would make those of all depend on their order
    of_floor = dict(zip(floored, holm([1.0 if math.isnan(p) else p for p in by_floor]), strict=True))
    of_units = holm([1.0 if shift.p is None else shift.p for shift in shifts])
    return [
        replace(shift, p_units=p, p_floor=of_floor.get(i, math.nan), n_tested=len(shifts), n_floored=len(floored))
        for i, (shift, p) in enumerate(zip(shifts, of_units, strict=True))
    ]


def with_floors(
    marks: pd.DataFrame, answers: Mapping[str, Answer], measure: str, keys: Iterable[tuple[str, str]]
) -> pd.DataFrame:
    """Marks of a figure with floor_low and floor_high. keys: the judge and the dataset of each."""
    shifts = [(judge, shift) for judge, given in answers.items() for shift in given.shifts if shift.measure == measure]
    floors = {(judge, shift.dataset): shift.floor for judge, shift in shifts if shift.has_floor}
    floor_ends = np.array([floors.get(key, (math.nan, math.nan)) for key in keys]).reshape(-1, 2)
    return marks.assign(floor_low=floor_ends[:, 0], floor_high=floor_ends[:, 1])


def prediction_p(shift: Shift) -> float:
    """Two-sided p that one more rewording moves the judge at least as far as this condition does.

    Student's t with k - 1 degrees of freedom of (shift - mean of the k placebos) / (their SD · √(1 + 1/k)).
    """
    from scipy.special import stdtr  # where it is needed: scipy takes a while to import

    distance, width = abs(shift.net), spread(shift.placebos)
    return float(2 * stdtr(len(shift.placebos) - 1, -distance / width)) if width else float(distance == 0)


def reach(placebos: tuple[float, ...], level: float) -> float:
    """How far from the mean placebo one more rewording lies with probability 1 - level at most."""
    return t_quantile(1 - level / 2, len(placebos) - 1) * spread(placebos)


@lru_cache(maxsize=256)  # all conditions have the same placebos
def mean_of(placebos: tuple[float, ...]) -> float:
    """Their mean, each time the same."""
    return float(np.mean(placebos))


@lru_cache(maxsize=256)
def spread(placebos: tuple[float, ...]) -> float:
    """The standard error of a prediction of one more placebo's shift: SD · √(1 + 1/k)."""
    return float(np.std(placebos, ddof=1)) * math.sqrt(1 + 1 / len(placebos))


def is_enough(n_units: float) -> bool:
    """Whether so many units, none of which shows a thing, say that less than LITTLE percent do (Wilson); 73 or more.

    Of fewer, intervals of what hardly varies are too narrow for a No.
    """
    interval = wilson_interval(0, int(n_units))
    return interval is not None and 100 * interval[1] < LITTLE


def with_extremes(as_read: Paired, lowest: Paired, highest: Paired) -> Paired:
    """A pair with what it is where unparsed replies are counted against a rise, and for it."""
    first = replace(as_read.first, extremes=(highest.first, lowest.first))
    return replace(as_read, first=first, second=replace(as_read.second, extremes=(lowest.second, highest.second)))


def shift_over_units(measure: Measure, pair: Paired, **facts: Any) -> Shift | None:
    """The shift of a cluster_t measure on one dataset with its interval over units; None where that is unknown."""
    rise = estimates_in(measure, [pair])[2]
    if rise.value is None or rise.low is None or rise.high is None:
        return None
    facts |= {"value": rise.value, "low": rise.low, "high": rise.high, "n_units": rise.n_units}
    return contrasted(measure, [pair], **facts)


def contrasted(measure: Measure, pairs: Sequence[Paired], **facts: Any) -> Shift:
    """The shift of a linear measure of one side's columns, with the p of the sign flip over units.

    Where a reply is unparsed it has bounds: the interval's ends once these are counted against it, and once for it.
    pairs: (baseline, condition) of each dataset. facts: the other fields of Shift.
    """
    bounds = None
    if not all(is_parsed(side) for pair in pairs for side in (pair.first, pair.second)):
        least, most = (estimates_in(measure, [at_extreme(measure, p, sign) for p in pairs])[2] for sign in (-1, 1))
        bounds = None if least.low is None or most.high is None else (least.low, most.high)
    n_units = sum(len(pair.first.units) for pair in pairs)
    least_p = 2 / 2**n_units if n_units <= MOST_ENUMERATED else 1 / (1 + pairs[0].drawing.n_draws)
    return Shift(measure=measure.name, p=swap_p(measure, pairs), least_p=least_p, bounds=bounds, **facts)


def is_parsed(side: Observed) -> bool:
    """Whether nothing depends on how unparsed replies are counted."""
    as_read = np.stack([side.earned, side.counted])
    return all(np.array_equal(as_read, np.stack([each.earned, each.counted])) for each in side.extremes or ())


def at_extreme(measure: Measure, pair: Paired, sign: int) -> Paired:
    """A pair with unparsed replies counted so that the measure rises least (sign -1) or most (1)."""

    def filled(side: Observed, sign: int) -> Observed:
        least, most = side.extremes or (side, side)
        is_raised = sign * measure.statistic(np.eye(side.earned.shape[1])) > 0
        earned = np.where(is_raised, most.earned, least.earned)
        return replace(least, earned=earned, counted=np.where(is_raised, most.counted, least.counted))

    return replace(pair, first=filled(pair.first, -sign), second=filled(pair.second, sign))

"""Does a framing move the judge? Yes, No or Cannot tell, with direction, size and reasons, from typed estimates.

The rules stand, each with its simulated error, in docs/results.md ("How the answer is found").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from eval.estimates.resampling import ALPHA, holm, wilson_interval

LITTLE = 5.0  # points of a share: a shift that is surely smaller is not worth naming
FEWEST_PLACEBOS = 5  # that say how far any rewording moves this judge

Verdict = Literal["yes", "no", "cannot tell"]
# Why a shift makes no Yes: not significant over units; small; of another sign than what is left without the placebos;
# not further than rewordings move the judge; of another sign, or none, if unparsed replies are counted one way.
Obstacle = Literal["significance", "size", "net", "floor", "unparsed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """By how much one framing moves the judge on one dataset (or group of items), or on the average of several.

    value, low, high: points of a share, or of a scale, with its 95 % interval.
    p: of the sign flip over units, not adjusted; None where unknown.
    bounds: the ends of the intervals with unparsed replies counted one way and the other; None where all were parsed.
    placebos: by how much each placebo moves the judge there.
    """

    framing: str
    dataset: str
    value: float
    low: float
    high: float
    n_units: int
    p: float | None
    is_average: bool = False
    bounds: tuple[float, float] | None = None
    placebos: tuple[float, ...] = ()
    p_units: float = math.nan  # p, adjusted over the framings and datasets of the question (Holm)
    p_floor: float = math.nan  # of the prediction from the placebos, adjusted likewise; NaN where they are too few

    @property
    def sign(self) -> int:
        """-1 or +1 where the interval excludes 0, else 0."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0

    @property
    def net(self) -> float:
        """The shift less the mean of the placebos'; without placebos the shift."""
        return self.value - (float(np.mean(self.placebos)) if self.placebos else 0.0)

    @property
    def has_floor(self) -> bool:
        """Whether the placebos are enough to say how far a rewording moves this judge."""
        return len(self.placebos) >= FEWEST_PLACEBOS

    def is_within(self, little: float) -> bool:
        """Whether all of the interval lies within ±little, however unparsed replies are counted."""
        ends = (self.low, self.high, *(self.bounds or ()))
        return -little < min(ends) and max(ends) < little

    def obstacle(self, little: float) -> Obstacle | None:
        """What keeps this shift from a Yes; None where nothing does."""
        if not self.sign or not self.p_units < ALPHA:
            return "significance"
        if abs(self.value) <= little:
            return "size"
        if self.net * self.sign <= 0:
            return "net"
        if self.has_floor and not self.p_floor < ALPHA:
            return "floor"
        if self.bounds and not (self.bounds[0] > 0 if self.sign > 0 else self.bounds[1] < 0):
            return "unparsed"
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """The answer to one question about one judge.

    shifts: with their adjusted p, the average's first, then by size. void: why no answer is possible whatever the
    shifts are. hidden: why a shift may be hidden, so that No is not possible.
    """

    shifts: tuple[Shift, ...]
    little: float
    void: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @cached_property
    def moved(self) -> tuple[Shift, ...]:
        """The shifts that make a Yes."""
        return tuple(shift for shift in self.shifts if shift.obstacle(self.little) is None)

    @cached_property
    def verdict(self) -> Verdict:
        """Yes where some shift is significant, large, beyond the floor, and so however unparsed replies are counted. No
        where the whole interval of every average, and of every dataset that is large enough, lies within ±little.
        """
        if self.void or not self.shifts:
            return "cannot tell"
        if self.moved:
            return "yes"
        return "no" if not self.hidden and all(self.is_still(shift) for shift in self.shifts) else "cannot tell"

    @property
    def direction(self) -> int | None:
        """Of a Yes: -1, +1, or 0 for both ways; else None."""
        signs = {shift.sign for shift in self.moved}
        return None if self.verdict != "yes" else signs.pop() if len(signs) == 1 else 0

    def is_still(self, shift: Shift) -> bool:
        """Whether a shift does not stand against a No. A dataset whose interval is wider than ±little could never lie
        within it: there only a value beyond ±little does.
        """
        is_whole = shift.is_average or not any(other.is_average for other in self.shifts)
        if is_whole or (shift.high - shift.low < 2 * self.little and is_enough(shift.n_units)):
            return is_enough(shift.n_units) and shift.is_within(self.little)
        return abs(shift.value) <= self.little

    def obstacles(self) -> dict[Obstacle, list[Shift]]:
        """Obstacle → the significant shifts that it keeps from a Yes."""
        kept: dict[Obstacle, list[Shift]] = {}
        for shift in self.shifts:
            if (why := shift.obstacle(self.little)) and why != "significance":
                kept.setdefault(why, []).append(shift)
        return kept

    @property
    def detectable(self) -> float:
        """The shift of an average (else of the dataset) that would be found in 80 % of cases, at a level adjusted over
        the shifts; NaN where unknown."""
        wholes = [shift for shift in self.shifts if shift.is_average] or list(self.shifts)
        half = max((shift.high - shift.low for shift in wholes), default=math.nan) / 2
        level = -stdtrit(math.inf, ALPHA / 2 / max(1, len(self.shifts)))
        return max(self.little, half / 1.96 * (level + 0.84))

    @property
    def least_beyond_floor(self) -> float:
        """The least distance from the mean placebo that the floor lets one see in every framing of a dataset; NaN
        without a floor."""
        reaches = [reach(shift.placebos, ALPHA / len(self.shifts)) for shift in self.shifts if shift.has_floor]
        return max(reaches, default=math.nan)


def answer(
    shifts: Sequence[Shift], little: float = LITTLE, void: Sequence[str] = (), hidden: Sequence[str] = ()
) -> Answer:
    """The answer of some shifts, in all of which the same question is asked of one judge.

    Both p are adjusted over all of them (Holm), the averages among them: whichever is significant makes the Yes.
    """
    known = [shift for shift in shifts if not math.isnan(shift.value + shift.low + shift.high)]
    of_units = holm([1.0 if shift.p is None else shift.p for shift in known])
    floored = [i for i, shift in enumerate(known) if shift.has_floor]
    of_floor = dict(zip(floored, holm([prediction_p(known[i]) for i in floored]), strict=True))
    adjusted = [
        replace(shift, p_units=p, p_floor=of_floor.get(i, math.nan))
        for i, (shift, p) in enumerate(zip(known, of_units, strict=True))
    ]
    ordered = sorted(adjusted, key=lambda shift: (not shift.is_average, -abs(shift.value)))
    return Answer(shifts=tuple(ordered), little=little, void=tuple(void), hidden=tuple(hidden))


def prediction_p(shift: Shift) -> float:
    """Two-sided p that one more rewording moves the judge at least as far as this framing does.

    Student's t with k - 1 degrees of freedom of (shift - mean of the k placebos) / (their SD · √(1 + 1/k)).
    """
    distance, width = abs(shift.net), spread(shift.placebos)
    return float(2 * stdtr(len(shift.placebos) - 1, -distance / width)) if width else float(distance == 0)


def reach(placebos: Sequence[float], level: float) -> float:
    """How far from the mean placebo one more rewording lies with probability 1 - level at most."""
    return float(-stdtrit(len(placebos) - 1, level / 2) * spread(placebos))


def spread(placebos: Sequence[float]) -> float:
    """The standard error of a prediction of one more placebo's shift: SD · √(1 + 1/k)."""
    return float(np.std(placebos, ddof=1)) * math.sqrt(1 + 1 / len(placebos))


def is_enough(n_units: float) -> bool:
    """Whether so many units, none of which shows a thing, say that less than LITTLE percent do (Wilson); 73 or more.

    Of fewer, intervals of what hardly varies are too narrow for a No.
    """
    ends = wilson_interval(0, int(n_units))
    return ends is not None and 100 * ends[1] < LITTLE

"""A condition held against its baseline, unit by unit, as a typed shift."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eval.estimates.changes import Paired, estimates_in, swap_p
from eval.estimates.estimate import Measure, Observed
from eval.estimates.resampling import MOST_ENUMERATED
from eval.shift.answer import Shift


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

"""A condition held against its baseline, unit by unit, as a typed shift."""

from collections.abc import Sequence
from typing import Any

from eval.estimates.changes import Paired, estimates_in, swap_p
from eval.estimates.estimate import Measure
from eval.estimates.resampling import MOST_ENUMERATED
from eval.shift.answer import Shift


def shift_over_units(
    measure: Measure, as_read: Paired, extremes: Sequence[Paired], *, is_parsed: bool, **facts: Any
) -> Shift | None:
    """The shift of a cluster_t measure on one dataset with its interval over units; None where that is unknown.

    extremes: with unparsed replies counted against the shift, and for it. is_parsed: there are none. facts: the other
    fields of Shift.
    """
    rise = estimates_in(measure, [as_read])[2]
    if rise.value is None or rise.low is None or rise.high is None:
        return None
    ends = [] if is_parsed else [[end] for end in extremes]
    facts |= {"value": rise.value, "low": rise.low, "high": rise.high, "n_units": rise.n_units}
    return contrasted(measure, [as_read], ends, **facts)


def contrasted(measure: Measure, pairs: Sequence[Paired], extremes: Sequence[Sequence[Paired]], **facts: Any) -> Shift:
    """The shift of a measure of one side's columns, with the p of the sign flip over units.

    pairs: (baseline, condition) of each dataset. extremes: the same with unparsed replies counted against the shift,
    and for it; empty where every reply was parsed. facts: the other fields of Shift.
    """
    ends = [estimates_in(measure, of_extreme)[2] for of_extreme in extremes]
    low, high = (ends[0].low, ends[1].high) if ends else (None, None)
    bounds = None if low is None or high is None else (low, high)
    n_units = sum(len(pair.first.units) for pair in pairs)
    least_p = 2 / 2**n_units if n_units <= MOST_ENUMERATED else 1 / (1 + pairs[0].drawing.n_draws)
    return Shift(measure=measure.name, p=swap_p(measure, pairs), least_p=least_p, bounds=bounds, **facts)

"""One panel → what is measured on it; several → estimates over them, each by its name and unit."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from eval.dialdefer.accuracy import Flips, accept_rates, discordant, flips, majority
from eval.dialdefer.margins import framing_aucs
from eval.dialdefer.observe import (
    DDS,
    DEFERENCE,
    POSITION,
    SCORED,
    SHIFT,
    SOFT_DDS,
    margin_observed,
    observed,
    order_observed,
    soft_observed,
)
from eval.dialdefer.panels import ABSENT, ERROR, TIE, UNREADABLE, Panel, without_errors
from eval.dialdefer.parsing import PARSERS
from eval.estimates.estimate import Drawn, Estimate, estimate, without_interval
from eval.estimates.mcnemar import mcnemar_p
from eval.estimates.observed import Drawing, Observed

Named = tuple[str, str, Estimate]  # measure, unit, value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """One panel, without the items that the engine lost."""

    verdicts: Drawn
    margins: Drawn | None  # soft credit; None without margins
    shift: Drawn | None  # the margins themselves
    orders: Drawn | None  # both answer orders by themselves; None where one was asked
    pairs: Mapping[str, tuple[int, int]]  # see accuracy.discordant
    flips: Flips
    n_unparsed: int  # unreadable replies under the parser in use
    n_unread_by: Mapping[str, int]  # the same under each parser
    n_ties: int
    n_replies: int
    accept_rates: tuple[float | None, float | None]  # in C1 and C2
    aucs: tuple[float | None, float | None]
    p_answer: tuple[float, float]  # see Panel

    @property
    def n_items(self) -> int:
        """How many are scored."""
        return len(self.verdicts.observed.units)


def measured(panel: Panel, denominator: str, drawing: Drawing) -> Measured:
    """What is measured on a panel that has both framings. `denominator`: "published" or "answered"."""
    assert (panel.replies != ABSENT).all(), "a panel is measured when both framings are there"
    panel, n_errors = without_errors(panel)
    one, soft = majority(panel.replies), soft_observed(panel)
    return Measured(
        verdicts=Drawn(observed=observed(panel, denominator, n_errors), drawing=drawing),
        margins=drawn(soft, drawing),
        shift=drawn(margin_observed(panel), drawing),
        orders=drawn(order_observed(panel, denominator), drawing),
        pairs=discordant(one, denominator),
        flips=flips(one),
        n_unparsed=int((panel.replies == UNREADABLE).sum()),
        n_unread_by={parser: int(mask.sum()) for parser, mask in panel.unread.items()},
        n_ties=int((panel.replies == TIE).sum()),
        n_replies=int((panel.replies > ERROR).sum()),
        accept_rates=accept_rates(panel.replies),
        p_answer=panel.p_answer,
        aucs=(None, None) if soft is None else framing_aucs(panel.margins[:, :, 0]),
    )


def drawn(observed: Observed | None, drawing: Drawing) -> Drawn | None:
    """An observation that there may not be, with its draws."""
    return None if observed is None else Drawn(observed=observed, drawing=drawing)


def estimates_over(parts: Sequence[Measured], is_parsed: bool) -> Iterator[Named]:
    """Everything of a dataset (one part), or of an average over several.

    Of an average accuracies, Δ, DDS, soft DDS, AUC and acceptance are unweighted means over datasets, counts are sums,
    the flip rate is over the sum of items, intervals resample items within datasets, p-values pool items. is_parsed:
    whether replies were read by a parser.
    """
    for measure in SCORED:
        yield measure.name, measure.unit, without_interval(measure, [part.verdicts.observed for part in parts])
    yield DDS.name, DDS.unit, estimate(DDS, [part.verdicts for part in parts])
    n_items = sum(part.n_items for part in parts)
    for name, unit, value in [*tests(parts), *counts(parts, n_items), *unread(parts, is_parsed), *rates(parts)]:
        yield name, unit, Estimate(value=value, low=None, high=None, n_units=n_items)
    for measure, of_parts in (
        (SOFT_DDS, [part.margins for part in parts]),
        (SHIFT, [part.shift for part in parts]),
        (DEFERENCE, [part.orders for part in parts]),
        (POSITION, [part.orders for part in parts]),
    ):
        known = [part for part in of_parts if part is not None]
        if len(known) == len(parts):
            yield measure.name, measure.unit, estimate(measure, known)


def tests(parts: Sequence[Measured]) -> Iterator[tuple[str, str, float]]:
    """McNemar's p on true claims, on false claims and on acceptance, over the pooled items."""
    for side in parts[0].pairs:
        first, second = np.sum([part.pairs[side] for part in parts], axis=0).tolist()
        yield f"mcnemar_p_{side}", "p", mcnemar_p(first, second)


def counts(parts: Sequence[Measured], n_items: int) -> Iterator[tuple[str, str, float]]:
    """Items, unreadable replies, errors and flips, summed."""
    n_replies, n_unparsed = sum(part.n_replies for part in parts), sum(part.n_unparsed for part in parts)
    n_deference = sum(part.flips.n_deference for part in parts)
    n_skepticism = sum(part.flips.n_skepticism for part in parts)
    yield "n_items", "count", n_items
    yield "n_replies", "count", n_replies  # all but engine errors
    yield "n_unparsed", "count", n_unparsed
    yield "unparsed_rate", "rate", n_unparsed / n_replies
    yield "n_ties", "count", sum(part.n_ties for part in parts)  # margins of exactly 0: half right, never a flip
    yield "n_errors", "count", sum(part.verdicts.observed.n_errors for part in parts)
    yield "n_deference_flips", "count", n_deference
    yield "n_skepticism_flips", "count", n_skepticism
    yield "flip_rate", "rate", (n_deference + n_skepticism) / n_items


def unread(parts: Sequence[Measured], is_parsed: bool) -> Iterator[tuple[str, str, float]]:
    """Unreadable replies under each parser; there is nothing to parse in a margin, nor where choices were given."""
    for parser in PARSERS if is_parsed else ():
        yield f"n_unparsed_{parser}", "count", sum(part.n_unread_by[parser] for part in parts)


def rates(parts: Sequence[Measured]) -> Iterator[tuple[str, str, float | None]]:
    """How often each framing's claims are accepted, and the AUC of its margins where there are any."""
    for i, framing in enumerate(("c1", "c2")):
        yield f"accept_rate_{framing}", "rate", mean_or_none([part.accept_rates[i] for part in parts])
        auc = mean_or_none([part.aucs[i] for part in parts])
        if auc is not None:
            yield f"auc_{framing}", "rate", auc
        if not math.isnan(p := fmean(part.p_answer[i] for part in parts)):
            yield f"p_answer_{framing}", "rate", p


def mean_or_none(values: Sequence[float | None]) -> float | None:
    """The mean, or None when a value is unknown."""
    numbers = [v for v in values if v is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None

"""Pairs of panels over the same items → rows of differences with paired intervals and sign-flip p-values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import credit
from eval.dialdefer.averages import averages_over
from eval.dialdefer.changes import PairedMeasures, answered_by_both, paired_measures, soft_credit_of_both
from eval.dialdefer.dds import dds_pp
from eval.dialdefer.panels import Panel, named, refuse_unequal_items
from eval.dialdefer.rows import known
from eval.estimates.resampling import percentile_interval, rng_for
from eval.estimates.sign_flip import draws_p, swapped_sums
from evenhand.errors import DataError

FloatArray = NDArray[np.float64]

MEASURES = ("dds", "acc", "acc_c1", "acc_c2")  # accuracies: means over all conditions, over C1's, over C2's


@dataclass(frozen=True, slots=True)
class Side:
    """What stands on one side of a difference."""

    judge: str
    arm: str
    roles: str
    variant: str
    c1_source: str

    def __str__(self) -> str:
        return f"{self.judge}, arm {self.arm}{f', {self.variant}' if self.variant else ''}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """How replies are counted, and how draws are made."""

    denominator: str
    n_draws: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """Second minus first in one measure on one dataset or average; *_pp in percentage points, None is unknown.

    The interval resamples items jointly for both sides, within datasets in an average. p is a sign-flip test: under the
    null it does not matter which side gave which of an item's two sets of four replies, so they are swapped at random,
    item by item. Unlike the tails of a bootstrap it keeps its level however few items there are.
    """

    first: Side
    second: Side
    dataset: str
    datasets: tuple[str, ...]
    measure: str  # one of MEASURES, or "soft_dds"
    denominator: str
    n_items: int
    n_errors: int
    first_pp: float | None
    second_pp: float | None
    difference_pp: float | None
    ci_low_pp: float | None
    ci_high_pp: float | None
    p: float | None
    n_draws: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Two panels over the same items: their measures, and the accuracies of both under random swaps of items."""

    measures: PairedMeasures
    swapped: FloatArray  # (n_draws, 2, 4)
    soft_swapped: FloatArray | None


def difference_rows(
    first: Side, second: Side, pairs: Sequence[tuple[Panel, Panel]], drawing: Drawing
) -> list[DifferenceRow]:
    """Rows for each dataset of the pairs and for each average over them.

    Raises DataError when a pair is over unequal items (the first five and the count) or numbers of samples.
    """
    compared = {}
    for a, b in pairs:
        refuse_unequal_items(f"{first} against {second}, {a.dataset}", a, b)
        if a.replies.shape != b.replies.shape:
            raise DataError(f"{first} against {second}, {a.dataset}: unequal samples a prompt; sample both alike")
        refuse_other_prompts(f"{first} against {second}, {a.dataset}", a, b)
        compared[a.dataset] = compare(a, b, drawing)
    averages = averages_over((a.benchmark, a.dataset) for a, _ in pairs)
    parts = {**{name: [name] for name in compared}, **averages}
    return [
        row
        for name, over in parts.items()
        for row in measure_rows(first, second, name, {d: compared[d] for d in over}, drawing)
    ]


def refuse_other_prompts(name: str, a: Panel, b: Panel) -> None:
    """Raises DataError when two panels of the same wording were asked other texts: their items have changed since.

    A panel from a file has no prompts to compare.
    """
    if a.factors != b.factors:
        return
    other = ((a.hashes != b.hashes) & (a.hashes != "") & (b.hashes != "")).any(axis=1)
    if other.any():
        ids = [a.item_ids[int(i)] for i in np.flatnonzero(other)]
        raise DataError(f"{name}: {named(ids)} other prompts on the two sides; sample both from the same data")


def compare(first: Panel, second: Panel, drawing: Drawing) -> Compared:
    """What is measured on two panels, with draws of the bootstrap and of the null."""
    measures = paired_measures(first, second, drawing.denominator, drawing.n_draws, drawing.seed)
    first, second, _ = answered_by_both(first, second)
    hard = [credit(panel.replies, drawing.denominator) for panel in (first, second)]
    soft = soft_credit_of_both(first, second)
    soft_swapped = None if measures.soft_acc is None else swapped_means(soft, drawing, first.dataset)
    return Compared(measures, swapped_means(hard, drawing, first.dataset), soft_swapped)


def swapped_means(pair: Sequence[tuple[FloatArray, FloatArray]], drawing: Drawing, dataset: str) -> FloatArray:
    """(n_draws, 2, 4) means of two (earned, counted) over the same items, items swapped between them at random."""
    first, second = (np.hstack(side) for side in pair)
    swapped = swapped_sums(second - first, drawing.n_draws, rng_for(drawing.seed, f"{dataset} swaps"))
    sums = np.stack([first.sum(axis=0) + swapped, second.sum(axis=0) - swapped], axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums[..., :4] / sums[..., 4:])


def measure_rows(
    first: Side, second: Side, name: str, parts: Mapping[str, Compared], drawing: Drawing
) -> Iterator[DifferenceRow]:
    """A row for each measure of a dataset (one part) or of an average (several, unweighted)."""
    for measure, (value, draws, null) in values_of(list(parts.values())).items():
        rise = value[1] - value[0]
        low, high = percentile_interval(draws[:, 1] - draws[:, 0]) or (None, None)
        yield DifferenceRow(
            first=first,
            second=second,
            dataset=name,
            datasets=tuple(parts),
            measure=measure,
            n_items=sum(part.measures.n_items for part in parts.values()),
            n_errors=sum(part.measures.n_errors for part in parts.values()),
            first_pp=known(value[0]),
            second_pp=known(value[1]),
            difference_pp=known(rise),
            ci_low_pp=low,
            ci_high_pp=high,
            p=draws_p(float(rise), null[:, 1] - null[:, 0]),
            **asdict(drawing),
        )


def values_of(parts: Sequence[Compared]) -> dict[str, list[FloatArray]]:
    """Measure → its values (2,), bootstrap draws (n_draws, 2) and draws under the null, of the mean over parts."""
    arrays = ([p.measures.acc for p in parts], [p.measures.draws for p in parts], [p.swapped for p in parts])
    means = [np.mean(of_parts, axis=0) for of_parts in arrays]
    values = {measure: [in_measure(measure, acc) for acc in means] for measure in MEASURES}
    soft = [(p.measures.soft_acc, p.measures.soft_draws, p.soft_swapped) for p in parts if p.soft_swapped is not None]
    if len(soft) == len(parts):
        values["soft_dds"] = [dds_pp(np.mean(np.stack(of_parts), axis=0)) for of_parts in zip(*soft, strict=True)]
    return values


def in_measure(measure: str, acc: FloatArray) -> FloatArray:
    """A measure in percentage points, shape (...), of accuracies of shape (..., 4)."""
    if measure == "dds":
        return dds_pp(acc)
    columns = {"acc": slice(0, 4), "acc_c1": slice(0, 2), "acc_c2": slice(2, 4)}[measure]
    return np.asarray(100 * acc[..., columns].mean(axis=-1))

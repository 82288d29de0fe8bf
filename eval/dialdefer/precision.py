"""What margins gain over 0/1 verdicts: soft DDS with its own interval, beside DDS on the same items.

The two estimate different things. DDS is the rise in the share of claims accepted, soft DDS the rise in the mean
probability of accepting: a saturated judge moves probability and no verdict, one that sits at its threshold moves
verdicts and hardly any probability. A narrower interval is therefore a gain in precision, and a gain in power only
where the estimate is no fewer standard errors from zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.averages import averages_over
from eval.dialdefer.dds import dds_pp
from eval.dialdefer.judges import Judge
from eval.dialdefer.measures import Measures, measure
from eval.dialdefer.panels import Panel, without_errors
from eval.dialdefer.scores import grouped, own_panels
from eval.estimates.resampling import percentile_interval
from eval.report.table import Table
from evenhand.errors import DataError

FloatArray = NDArray[np.float64]

TINY = 1e-9  # percentage points; below it a spread is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRow:
    """DDS and soft DDS of one arm on one dataset or average, over the items with a margin in all four conditions.

    items_ratio: variance of DDS over variance of soft DDS, both from the same bootstrap draws: how many times as many
    items a 0/1 score needs for an interval as narrow. n_items_needed is that many items. *_z: estimate over standard
    error. None where a variance is zero: nothing moves, or all items alike.
    """

    judge: str
    arm: str
    roles: str
    variant: str
    dataset: str
    datasets: tuple[str, ...]
    n_items: int
    n_left_out: int
    dds_pp: float
    dds_ci_low_pp: float
    dds_ci_high_pp: float
    dds_z: float | None
    soft_dds_pp: float
    soft_dds_ci_low_pp: float
    soft_dds_ci_high_pp: float
    soft_dds_z: float | None
    width_ratio: float | None  # width of DDS's interval over that of soft DDS
    items_ratio: float | None
    n_items_needed: int | None


def precision_rows(judge: Judge, n_draws: int, seed: int) -> list[PrecisionRow]:
    """Rows for every arm of a judge with own C1, every dataset and average. Raises DataError without margins."""
    rows: list[PrecisionRow] = []
    for key, panels in grouped(list(own_panels(judge.panels)), judge.panels).items():
        kept = {panel.dataset: with_whole_margins(judge.name, panel) for panel in panels}
        measures = {dataset: measure(panel, "published", n_draws, seed) for dataset, panel in kept.items()}
        n_left_out = {panel.dataset: len(panel.item_ids) - len(kept[panel.dataset].item_ids) for panel in panels}
        averages = averages_over((panel.benchmark, panel.dataset) for panel in panels)
        for name, over in {**{dataset: [dataset] for dataset in kept}, **averages}.items():
            parts = [measures[dataset] for dataset in over]
            rows.append(precision_row((judge.name, *key), name, parts, sum(n_left_out[d] for d in over)))
    return rows


def with_whole_margins(judge: str, panel: Panel) -> Panel:
    """The panel of the items with a margin in all four conditions, so that both scores are over the same items."""
    answered, _ = without_errors(panel)
    whole = ~np.isnan(answered.margins[:, :, 0]).any(axis=1)
    if not whole.any():
        raise DataError(
            f"{judge}, {panel.dataset}, arm {panel.factors.arm}: no item has all four margins; sample it with "
            "`verdict: margin`"
        )
    return answered.at(np.flatnonzero(whole))


def precision_row(
    who: tuple[str, str, str, str], name: str, parts: Sequence[Measures], n_left_out: int
) -> PrecisionRow:
    """The row of a dataset (one part) or of an average (several, unweighted). who: judge, arm, roles, variant."""
    soft = [(m.soft_acc, m.soft_draws) for m in parts if m.soft_acc is not None and m.soft_draws is not None]
    assert len(soft) == len(parts), "every part has margins"
    hard_draws = np.mean([m.dds_draws for m in parts], axis=0)
    soft_draws = np.mean([draws for _, draws in soft], axis=0)
    hard = float(dds_pp(np.mean([m.acc for m in parts], axis=0)))
    easy = float(dds_pp(np.mean([acc for acc, _ in soft], axis=0)))
    (low, high), (soft_low, soft_high) = interval(hard_draws), interval(soft_draws)
    n_items, items_ratio = sum(m.n_items for m in parts), ratio(hard_draws.var(), soft_draws.var())
    judge, arm, roles, variant = who
    return PrecisionRow(
        judge=judge,
        arm=arm,
        roles=roles,
        variant=variant,
        dataset=name,
        datasets=tuple(m.dataset for m in parts),
        n_items=n_items,
        n_left_out=n_left_out,
        dds_pp=hard,
        dds_ci_low_pp=low,
        dds_ci_high_pp=high,
        dds_z=z_of(hard, hard_draws),
        soft_dds_pp=easy,
        soft_dds_ci_low_pp=soft_low,
        soft_dds_ci_high_pp=soft_high,
        soft_dds_z=z_of(easy, soft_draws),
        width_ratio=ratio(high - low, soft_high - soft_low),
        items_ratio=items_ratio,
        n_items_needed=None if items_ratio is None else round(n_items * items_ratio),
    )


def interval(draws: FloatArray) -> tuple[float, float]:
    """The 95 % interval of draws that are all defined: every item counts."""
    ends = percentile_interval(draws)
    assert ends is not None, "every item counts under the published denominator"
    return ends


def z_of(value: float, draws: FloatArray) -> float | None:
    """Estimate over standard error; None where the draws do not vary."""
    return value / float(draws.std()) if draws.std() > TINY else None


def ratio(hard: float, soft: float) -> float | None:
    """How many times the spread of soft DDS that of DDS is; None where either is zero."""
    return float(hard / soft) if min(hard, soft) > TINY else None


def precision_table(rows: Sequence[PrecisionRow], name: str = "precision") -> Table:
    """The rows as a table; an average over one dataset would only repeat its row."""
    rows = [row for row in rows if row.datasets == (row.dataset,) or len(row.datasets) > 1]
    words = [(r.judge, r.arm, r.variant, r.dataset, r.n_items) for r in rows]
    hard = [(r.dds_pp, r.dds_ci_low_pp, r.dds_ci_high_pp, r.dds_z) for r in rows]
    soft = [(r.soft_dds_pp, r.soft_dds_ci_low_pp, r.soft_dds_ci_high_pp, r.soft_dds_z) for r in rows]
    gains = [(r.width_ratio, r.items_ratio, r.n_items_needed) for r in rows]
    one = ("95% low", "95% high", "z")
    return Table(
        name=name,
        title="What margins gain over 0/1 verdicts",
        columns=(
            "judge",
            "arm",
            "wording",
            "dataset",
            "items",
            "DDS",
            *one,
            "soft DDS",
            *(f"soft {c}" for c in one),
            "width ratio",
            "items ratio",
            "items a 0/1 score needs",
        ),
        rows=tuple((*w, *h, *s, *g) for w, h, s, g in zip(words, hard, soft, gains, strict=True)),
        note="DDS counts verdicts, soft DDS averages probabilities: two quantities, here on the same items. Items "
        "ratio: how many times as many items a 0/1 score needs for an interval as narrow. z: estimate over standard "
        "error; margins gain power only where it grows.",
        formats=(*[""] * 5, *["+.1f"] * 8, ".2f", ".2f", ""),
    )

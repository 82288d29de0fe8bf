"""Two panels over the same items → the change from one to the other, with intervals paired by item."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import credit
from eval.dialdefer.dds import dds_pp, deltas_pp, is_over_corrected
from eval.dialdefer.margins import soft_credit
from eval.dialdefer.panels import ERROR, Panel, refuse_unequal_items
from eval.dialdefer.rows import known
from eval.estimates.resampling import percentile_interval, resampled_means, rng_for
from evenhand.errors import DataError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedMeasures:
    """Accuracies of two judges over the same items, as fractions, with draws that resample both alike."""

    benchmark: str
    dataset: str
    n_items: int
    n_errors: int
    acc: FloatArray  # (2, 4): base, after
    draws: FloatArray  # (n_draws, 2, 4)
    soft_acc: FloatArray | None  # (2, 4) mean probability of the right answer; None unless both have margins
    soft_draws: FloatArray | None  # (n_draws, 2, 4)


@dataclass(frozen=True, slots=True)
class ChangeKey:
    """What a row of changes is about, beside its dataset."""

    base_run: str
    base_model: str
    after_run: str
    after_model: str
    arm: str
    roles: str
    variant: str
    c1_source: str  # "own", or "fixed": the after model's C2 against the base model's C1
    verdict: str
    parser: str | None
    denominator: str
    n_draws: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One row of compare.json. Accuracies in percent, *_pp in percentage points; None is unknown."""

    base_run: str
    base_model: str
    after_run: str
    after_model: str
    arm: str
    roles: str
    variant: str
    c1_source: str
    dataset: str
    verdict: str
    parser: str | None
    denominator: str
    datasets: tuple[str, ...]
    n_items: int
    n_errors: int
    base_acc_c1: float | None
    base_acc_c2: float | None
    base_dds_pp: float | None
    after_acc_c1: float | None
    after_acc_c2: float | None
    after_delta_correct_pp: float | None
    after_delta_incorrect_pp: float | None
    after_dds_pp: float | None
    after_dds_ci_low_pp: float | None
    after_dds_ci_high_pp: float | None
    change_acc_pp: float | None  # mean over all four conditions
    change_acc_ci_low_pp: float | None
    change_acc_ci_high_pp: float | None
    change_acc_c1_pp: float | None
    change_acc_c1_ci_low_pp: float | None
    change_acc_c1_ci_high_pp: float | None
    change_acc_c2_pp: float | None
    change_acc_c2_ci_low_pp: float | None
    change_acc_c2_ci_high_pp: float | None
    change_dds_pp: float | None
    change_dds_ci_low_pp: float | None
    change_dds_ci_high_pp: float | None
    change_soft_dds_pp: float | None
    change_soft_dds_ci_low_pp: float | None
    change_soft_dds_ci_high_pp: float | None
    over_corrected: bool  # DDS positive before and negative after
    n_draws: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return asdict(self)


def paired_measures(base: Panel, after: Panel, denominator: str, n_draws: int, seed: int) -> PairedMeasures:
    """The measures of two panels with both framings. An item that either engine failed on is left out of both.

    Raises DataError when they are not over the same items, or when no item is left.
    """
    refuse_unequal_items(f"{base.dataset}, arm {base.factors.arm}, before against after", base, after)
    base, after, n_errors = answered_by_both(base, after)
    pair = [credit(panel.replies, denominator) for panel in (base, after)]
    acc, draws = means_and_draws(pair, n_draws, seed, base.dataset)
    soft_pair = soft_credit_of_both(base, after)
    has_soft = soft_pair[0][1].any()
    soft = means_and_draws(soft_pair, n_draws, seed, base.dataset) if has_soft else (None, None)
    return PairedMeasures(
        benchmark=base.benchmark,
        dataset=base.dataset,
        n_items=len(base.item_ids),
        n_errors=n_errors,
        acc=acc,
        draws=draws,
        soft_acc=soft[0],
        soft_draws=soft[1],
    )


def answered_by_both(base: Panel, after: Panel) -> tuple[Panel, Panel, int]:
    """(both panels without the items that either engine failed on, engine errors in all).

    Raises DataError when no item is left.
    """
    lost = np.zeros(len(base.item_ids), dtype=np.bool_)
    for panel in (base, after):
        lost |= (panel.replies == ERROR).all(axis=2).any(axis=1)
    if lost.all():
        raise DataError(f"{base.dataset}, arm {base.factors.arm}: the engine failed on every item; sample it again")
    kept = np.flatnonzero(~lost)
    return base.at(kept), after.at(kept), sum(int((panel.replies == ERROR).sum()) for panel in (base, after))


def soft_credit_of_both(base: Panel, after: Panel) -> list[tuple[FloatArray, FloatArray]]:
    """margins.soft_credit of each panel, over the items that have all their margins in both."""
    pair = [panel.margins[:, :, 0] for panel in (base, after)]
    unknown = np.stack([np.isnan(margins).any(axis=1) for margins in pair]).any(axis=0)
    return [soft_credit(np.where(unknown.reshape(-1, 1), np.nan, margins)) for margins in pair]


def means_and_draws(
    pair: Sequence[tuple[FloatArray, FloatArray]], n_draws: int, seed: int, dataset: str
) -> tuple[FloatArray, FloatArray]:
    """((2, 4) means, (n_draws, 2, 4) bootstrap means) of two (earned, counted) over the same items."""
    earned, counted = (np.hstack(parts) for parts in zip(*pair, strict=True))
    with np.errstate(invalid="ignore"):
        means = earned.sum(axis=0) / counted.sum(axis=0)
    draws = resampled_means(earned, counted, n_draws, rng_for(seed, dataset))
    return means.reshape(2, 4), draws.reshape(-1, 2, 4)


def change_row(key: ChangeKey, name: str, parts: Sequence[PairedMeasures]) -> ChangeRow:
    """The row of a dataset (one part) or of an average (several, unweighted)."""
    acc, draws = np.mean([m.acc for m in parts], axis=0), np.mean([m.draws for m in parts], axis=0)
    base_dds, after_dds = dds_pp(acc)
    delta_correct, delta_incorrect = deltas_pp(acc[1])
    low, high = percentile_interval(dds_pp(draws[:, 1])) or (None, None)
    return ChangeRow(
        **asdict(key),
        dataset=name,
        datasets=tuple(m.dataset for m in parts),
        n_items=sum(m.n_items for m in parts),
        n_errors=sum(m.n_errors for m in parts),
        base_acc_c1=known(100 * acc[0, :2].mean()),
        base_acc_c2=known(100 * acc[0, 2:].mean()),
        base_dds_pp=known(base_dds),
        after_acc_c1=known(100 * acc[1, :2].mean()),
        after_acc_c2=known(100 * acc[1, 2:].mean()),
        after_delta_correct_pp=known(delta_correct),
        after_delta_incorrect_pp=known(delta_incorrect),
        after_dds_pp=known(after_dds),
        after_dds_ci_low_pp=low,
        after_dds_ci_high_pp=high,
        **change_fields(acc, draws),
        **soft_change_fields(parts),
        over_corrected=is_over_corrected(base_dds, after_dds),
    )


def change_fields(acc: FloatArray, draws: FloatArray) -> dict[str, Any]:
    """Changes in accuracy and DDS with their intervals, for (2, 4) accuracies and (n_draws, 2, 4) draws."""
    rise, rises = acc[1] - acc[0], draws[:, 1] - draws[:, 0]
    return {
        **with_interval("change_acc", 100 * rise.mean(), 100 * rises.mean(axis=1)),
        **with_interval("change_acc_c1", 100 * rise[:2].mean(), 100 * rises[:, :2].mean(axis=1)),
        **with_interval("change_acc_c2", 100 * rise[2:].mean(), 100 * rises[:, 2:].mean(axis=1)),
        **with_interval("change_dds", dds_pp(rise), dds_pp(rises)),
    }


def soft_change_fields(parts: Sequence[PairedMeasures]) -> dict[str, Any]:
    """The change in soft DDS, or None unless every part has margins on both sides."""
    accs = [m.soft_acc for m in parts if m.soft_acc is not None]
    draws = [m.soft_draws for m in parts if m.soft_draws is not None]
    if len(accs) < len(parts):
        return dict.fromkeys(("change_soft_dds_pp", "change_soft_dds_ci_low_pp", "change_soft_dds_ci_high_pp"))
    rise, rises = np.diff(np.mean(accs, axis=0), axis=0)[0], np.diff(np.mean(draws, axis=0), axis=1)[:, 0]
    return with_interval("change_soft_dds", dds_pp(rise), dds_pp(rises))


def with_interval(name: str, value: np.floating[Any] | FloatArray, draws: FloatArray) -> dict[str, float | None]:
    """`<name>_pp` and the ends of its 95 % interval."""
    low, high = percentile_interval(draws) or (None, None)
    return {f"{name}_pp": known(value), f"{name}_ci_low_pp": low, f"{name}_ci_high_pp": high}

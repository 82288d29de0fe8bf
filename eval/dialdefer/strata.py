"""r/AIO by the community's verdict on the original poster: OR and NOR strata, and balanced DDS (DialDefer §4, app. E).

Items are stratified by the original label, never by the inverted one that is the truth about Speaker 1: an item is in
one stratum, whoever judges whom (setting.MAIN and setting.REVERSED).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import credit
from eval.dialdefer.averages import AIO
from eval.dialdefer.dds import dds_pp, deltas_pp
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import MAIN, Setting, panels_by_judge
from eval.dialdefer.panels import Panel, named, without_errors
from eval.estimates.estimate import known
from eval.estimates.observed import Drawing
from eval.estimates.resampling import percentile_interval, resampled_means, rng_for
from evenhand.errors import DataError

FloatArray = NDArray[np.float64]

OR, NOR = "OR", "NOR"  # overreacting, not overreacting: the original poster, in the eyes of the community
EVERY = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """One judge on the items of one label. Accuracies in percent, *_pp in points; None where there is no item."""

    label: str  # "OR", "NOR" or "all"
    n_items: int
    acc_c1_true: float | None
    acc_c1_false: float | None
    acc_c2_correct: float | None
    acc_c2_incorrect: float | None
    delta_correct_pp: float | None
    delta_incorrect_pp: float | None
    dds_pp: float | None
    dds_ci_low_pp: float | None
    dds_ci_high_pp: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """One judge on r/AIO, by label.

    Balanced DDS = (DDS_OR + DDS_NOR) / 2 (equation 4): what DDS would be if both verdicts were equally frequent. Its
    interval resamples items within each stratum.
    """

    judge: str
    dataset: str  # "aio", or "aio-context", which is another experiment
    roles: str
    overreacting: Stratum
    not_overreacting: Stratum
    overall: Stratum
    balanced_dds_pp: float | None
    balanced_ci_low_pp: float | None
    balanced_ci_high_pp: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Some items of a panel: accuracies (4,) as fractions, and bootstrap draws of DDS (n_draws,) in points."""

    n_items: int
    acc: FloatArray
    dds_draws: FloatArray


def alignments(
    judges: Sequence[Judge],
    setting: Setting = MAIN,
    *,
    dataset: str = AIO,
    denominator: str = "published",
    drawing: Drawing,
) -> list[Alignment]:
    """One alignment for each judge that judged the dataset, in the order of judges.

    Raises DataError when the label of a judged item is unknown; nothing is guessed from answers or ids.
    """
    panels = panels_by_judge(judges, setting)
    return [
        alignment_of(judge, panels[judge.name][dataset], denominator, drawing)
        for judge in judges
        if dataset in panels[judge.name]
    ]


def alignment_of(judge: Judge, panel: Panel, denominator: str, drawing: Drawing) -> Alignment:
    """One judge's alignment on one panel."""
    answered, _ = without_errors(panel)
    labels = labels_of(judge, answered)
    every = np.ones(len(labels), dtype=np.bool_)
    sampled = {
        label: sample_of(answered, label, rows, denominator, drawing)
        for label, rows in {OR: labels == OR, NOR: labels == NOR, EVERY: every}.items()
    }
    strata = {label: stratum(label, sample) for label, sample in sampled.items()}
    low, high = percentile_interval((sampled[OR].dds_draws + sampled[NOR].dds_draws) / 2) or (None, None)
    return Alignment(
        judge=judge.name,
        dataset=panel.dataset,
        roles=panel.roles,
        overreacting=strata[OR],
        not_overreacting=strata[NOR],
        overall=strata[EVERY],
        balanced_dds_pp=known(float(dds_pp(sampled[OR].acc) + dds_pp(sampled[NOR].acc)) / 2),
        balanced_ci_low_pp=low,
        balanced_ci_high_pp=high,
    )


def labels_of(judge: Judge, panel: Panel) -> NDArray[np.str_]:
    """The label of every item of a panel. Raises DataError where one is unknown or no label."""
    lacking = [item_id for item_id in panel.item_ids if item_id not in judge.labels]
    if lacking:
        raise DataError(
            f"{judge.name}: {panel.dataset}: {named(lacking)} no known label, so OR and NOR strata cannot be formed. "
            "Give verdict files a column `label` (OR or NOR: the community's verdict on the original poster); for a "
            "sampling run, make the data root of its config readable and unchanged"
        )
    labels = np.array([judge.labels[item_id] for item_id in panel.item_ids])
    odd = sorted(set(labels.tolist()) - {OR, NOR})
    if odd:
        raise DataError(f"{judge.name}: {panel.dataset}: label '{odd[0]}' is unknown; labels are OR and NOR")
    return labels


def sample_of(panel: Panel, label: str, rows: NDArray[np.bool_], denominator: str, drawing: Drawing) -> Sample:
    """Accuracies and draws on some of a panel's items; NaN throughout when they are none."""
    earned, counted = credit(panel.replies[rows], denominator)
    # Strata are independent samples, so their draws must not run in step: each has a generator of its own.
    rng = rng_for(drawing.seed, panel.dataset if label == EVERY else f"{panel.dataset} {label}")
    n = drawing.n_draws
    draws = resampled_means(earned, counted, n, rng) if rows.any() else np.full((n, 4), np.nan)
    with np.errstate(invalid="ignore"):
        acc = earned.sum(axis=0) / counted.sum(axis=0)
    return Sample(int(rows.sum()), acc, dds_pp(draws))


def stratum(label: str, sample: Sample) -> Stratum:
    """A stratum's figures; all unknown when it is empty."""
    low, high = percentile_interval(sample.dds_draws) or (None, None)
    c1_true, c1_false, c2_correct, c2_incorrect = 100 * sample.acc
    delta_correct, delta_incorrect = deltas_pp(sample.acc)
    return Stratum(
        label=label,
        n_items=sample.n_items,
        acc_c1_true=known(c1_true),
        acc_c1_false=known(c1_false),
        acc_c2_correct=known(c2_correct),
        acc_c2_incorrect=known(c2_incorrect),
        delta_correct_pp=known(delta_correct),
        delta_incorrect_pp=known(delta_incorrect),
        dds_pp=known(delta_correct - delta_incorrect),
        dds_ci_low_pp=low,
        dds_ci_high_pp=high,
    )

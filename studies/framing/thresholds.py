"""Thresholds on the margins of a study in YAML, one for each framing and order of the answers; see eval.calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eval.calibration import ACCEPTANCE, DDS, check_alike, nearest_threshold, share_above, write_fits
from eval.estimates.resampling import FloatArray
from eval.options import Options
from evenhand.errors import DataError
from evenhand.terminal import say
from studies.framing.asking import FramedUnit
from studies.framing.grids import FramedRun
from studies.framing.measures import is_claim

# Of a framing in one order, as thresholds.json holds it: framing, order, threshold_nats, n_items, and the shares of the
# first answer that it was fitted to give, before and after.
Fit = Mapping[str, Any]
TEXTS = ("ask", "set", "system", "answers", "framings", "placebos", "baseline")  # in which pooled thresholds may differ


def calibrate_runs(train: FramedRun, test: FramedRun, options: Options) -> None:
    """Fit thresholds on one run for another, print and write them."""
    keys = ("items", "columns", *(TEXTS if options.pooled else ()))
    check_alike(train, test, [f"framing.{key}" for key in keys])
    fits = calibrate(train, test, options.objective, is_pooled=options.pooled)
    fitted = f"fitted by {options.objective} on {fits[0]['n_items']} items, none of which is scored"
    say(f"Thresholds of {train.judge}, {fitted}:")
    for fit in fits:
        say(
            f"{fit['framing']}, {fit['order']}: {fit['threshold_nats']:+.3f} nats; gives {test.answers[0]} in "
            f"{fit['share_after']:.1%} (at 0: {fit['share_before']:.1%})"
        )
    if left := [name for name in test.section.texts if name not in {fit["framing"] for fit in fits}]:
        say(
            f"None for {', '.join(left)}: what it goes on behind would be another reply. A scorecard ranks arms by all "
            "framings, and so not this one."
        )
    write_fits(options, train, test, fits)


def calibrate(train: FramedRun, test: FramedRun, objective: str = DDS, *, is_pooled: bool = False) -> list[Fit]:
    """Thresholds for each framing and order of the test run, fitted on the train run's margins.

    dds: the baseline stays as it is, and each framing gives the first answer as often as it does on these items;
    acceptance: each gives it in half of its prompts, so items are to be asked as a true and a false claim. Shares are
    meaned over datasets and cases, as the measures are. is_pooled: one threshold for the baseline and the placebos, one
    for all framings of the train run together. A framing that goes on behind a reply which thresholds may change has
    none: what would be asked then is not known.

    Raises DataError where an item is in both runs, or there are no margins of two answers.
    """
    if same := shared(train, test, is_pooled):
        raise DataError(
            f"{test.name}: item '{same[0]}' is fitted on and would be scored, and {len(same) - 1} more; fit thresholds "
            "on other items, such as those of `split: train`"
        )
    if train.answers != test.answers or train.section.order_names != test.section.order_names:
        raise DataError(f"{train.name} and {test.name} differ in their answers or orders; sample both alike")
    if objective == ACCEPTANCE and not is_claim(train.section):
        raise DataError("objective acceptance: half is right where items are a true and a false claim alone; take dds")
    base = train.section.baseline
    framed = [name for name, text in train.section.framings.items() if name != base and text.follow_up_to is None]
    n_items = sum(len(grid.items) for grid in train.grids.values())
    fits = list[Fit]()
    for place, order in enumerate(test.section.order_names):
        share = 0.5 if objective == ACCEPTANCE else share_of(margins_of(train, [base], place), 0.0)
        of_names = dict[tuple[str, ...], dict[str, float]]()  # framings fitted on together → what was fitted
        for framing, text in test.section.texts.items():
            is_base = framing == test.section.baseline or (is_pooled and framing not in test.section.framings)
            if text.follow_up_to and (text.follow_up_to != test.section.baseline or objective == ACCEPTANCE):
                continue
            names = (base,) if is_base else tuple(framed) if is_pooled else (framing,)
            if names not in of_names:
                kinds = margins_of(train, names, place)
                threshold = 0.0 if is_base and objective == DDS else nearest_threshold(kinds, share)
                shares = {"share_before": share_of(kinds, 0.0), "share_after": share_of(kinds, threshold)}
                of_names[names] = {"threshold_nats": threshold, "n_items": n_items, **shares}
            fits.append({"framing": framing, "order": order, **of_names[names]})
    return fits


def share_of(kinds: Sequence[FloatArray], threshold: float) -> float:
    """The share of margins above a threshold, meaned over the arrays."""
    return float(np.mean([share_above(margins, threshold) for margins in kinds]))


def margins_of(run: FramedRun, framings: Sequence[str], place: int) -> list[FloatArray]:
    """The known margins in one order: an array for each framing, dataset and case. Raises DataError without any."""
    if len(run.answers) != 2 or run.section.scale:
        raise DataError(f"{run.name}: thresholds part two answers, and here {len(run.answers)} are given")
    cells = [
        grid.of("odds", name)[:, case, place]
        for name in framings
        for grid in run.grids.values()
        for case in range(len(grid.cases))
    ]
    if margins_known := [margins[~np.isnan(margins)] for margins in cells if not np.isnan(margins).all()]:
        return margins_known
    raise DataError(
        f"{run.name}: {', '.join(framings) or 'no framing'} has no margins; sample with `verdict: margin` or options"
    )


def shared(train: FramedRun, test: FramedRun, is_pooled: bool) -> list[str]:
    """The items of the test run that are in the train run: in equal words they have an equal prompt.

    is_pooled: words may differ, so the items are read again, and held against each other as the baseline shows them.
    """
    hashes = {prompt.prompt_hash for prompt in train.plan}
    same = dict.fromkeys(prompt.item_id for prompt in test.plan if prompt.prompt_hash in hashes)
    if is_pooled:
        study, baseline = train.section.study_texts(train.verdict), train.section.baseline
        fitted = {FramedUnit(row, study).baseline_text(baseline) for row in train.section.rows}
        rows = (row for row in test.section.rows if FramedUnit(row, study).baseline_text(baseline) in fitted)
        same |= dict.fromkeys(row.item_id for row in rows)
    return list(same)


def with_thresholds(run: FramedRun, fits: Sequence[Fit]) -> FramedRun:
    """The run as these thresholds judge it."""
    return replace(run, thresholds={(fit["framing"], fit["order"]): fit["threshold_nats"] for fit in fits})

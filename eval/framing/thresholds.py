"""Thresholds on the margins of a study in YAML, one for each framing and order of the answers; see eval.calibration."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eval.calibration import ACCEPTANCE, DDS, nearest_threshold, refuse_unlike, share_above, write_fits
from eval.estimates.resampling import FloatArray
from eval.framing.measures import FramedRun, is_claim
from eval.results import Evaluation
from evenhand.errors import DataError
from evenhand.terminal import say

# Of a framing in one order, as thresholds.json holds it: framing, order, threshold_nats, n_items, and the shares of the
# first answer that it was fitted to give, before and after.
Fit = Mapping[str, Any]
TEXTS = ("ask", "set", "system", "answers", "framings", "placebos", "baseline")  # in which pooled thresholds may differ


def calibrate_runs(options: argparse.Namespace, evaluation: Evaluation) -> None:
    """Fit thresholds on one run for another, print and write them."""
    train, test = (evaluation.load(path, options) for path in (options.train, options.test))
    keys = ("items", "columns", *(TEXTS if options.pooled else ()))
    refuse_unlike(train, test, [f"framing.{key}" for key in keys])
    fits = calibrate(train, test, options.objective, is_pooled=options.pooled)
    fitted = f"fitted by {options.objective} on {fits[0]['n_items']} items, none of which is scored"
    say(f"Thresholds of {train.judge}, {fitted}:")
    for each in fits:
        say(
            f"{each['framing']}, {each['order']}: {each['threshold_nats']:+.3f} nats; gives {test.answers[0]} in "
            f"{each['share_after']:.1%} (at 0: {each['share_before']:.1%})"
        )
    if left := [w.name for w in test.section.wordings if w.name not in {each["framing"] for each in fits}]:
        say(f"None for {', '.join(left)}: what it goes on behind would be another reply.")
    write_fits(options, train, test, fits)


def calibrate(train: FramedRun, test: FramedRun, objective: str = DDS, *, is_pooled: bool = False) -> list[Fit]:
    """Thresholds for each framing and order of the test run, fitted on the train run's margins.

    dds: the baseline stays as it is, and each framing gives the first answer as often as it does on these items;
    acceptance: each gives it in half of its prompts, so items are to be asked as a true and a false claim. is_pooled:
    one for the baseline, one for all other framings of the train run together. A framing that goes on behind a reply
    which thresholds may change has none: what would be asked then is not known.

    Raises DataError where an item or a prompt is in both runs, or there are no margins of two answers.
    """
    refuse_shared(train, test)
    if train.answers != test.answers or train.section.order_names != test.section.order_names:
        raise DataError(f"{train.name} and {test.name} differ in their answers or orders; sample both alike")
    if objective == ACCEPTANCE and not is_claim(train.section):
        raise DataError("objective acceptance: half is right where items are a true and a false claim alone; take dds")
    margins = margins_of(train)
    base = train.section.baseline
    others = [name for name in margins if name != base]
    behind = {wording.name: wording.after for wording in test.section.wordings}
    n_items = sum(len(grid.items) for grid in train.grids.values())
    fits = list[Fit]()
    for place, order in enumerate(test.section.order_names):
        of = {name: [*every[:, :, place].T] for name, every in margins.items()}  # framing → the margins of each case
        share = 0.5 if objective == ACCEPTANCE else share_of(of[base], 0.0)
        pooled = [np.concatenate(case) for case in zip(*(of[name] for name in others), strict=True)]
        for framing, after in behind.items():
            is_base = framing == test.section.baseline
            if after is not None and (after != test.section.baseline or objective == ACCEPTANCE):
                continue
            kinds = of[base] if is_base else pooled if is_pooled else of[framing]
            threshold = 0.0 if is_base and objective == DDS else nearest_threshold(kinds, share)
            shares = {"share_before": share_of(kinds, 0.0), "share_after": share_of(kinds, threshold)}
            fitted = {"framing": framing, "order": order, "threshold_nats": threshold, "n_items": n_items}
            fits.append({**fitted, **shares})
    return fits


def share_of(kinds: Sequence[FloatArray], threshold: float) -> float:
    """The share of margins above a threshold, meaned over cases."""
    return float(np.mean([share_above(margins[~np.isnan(margins)], threshold) for margins in kinds]))


def margins_of(run: FramedRun) -> dict[str, FloatArray]:
    """Framing → (n_items, n_cases, n_orders), over all datasets. Raises DataError where one has none."""
    grids = run.grids.values()
    names = next(iter(grids)).framings
    margins = {name: np.concatenate([grid.fields["odds"][:, grid.at(name)] for grid in grids]) for name in names}
    empty = [name for name, every in margins.items() if run.section.scale or np.isnan(every).all(axis=0).any()]
    if empty:
        raise DataError(f"{run.name}: {empty[0]} has no margins; sample two answers with `verdict: margin`, or options")
    return margins


def refuse_shared(train: FramedRun, test: FramedRun) -> None:
    """Raises DataError where what is fitted on would be scored."""
    ids, hashes = (
        {key(prompt) for prompt in train.plan}
        for key in (lambda prompt: (prompt.dataset, prompt.item_id), lambda prompt: prompt.prompt_hash)
    )
    same = [p.item_id for p in test.plan if (p.dataset, p.item_id) in ids or p.prompt_hash in hashes]
    if same:
        raise DataError(
            f"{test.name}: item '{same[0]}' is fitted on and would be scored, and {len({*same}) - 1} more; fit "
            "thresholds on other items, such as `framing.items.split=train`"
        )


def with_thresholds(run: FramedRun, fits: Sequence[Fit]) -> FramedRun:
    """The run as these thresholds judge it."""
    return replace(run, thresholds={(each["framing"], each["order"]): each["threshold_nats"] for each in fits})

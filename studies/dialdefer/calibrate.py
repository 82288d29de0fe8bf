"""Thresholds on the margins of DialDefer's runs; see eval.calibration.

A judge accepts where its margin log P("1") - log P("2") exceeds 0. Where dialogue merely moves all margins, a threshold
of its own for C2 undoes that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from eval.calibration import CALIBRATED, DDS, check_alike, nearest_threshold, share_above, write_fits
from eval.options import Options
from evenhand.errors import DataError
from evenhand.terminal import say
from studies.dialdefer.item_table import HeldOut
from studies.dialdefer.measures import ACCEPT, C1, REJECT, TIE, FloatArray
from studies.dialdefer.panels import (
    BOTH_ORDERS,
    Judge,
    JudgedRun,
    Panel,
    item_texts,
    judge_of_run,
    named,
    variant_of,
    with_both_orders,
)
from studies.dialdefer.render import AIO_DATASETS
from studies.dialdefer.scores import own_panels

# The thresholds of one judge in one prompt variant, as thresholds.json holds them: model, objective, variant ("" for
# the main one), datasets, n_items, and for c1 and c2 what `described` gives.
Fit = Mapping[str, Any]


def fit_threshold(true: FloatArray, false: FloatArray, share: float) -> dict[str, Any]:
    """The threshold that accepts nearest to this share of claims, for margins of true and of false claims in nats."""
    true, false = known_of(true), known_of(false)
    return described(true, false, nearest_threshold([true, false], share))


def known_of(margins: FloatArray) -> FloatArray:
    """The known margins. Raises DataError without any."""
    numbers = margins[~np.isnan(margins)]
    if not len(numbers):
        raise DataError("a threshold needs margins of true and of false claims; one kind has none")
    return np.asarray(numbers)


def described(true: FloatArray, false: FloatArray, threshold: float) -> dict[str, Any]:
    """A threshold and what it does to the margins of the fit, against threshold 0; a margin on it counts half.

    Accuracies are balanced: the mean of the share of true claims accepted and of false claims rejected.
    """
    before, after = ([share_above(margins, at) for margins in (true, false)] for at in (0.0, threshold))
    return {
        "threshold_nats": threshold,
        "n_margins": len(true) + len(false),
        "acc_before": (before[0] + 1 - before[1]) / 2,
        "acc_after": (after[0] + 1 - after[1]) / 2,
        "accept_rate_before": sum(before) / 2,
        "accept_rate_after": sum(after) / 2,
    }


def calibrate(train: Judge, test: Judge, objective: str = DDS, *, is_pooled: bool = False) -> list[Fit]:
    """Thresholds fitted on the train judge's untreated panels, for each prompt variant that both were asked.

    is_pooled: one fit over all prompt variants of the train judge, for each of the test judge's, whatever they are.

    Raises DataError when the two are of different variants, share an item or a prompt, or have no margins.
    """
    fitted, applied = untreated_panels(train), untreated_panels(test)
    of_train, of_test = ([panel for panels in judge.values() for panel in panels] for judge in (fitted, applied))
    ids = [{(p.benchmark, p.dataset, item) for p in panels for item in p.item_ids} for panels in (of_train, of_test)]
    if shared := sorted(item for _, _, item in ids[0] & ids[1]):
        raise DataError(f"{named(shared)} been fitted on and would be scored; fit thresholds on the train split")
    hashes = np.concatenate([p.hashes.ravel() for p in of_train])
    same = [p.item_ids[i] for p in of_test for i in np.flatnonzero(np.isin(p.hashes, hashes[hashes != ""]).any(1))]
    if same:
        raise DataError(f"{named(same)} a prompt that thresholds are fitted on, under another id; leave them out")
    if is_pooled:
        pooled = fit(train.model, of_train, objective)
        return [{**pooled, "variant": name} for name in applied]
    for variant in (name for name in fitted if name in applied):
        fitted_factors = {replace(panel.factors, roles="") for panel in fitted[variant]}
        forms = {panel.factors.answer_form for panel in fitted[variant]}
        for panel in applied[variant]:  # r/AIO has a template of its own, and no train split
            is_aio = panel.dataset in AIO_DATASETS and panel.factors.answer_form in forms
            if replace(panel.factors, roles="") not in fitted_factors and not is_aio:
                raise DataError(f"{panel.dataset}: has other prompts than thresholds are fitted on; sample both alike")
    return [fit(train.model, panels, objective, name) for name, panels in fitted.items() if name in applied]


def untreated_panels(judge: Judge) -> dict[str, list[Panel]]:
    """Prompt variant as asked → its untreated panels with both framings, the main one first.

    Raises DataError when the main one has none, or one is without margins.
    """
    panels: dict[str, list[Panel]] = {"": []}
    for panel in own_panels(judge.panels):
        if panel.factors.arm == "none" and panel.factors.answer_order != BOTH_ORDERS:
            panels.setdefault(variant_of(panel, judge.panels), []).append(panel)
    if not panels[""]:
        raise DataError(f"{judge.name}: has no untreated arm with both C1 and C2, which thresholds are about")
    without = [panel.dataset for panel in panels[""] if np.isnan(panel.margins).all()]
    if without:
        raise DataError(f"{judge.name}: {', '.join(without)} has no margins; sample it with `verdict: margin`")
    return panels


def fit(model: str, panels: Sequence[Panel], objective: str, variant: str = "") -> Fit:
    """The thresholds for the pooled items of some panels.

    dds: C1 stays as it is, and C2 is to accept as much; acceptance: each is to accept half. With both framings at one
    share DDS on these items is 0, but for equal margins that no threshold separates (bfloat16 has coarse steps).
    """
    margins = np.concatenate([panel.margins.transpose(0, 2, 1).reshape(-1, 4) for panel in panels])
    (true_c1, true_c2), (false_c1, false_c2) = margins[:, ::2].T, margins[:, 1::2].T
    is_dds = objective == DDS
    c1 = described(known_of(true_c1), known_of(false_c1), 0.0) if is_dds else fit_threshold(true_c1, false_c1, 0.5)
    return {
        "model": model,
        "objective": objective,
        "variant": variant,
        "datasets": list(dict.fromkeys(panel.dataset for panel in panels)),
        "n_items": sum(len(panel.item_ids) for panel in panels),
        "c1": c1,
        "c2": fit_threshold(true_c2, false_c2, c1["accept_rate_after"] if is_dds else 0.5),
    }


def calibrated_panels(untreated: Mapping[str, Sequence[Panel]], fits: Sequence[Fit]) -> list[Panel]:
    """The panels of the variants that have thresholds under arm `calibrated`, and both orders of them together."""
    return with_both_orders([calibrated(panel, fit) for fit in fits for panel in untreated.get(fit["variant"], ())])


def calibrated(panel: Panel, fit: Fit) -> Panel:
    """The panel under arm `calibrated`: margins less their framing's threshold, and the replies that these decide.

    A margin on its threshold is a tie. Where there is no margin the reply stays what it was.
    """
    shift = np.full(4, fit["c2"]["threshold_nats"])
    shift[C1] = fit["c1"]["threshold_nats"]
    margins = panel.margins - shift[:, None]
    decided = np.select([margins > 0, margins < 0, margins == 0], [ACCEPT, REJECT, TIE], panel.replies)
    factors = replace(panel.factors, arm=CALIBRATED)
    return replace(panel, factors=factors, margins=margins, replies=decided.astype(panel.replies.dtype))


def calibrate_runs(train: JudgedRun, test: JudgedRun, options: Options) -> None:
    """Fit thresholds on one run for another, print and write them."""
    # Other items are the point; `calibrate` takes the prompt variants that both were asked.
    prompt_keys = ("template", "speakers", "answer_order") if options.pooled else ()
    keys = ("benchmarks", *(f"prompts.{key}" for key in ("variants", "arms", *prompt_keys)))
    check_alike(train, test, [f"dialdefer.{key}" for key in keys])
    HeldOut(item_texts(test).values()).check(item_texts(train).values(), str(train.path))
    fits = calibrate(judge_of_run(train), judge_of_run(test), options.objective, is_pooled=options.pooled)
    source = f"fitted by {options.objective} on {fits[0]['n_items']} items, none of which is scored"
    say(f"Thresholds of {train.judge}, {source}:")
    for fitted, framing in product(fits[:1] if options.pooled else fits, ("c1", "c2")):
        t = fitted[framing]
        variant = "all variants" if options.pooled else fitted["variant"] or "main variant"
        say(
            f"{variant}, {framing.upper()}: {t['threshold_nats']:+.3f} nats; accepts "
            f"{t['accept_rate_after']:.1%} (at 0: {t['accept_rate_before']:.1%}), right {t['acc_after']:.1%} "
            f"({t['acc_before']:.1%}) of {t['n_margins']}"
        )
    write_fits(options, train, test, fits)

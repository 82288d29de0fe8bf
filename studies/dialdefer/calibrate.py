"""Thresholds on the margins of DialDefer's runs; see eval.calibration.

A judge accepts where its margin log P("1") - log P("2") exceeds 0. Where dialogue merely moves all margins, a threshold
of its own for C2 undoes that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from eval.calibration import CALIBRATED, DDS, Fit, check_alike, fits_of, thresholds, write_fits
from eval.options import Options
from evenhand.errors import DataError
from studies.dialdefer.item_table import HeldOut
from studies.dialdefer.measures import ACCEPT, C1, C2, REJECT, TIE
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
        return [each for name in applied for each in fit(of_train, objective, name)]
    for variant in (name for name in fitted if name in applied):
        fitted_factors = {replace(panel.factors, roles="") for panel in fitted[variant]}
        forms = {panel.factors.answer_form for panel in fitted[variant]}
        for panel in applied[variant]:  # r/AIO has a template of its own, and no train split
            is_aio = panel.dataset in AIO_DATASETS and panel.factors.answer_form in forms
            if replace(panel.factors, roles="") not in fitted_factors and not is_aio:
                raise DataError(f"{panel.dataset}: has other prompts than thresholds are fitted on; sample both alike")
    return [each for name in fitted if name in applied for each in fit(fitted[name], objective, name)]


def untreated_panels(judge: Judge) -> dict[str, list[Panel]]:
    """Prompt variant as asked → its untreated panels with both framings, the main one first.

    Raises DataError when the main one has none.
    """
    panels: dict[str, list[Panel]] = {"": []}
    for panel in own_panels(judge.panels):
        if panel.factors.arm == "none" and panel.factors.answer_order != BOTH_ORDERS:
            panels.setdefault(variant_of(panel, judge.panels), []).append(panel)
    if not panels[""]:
        raise DataError(f"{judge.name}: has no untreated arm with both C1 and C2, which thresholds are about")
    return panels


def fit(panels: Sequence[Panel], objective: str, variant: str = "") -> list[Fit]:
    """The thresholds of c1 and c2 for the pooled items of some panels; see eval.calibration.fits_of."""
    margins = np.concatenate([panel.margins.transpose(0, 2, 1).reshape(-1, 4) for panel in panels]).T
    n_items = sum(len(panel.item_ids) for panel in panels)
    return fits_of({"c1": [*margins[C1]], "c2": [*margins[C2]]}, objective, variant, n_items)


def calibrated_panels(untreated: Mapping[str, Sequence[Panel]], fits: Sequence[Fit]) -> list[Panel]:
    """The panels of the variants that have thresholds under arm `calibrated`, and both orders of them together."""
    nats = thresholds(fits)
    variants = dict.fromkeys(fit["variant"] for fit in fits)
    return with_both_orders(
        [
            calibrated(panel, nats["c1", variant], nats["c2", variant])
            for variant in variants
            for panel in untreated.get(variant, ())
        ]
    )


def calibrated(panel: Panel, c1: float, c2: float) -> Panel:
    """The panel under arm `calibrated`: margins less their framing's threshold, and the replies that these decide.

    A margin on its threshold is a tie. Where there is no margin the reply stays what it was.
    """
    margins = panel.margins - np.array([c1, c1, c2, c2])[:, None]
    decided = np.select([margins > 0, margins < 0, margins == 0], [ACCEPT, REJECT, TIE], panel.replies)
    factors = replace(panel.factors, arm=CALIBRATED)
    return replace(panel, factors=factors, margins=margins, replies=decided.astype(panel.replies.dtype))


def calibrate_runs(train: JudgedRun, test: JudgedRun, options: Options) -> None:
    """Fit thresholds on one run for another, print and write them."""
    # Other items are the point; `calibrate` takes the prompt variants that both were asked.
    prompt_keys = ("template", "speakers", "answer_order") if options.pooled else ()
    keys = ("benchmarks", *(f"prompts.{key}" for key in ("variants", "arms", "placebo", *prompt_keys)))
    check_alike(train, test, [f"dialdefer.{key}" for key in keys])
    HeldOut(item_texts(test).values()).check(item_texts(train).values(), str(train.path))
    fits = calibrate(judge_of_run(train), judge_of_run(test), options.objective, is_pooled=options.pooled)
    write_fits(options, train, test, fits, "acceptance")

"""Rules on the margins of DialDefer's runs; see eval.calibration and eval.scorecard.rules.

A judge accepts where its margin log P("1") - log P("2") exceeds 0. Where dialogue merely moves all margins, a threshold
of its own for C2 undoes that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from eval.calibration import DDS, Fit, check_alike, fits_of, sharing_a_prompt, thresholds, write_fits
from eval.estimates.resampling import FloatArray
from eval.options import Options
from eval.scorecard import rules
from evenhand.errors import DataError
from studies.dialdefer.datasets import HeldOut, item_set_hash
from studies.dialdefer.measures import ACCEPT, C1, C2, TIE, verdict_codes
from studies.dialdefer.options import DialDeferOptions
from studies.dialdefer.panels import JudgedRun, Panel, item_texts, named, variant_of, with_both_orders
from studies.dialdefer.render import YES_FIRST
from studies.dialdefer.scores import own_panels


def calibrate(train: JudgedRun, test: JudgedRun, objective: str = DDS, *, is_pooled: bool = False) -> list[Fit]:
    """Thresholds fitted on the train judge's untreated panels, for each prompt variant that both were asked.

    is_pooled: one fit over all prompt variants of the train judge, for each of the test judge's, whatever they are.

    Raises DataError when the two share an item or a prompt, or have no margins.
    """
    fitted, applied = untreated_panels(train), untreated_panels(test)
    of_train, of_test = ([panel for panels in judge.values() for panel in panels] for judge in (fitted, applied))
    ids = [{(p.benchmark, p.dataset, item) for p in panels for item in p.item_ids} for panels in (of_train, of_test)]
    if shared := sorted(item for _, _, item in ids[0] & ids[1]):
        raise DataError(f"{named(shared)} been fitted on and would be scored; fit thresholds on the train split")
    if same := sharing_a_prompt(train, test):
        raise DataError(f"{named(same)} a prompt that thresholds are fitted on, under another id; leave them out")
    fitted_on = dict.fromkeys(applied, of_train) if is_pooled else fitted
    return [threshold for name in fitted_on if name in applied for threshold in fit(fitted_on[name], objective, name)]


def untreated_panels(judge: JudgedRun) -> dict[str, list[Panel]]:
    """Prompt variant as asked → its untreated panels with both framings, the main one first.

    Raises DataError when the main one has none.
    """
    panels: dict[str, list[Panel]] = {"": []}
    for panel in own_panels(judge.panels):
        if panel.factors.arm == "none" and not panel.orders:
            panels.setdefault(variant_of(panel, judge.panels), []).append(panel)
    if not panels[""]:
        raise DataError(f"{judge.name}: has no untreated arm with both C1 and C2, which thresholds are about")
    return panels


def fit(panels: Sequence[Panel], objective: str, variant: str) -> list[Fit]:
    """The thresholds of c1 and c2 for the pooled items of some panels; see eval.calibration.fits_of."""
    margins = np.concatenate([panel.margins.transpose(0, 2, 1).reshape(-1, 4) for panel in panels]).T
    n_items = sum(len(panel.item_ids) for panel in panels)
    return fits_of({"c1": [*margins[C1]], "c2": [*margins[C2]]}, objective, variant, n_items)


def judged_above(panel: Panel, limits: FloatArray) -> Panel:
    """The panel as thresholds judge it: margins less that of their framing, and the replies that these decide.

    limits: (n_items or 1, 2, 1), of C1 and C2 in one order. Where there is no margin the reply stays what it was.
    """
    margins = panel.margins - limits.repeat(2, axis=1)
    return replace(panel, margins=margins, replies=verdict_codes(margins, panel.replies))


def with_thresholds(run: JudgedRun, fits: Sequence[Fit]) -> JudgedRun:
    """The run's untreated prompts as thresholds judge them, in the variants that have some; and both orders of them."""
    nats, untreated = thresholds(fits), untreated_panels(run)
    panels = [
        judged_above(panel, np.array([[[nats["c1", variant]], [nats["c2", variant]]]]))
        for variant in dict.fromkeys(fit["variant"] for fit in fits)
        for panel in untreated.get(variant, ())
    ]
    return replace(run, panels=with_both_orders(panels))


def under_rules(run: JudgedRun, options: Options, asked_rules: Sequence[str] = rules.RULES) -> dict[str, JudgedRun]:
    """The run's untreated prompts as each free rule judges them, without rules that lack the card's prompt variant."""
    untreated = [panel for panel in own_panels(run.panels) if panel.factors.arm == "none"]
    asked = [panel for panel in untreated if not panel.orders and not np.isnan(panel.margins).all()]
    if not asked:
        return {}
    variant = options.of(DialDeferOptions).variant
    on_card = {(panel.dataset, panel.factors) for panel in untreated if variant_of(panel, run.panels) == variant}
    folds, ruled = rules.folds_of(run.plan), dict[str, JudgedRun]()
    for rule in asked_rules:
        panels = with_one_verdict(asked) if rule in (rules.BOTH_ORDERS, rules.BOTH_AND_THRESHOLD) else asked
        if rule != rules.BOTH_ORDERS:
            panels = cross_fitted(panels, folds, is_carried=rule == rules.CARRIED_OVER)
        panels = with_both_orders(panels)
        if on_card <= {(panel.dataset, panel.factors) for panel in panels}:
            ruled[rule] = replace(run, panels=panels)
    return ruled


def with_one_verdict(panels: Sequence[Panel]) -> list[Panel]:
    """Those that were asked in both answer orders, with their mean margins and what these decide in each order."""
    both = [panel for panel in with_both_orders(panels) if panel.orders]
    return [replace(order, margins=p.margins, replies=p.replies) for p in both for order in p.orders]


def cross_fitted(
    panels: Sequence[Panel], folds: Mapping[tuple[str, str], int], *, is_carried: bool = False
) -> list[Panel]:
    """Panels under a threshold for C2, fitted on the items of other folds in the same prompt variant.

    folds: of (dataset, item), see folds_of. is_carried: in all others with the same answer order; a panel for which
    there are none is left out. These are the same items, so of their noise the rule was fitted to what variants share.
    What changes no verdict has taken no noise.
    """
    groups: dict[str, dict[str, list[tuple[Panel, rules.Folded]]]] = {}  # answer order → the words' variant → panels
    for panel in panels:
        words = variant_of(replace(panel, factors=replace(panel.factors, answer_order=YES_FIRST)), panels)
        margins = panel.margins.reshape(len(panel.item_ids), 2, -1, 1)  # C1 and C2 × claims and samples, in one order
        folded = rules.Folded(margins, np.array([folds[panel.dataset, item] for item in panel.item_ids]))
        groups.setdefault(panel.factors.answer_order, {}).setdefault(words, []).append((panel, folded))
    judged = []
    for in_order in groups.values():
        for words, group in in_order.items():
            fitted_on = [key for key in in_order if (key == words) != is_carried]
            if fitted_on:
                by_fold = rules.thresholds_by_fold([folded for key in fitted_on for _, folded in in_order[key]])
                ruled = [judged_above(p, by_fold[of.folds]) for p, of in group]
                is_other = any((new.replies != p.replies).any() for new, (p, _) in zip(ruled, group, strict=True))
                judged += [replace(p, fitted=is_other / len(group)) for p in ruled]
    if not is_carried:
        return judged
    shared = {name: shared_noise([p for p in judged if p.dataset == name]) for name in {p.dataset for p in judged}}
    return [replace(p, fitted=p.fitted * shared[p.dataset]) for p in judged]


def shared_noise(panels: Sequence[Panel]) -> float:
    """The share of the noise of items' shifts that prompt variants of one dataset share: their intraclass correlation.

    It is the mean covariance of two variants over clusters, over the mean variance; 1 where that is not known.
    """
    shifts: dict[Any, pd.Series[float]] = {}  # variant → by cluster, in both answer orders
    for panel in panels:
        accepts = np.select([panel.replies == ACCEPT, panel.replies == TIE], [1.0, 0.5]).mean(axis=2)
        of_items = pd.Series(accepts[:, C2].sum(axis=1) - accepts[:, C1].sum(axis=1), index=[*panel.clusters])
        words = replace(panel.factors, answer_order=YES_FIRST)
        shifts[words] = of_items.groupby(level=0).sum().add(shifts.get(words, 0.0))
    table = pd.concat(shifts.values(), axis=1).dropna().to_numpy().T  # variants × clusters
    table = table - table.mean(axis=1, keepdims=True)
    own = np.square(table).sum()
    return float((np.square(table.sum(axis=0)).sum() - own) / (len(table) - 1) / own) if own and len(table) > 1 else 1.0


def calibrate_runs(train: JudgedRun, test: JudgedRun, options: Options) -> None:
    """Fit thresholds on one run for another, print and write them."""
    # Other items are the point; `calibrate` takes the prompt variants that both were asked.
    prompt_keys = ("template", "speakers", "answer_order") if options.pooled else ()
    keys = ("benchmarks", *(f"prompts.{key}" for key in ("variants", "arms", "placebo", *prompt_keys)))
    check_alike(train, test, [f"dialdefer.{key}" for key in keys])
    items = item_texts(train).values()
    HeldOut(item_texts(test).values()).check(items, str(train.path))
    fits = calibrate(train, test, options.objective, is_pooled=options.pooled)
    write_fits(options, train, test, fits, "acceptance", [item_set_hash([item]) for item in items])

"""A training-free mitigation: one threshold on margins per framing, fitted on train items and applied to test items.

A judge accepts where its margin log P("1") - log P("2") exceeds 0. Where dialogue merely moves all margins, a threshold
of its own for C2 undoes that without training. A trained mitigation is worth its price if it beats this one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eval.dialdefer.answer_orders import BOTH_ORDERS, with_both_orders
from eval.dialdefer.averages import AIO
from eval.dialdefer.judges import Judge
from eval.dialdefer.panels import ACCEPT, C1, REJECT, TIE, Panel, named
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.scores import own_panels
from eval.dialdefer.thresholds import Score, Threshold, accuracy, closeness_to, described, fit_threshold, known
from eval.report.table import Table
from evenhand.errors import DataError

ARM = "calibrated"
DDS = "dds"
# Of each framing by itself; None: C1 stays as it is, and C2 is to accept as much.
OBJECTIVES: Mapping[str, Score | None] = {DDS: None, "acceptance": closeness_to(0.5), "accuracy": accuracy}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The thresholds of one judge, fitted over all items of some datasets together, as an adapter is trained."""

    model: str
    objective: str
    variant: str  # of the prompts; "" for the main one
    datasets: tuple[str, ...]
    n_items: int
    c1: Threshold
    c2: Threshold


def calibrate(train: Judge, test: Judge, objective: str = DDS) -> tuple[Judge, list[Calibration]]:
    """(the test judge with panels of arm `calibrated` added, the thresholds fitted on the train judge).

    Fitted on the train judge's untreated panels, applied to the test judge's, in each prompt variant that both were
    asked, such as the other order of the answers. Fixed C1 is then the test judge's own uncalibrated C1. Raises
    DataError when the two are of different models or variants, share an item or a prompt, or have no margins.
    """
    if train.model != test.model:
        raise DataError(f"thresholds of {train.model} say nothing about {test.model}; sample the same model twice")
    fitted, applied = untreated_panels(train), untreated_panels(test)
    refuse_shared(*([panel for panels in of.values() for panel in panels] for of in (fitted, applied)))
    found = [fit(train.model, fitted[v], objective, v) for v in fitted if v in applied]
    for calibration in found:
        refuse_other_variant(fitted[calibration.variant], applied[calibration.variant])
    return replace(test, panels=(*test.panels, *calibrated_panels(applied, found))), found


def calibrated_panels(untreated: Mapping[str, Sequence[Panel]], found: Sequence[Calibration]) -> list[Panel]:
    """The panels of the variants that have thresholds under arm `calibrated`, and both orders of them together."""
    return with_both_orders([calibrated(panel, c) for c in found for panel in untreated.get(c.variant, ())])


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


def refuse_shared(train: Sequence[Panel], test: Sequence[Panel]) -> None:
    """Raises DataError when an item, or the words of a prompt, are both fitted on and scored."""
    ids = [{(p.benchmark, p.dataset, item) for p in panels for item in p.item_ids} for panels in (train, test)]
    shared = sorted(item for _, _, item in ids[0] & ids[1])
    if shared:
        raise DataError(f"{named(shared)} been fitted on and would be scored; fit thresholds on the train split")
    fitted_on = np.concatenate([p.hashes.ravel() for p in train])
    same = [
        p.item_ids[row] for p in test for row in np.flatnonzero(np.isin(p.hashes, fitted_on[fitted_on != ""]).any(1))
    ]
    if same:
        raise DataError(f"{named(same)} a prompt that thresholds are fitted on, under another id; leave them out")


def refuse_other_variant(train: Sequence[Panel], test: Sequence[Panel]) -> None:
    """Raises DataError when test prompts have another variant than those fitted on; r/AIO has its own, and no train."""
    known = {replace(panel.factors, roles="") for panel in train}
    forms = {panel.factors.answer_form for panel in train}
    for panel in test:
        is_aio = panel.dataset.startswith(AIO) and panel.factors.answer_form in forms
        if replace(panel.factors, roles="") not in known and not is_aio:
            raise DataError(
                f"{panel.dataset}: is worded otherwise than what thresholds are fitted on; sample both alike"
            )


def fit(model: str, panels: Sequence[Panel], objective: str, variant: str = "") -> Calibration:
    """The thresholds for the pooled items of some panels. Raises DataError for an unknown objective."""
    if objective not in OBJECTIVES:
        raise DataError(f"objective '{objective}' is unknown; known: {', '.join(OBJECTIVES)}")
    margins = np.concatenate([panel.margins.transpose(0, 2, 1).reshape(-1, 4) for panel in panels])
    true, false = margins[:, ::2], margins[:, 1::2]  # of C1 and C2
    score = OBJECTIVES[objective]
    if score is None:
        of_c1 = described(known(true[:, 0]), known(false[:, 0]), 0.0)
    else:
        of_c1 = fit_threshold(true[:, 0], false[:, 0], score)
    return Calibration(
        model=model,
        objective=objective,
        variant=variant,
        datasets=tuple(dict.fromkeys(panel.dataset for panel in panels)),
        n_items=sum(len(panel.item_ids) for panel in panels),
        c1=of_c1,
        c2=fit_threshold(true[:, 1], false[:, 1], score or closeness_to(of_c1.accept_rate_after)),
    )


def calibrated(panel: Panel, calibration: Calibration) -> Panel:
    """The panel under arm `calibrated`: margins less their framing's threshold, and the replies that these decide.

    A margin on its threshold is a tie. Where there is no margin the reply stays what it was: none.
    """
    shift = np.full(4, calibration.c2.threshold_nats)
    shift[C1] = calibration.c1.threshold_nats
    margins = panel.margins - shift[:, None]
    decided = np.select([margins > 0, margins < 0, margins == 0], [ACCEPT, REJECT, TIE], panel.replies)
    return replace(
        panel, factors=replace(panel.factors, arm=ARM), margins=margins, replies=decided.astype(panel.replies.dtype)
    )


def calibration_table(found: Sequence[Calibration]) -> Table:
    """The thresholds and what they do to the items that they were fitted on."""
    framings = [(c.variant, framing, t) for c in found for framing, t in (("C1", c.c1), ("C2", c.c2))]
    first = found[0]
    return Table(
        name="thresholds",
        title=f"Thresholds of {first.model}, fitted by {first.objective}",
        columns=(
            "variant",
            "framing",
            "threshold (nats)",
            "margins",
            "accuracy at 0",
            "at threshold",
            "accepts at 0",
            "accepts",
        ),
        rows=tuple(
            (
                variant,
                framing,
                t.threshold_nats,
                t.n_margins,
                t.acc_before,
                t.acc_after,
                t.accept_rate_before,
                t.accept_rate_after,
            )
            for variant, framing, t in framings
        ),
        note=f"Fitted on {first.n_items} items of {', '.join(first.datasets)}, none of which is scored.",
        formats=("", "", "+.3f", "", ".1%", ".1%", ".1%", ".1%"),
    )

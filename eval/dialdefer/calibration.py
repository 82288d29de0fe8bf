"""A training-free mitigation: one threshold on margins per framing, fitted on train items and applied to test items.

A judge accepts where its margin log P("1") - log P("2") exceeds 0. Where dialogue merely moves all margins, thresholds
of their own for C1 and C2 undo that without training. A trained mitigation is worth its price if it beats this one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eval.dialdefer.averages import AIO
from eval.dialdefer.dds import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT
from eval.dialdefer.judges import Judge
from eval.dialdefer.panels import ACCEPT, C1, REJECT, TIE, Panel, named
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.scores import own_panels
from eval.dialdefer.thresholds import DEFAULT_OBJECTIVE, Threshold, fit_threshold
from eval.report.table import Table
from evenhand.errors import DataError

ARM = "calibrated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The thresholds of one judge, fitted over all items of some datasets together, as an adapter is trained."""

    model: str
    objective: str
    datasets: tuple[str, ...]
    n_items: int
    c1: Threshold
    c2: Threshold


def calibrate(train: Judge, test: Judge, objective: str = DEFAULT_OBJECTIVE) -> tuple[Judge, Calibration]:
    """(the test judge with panels of arm `calibrated` added, the thresholds fitted on the train judge).

    Fitted on the train judge's untreated panels, applied to the test judge's, each in its main variant. Fixed C1 is
    then the test judge's own uncalibrated C1. Raises DataError when the two are of different models or variants, share
    an item or a prompt, or have no margins.
    """
    if train.model != test.model:
        raise DataError(f"thresholds of {train.model} say nothing about {test.model}; sample the same model twice")
    fitted, applied = untreated_panels(train), untreated_panels(test)
    refuse_shared(fitted, applied)
    refuse_other_variant(fitted, applied)
    calibration = fit(train.model, fitted, objective)
    return replace(test, panels=(*test.panels, *(calibrated(p, calibration) for p in applied))), calibration


def untreated_panels(judge: Judge) -> list[Panel]:
    """The untreated panels with both framings, each dataset in its main variant. Raises DataError without margins."""
    panels = [p for p in own_panels(judge.panels) if p.factors.arm == "none" and not variant_of(p, judge.panels)]
    if not panels:
        raise DataError(f"{judge.name}: has no untreated arm with both C1 and C2, which thresholds are about")
    without = [panel.dataset for panel in panels if np.isnan(panel.margins).all()]
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


def fit(model: str, panels: Sequence[Panel], objective: str) -> Calibration:
    """The thresholds for the pooled items of some panels."""
    margins = np.concatenate([panel.margins.transpose(0, 2, 1).reshape(-1, 4) for panel in panels])
    return Calibration(
        model=model,
        objective=objective,
        datasets=tuple(dict.fromkeys(panel.dataset for panel in panels)),
        n_items=sum(len(panel.item_ids) for panel in panels),
        c1=fit_threshold(margins[:, C1_TRUE], margins[:, C1_FALSE], objective),
        c2=fit_threshold(margins[:, C2_CORRECT], margins[:, C2_INCORRECT], objective),
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


def calibration_table(calibration: Calibration, name: str = "thresholds") -> Table:
    """The two thresholds and what they do to the items that they were fitted on."""
    framings = {"C1": calibration.c1, "C2": calibration.c2}
    return Table(
        name=name,
        title=f"Thresholds of {calibration.model}, fitted by {calibration.objective}",
        columns=("framing", "threshold (nats)", "margins", "accuracy at 0", "at threshold", "accepts at 0", "accepts"),
        rows=tuple(
            (
                framing,
                t.threshold_nats,
                t.n_margins,
                t.acc_before,
                t.acc_after,
                t.accept_rate_before,
                t.accept_rate_after,
            )
            for framing, t in framings.items()
        ),
        note=f"Fitted on {calibration.n_items} items of {', '.join(calibration.datasets)}, none of which is scored.",
        formats=("", "+.3f", "", ".1%", ".1%", ".1%", ".1%"),
    )

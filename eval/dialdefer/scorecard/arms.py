"""Sampling runs, and thresholds on the base run, → the arms of a scorecard, refused where they are no like for like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from eval.dialdefer.compare import paired_panels
from eval.dialdefer.panels import BOTH_ORDERS, Panel, variant_of
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.scores import FIXED, OWN
from eval.scorecard.arms import CardArm
from eval.scorecard.cost import Cost
from evenhand.errors import DataError
from studies.dialdefer.templates import NO_FIRST


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arm:
    """One row of a scorecard: a judge's untreated prompts in one prompt variant, with both sources of C1."""

    name: str
    kind: str  # "base", "trained", or "calibrated": thresholds on the base run
    run: JudgedRun
    panels: Mapping[str, Mapping[str, Panel]]  # "own" | "fixed" → dataset → panel; own lacks what has no C1
    orders: Mapping[str, Panel]  # dataset → panel of the same prompts in both answer orders, where they were asked
    cost: Cost
    arm: str  # of which arm it is a seed; itself where that has one alone
    variant: str = ""  # the prompt variant
    note: str = ""  # where the arm comes from, if not from a run of its own
    unlikely: tuple[str, ...] = ()  # datasets on which a seed of it hardly gives an answer: in none of its averages


def with_unlikely(arms: Sequence[Arm]) -> list[Arm]:
    """The arms with the datasets that are in none of their averages, the same for all seeds of one."""
    found: dict[str, dict[str, None]] = {}
    for arm in arms:
        panels = [panel for of in (*arm.panels.values(), arm.orders) for panel in of.values()]
        found.setdefault(arm.arm, {}).update({panel.dataset: None for panel in panels if panel.unlikely})
    return [replace(arm, unlikely=tuple(found[arm.arm])) for arm in arms]


def base_arm(of: CardArm, run: JudgedRun, variant: str) -> Arm:
    """The base run as an arm: its C1 is everybody's fixed C1.

    Raises DataError when it has no dataset with both framings in the prompt variant.
    """
    panels = panels_of(run.panels, run.panels, variant)[OWN]
    if not panels:
        worded = f"prompt variant '{variant}'" if variant else "its main prompt variant"
        others = list(dict.fromkeys(name for panel in run.panels if (name := variant_of(panel, run.panels))))
        known = f"; its variants: {', '.join(others)}" if others else ""
        raise DataError(f"{run.name}: no dataset has both C1 and C2 without a prompt mitigation in {worded}{known}")
    both = {OWN: panels, FIXED: panels}
    orders = panels_of(run.panels, run.panels, in_both_orders(variant))[OWN]
    return Arm(
        name=of.name, kind=of.kind, run=run, panels=both, orders=orders, cost=of.cost, arm=of.arm, variant=variant
    )


def trained_arm(of: CardArm, run: JudgedRun, base: JudgedRun, variant: str) -> Arm:
    """A checkpoint's sampling run as an arm. Raises DataError when it shares no dataset with the base, or no items."""
    panels = arm_panels(of.name, base, run.panels, variant)
    orders = panels_of(base.panels, run.panels, in_both_orders(variant))[OWN]
    return Arm(
        name=of.name, kind=of.kind, run=run, panels=panels, orders=orders, cost=of.cost, arm=of.arm, variant=variant
    )


def in_both_orders(variant: str) -> str:
    """The variant that has a variant's prompts in both answer orders; itself where it is that already."""
    return variant if variant.endswith((BOTH_ORDERS, NO_FIRST)) else ", ".join(filter(None, [variant, BOTH_ORDERS]))


def other_variants(base: JudgedRun, others: Sequence[JudgedRun]) -> list[str]:
    """The prompt variants beside the main one that all were asked in both framings, on each of the base's datasets."""
    names = filter(None, dict.fromkeys(variant_of(panel, base.panels) for panel in base.panels))
    asked = {name: set(panels_of(base.panels, base.panels, name)[OWN]) for name in names}
    return [
        name
        for name, datasets in asked.items()
        if datasets and all(datasets <= set(panels_of(base.panels, run.panels, name)[OWN]) for run in others)
    ]


def arm_panels(name: str, base: JudgedRun, after: Sequence[Panel], variant: str) -> dict[str, dict[str, Panel]]:
    """An arm's panels with each source of C1. Raises DataError when there are none, or items differ."""
    try:
        panels = panels_of(base.panels, after, variant)
    except DataError as error:
        raise DataError(f"{name} against {base.name}: {error}") from None
    if not panels[FIXED]:
        raise DataError(f"{name} and {base.name} have no dataset in common; nothing can be compared")
    return panels


def panels_of(base: Sequence[Panel], after: Sequence[Panel], variant: str) -> dict[str, dict[str, Panel]]:
    """Source of C1 → dataset → panel of the after judge, for what both were asked without a prompt mitigation."""
    group = ("none", "2->1", variant)
    return {
        source: {panel.dataset: panel for _, panel in paired_panels(base, after, source).get(group, [])}
        for source in (OWN, FIXED)
    }


def as_untreated(panel: Panel) -> Panel:
    """The panel of an arm that answers the untreated prompts, such as `calibrated`, as one of arm `none`."""
    return replace(panel, factors=replace(panel.factors, arm="none"))

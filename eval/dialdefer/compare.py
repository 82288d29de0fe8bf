"""Pairs of panels over the same items → changes, for each measure, dataset and average."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eval.dialdefer.accuracy import accept_rates
from eval.dialdefer.averages import averages_over
from eval.dialdefer.observe import (
    BASE_SHIFT,
    CHANGED,
    DEFERENCE,
    POSITION,
    SHIFT,
    SOFT_DDS,
    answered_by_both,
    order_pair_of,
    pair_of,
    shift_pair_of,
    soft_pair_of,
)
from eval.dialdefer.panel_scores import mean_or_none
from eval.dialdefer.panels import Panel, with_c1_of
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.scores import FIXED, OWN
from eval.estimates.changes import Change, Compared, change_in
from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing
from evenhand.errors import DataError


def compare_runs(base: JudgedRun, after: JudgedRun, denominator: str, drawing: Drawing) -> list[Change]:
    """Changes for every arm that both runs have, with `own C1` and `fixed C1` both labelled.

    Raises DataError when the runs share no panel with both framings, or one is over other items.
    """
    found: list[Change] = []
    pairs_by_source = {source: paired_panels(base.panels, after.panels, source) for source in (OWN, FIXED)}
    for group, c1_source in ((g, source) for g in pairs_by_source[FIXED] for source in (OWN, FIXED)):
        pairs = pairs_by_source[c1_source].get(group, [])
        arm, roles, variant = group
        setting = {
            "arm": arm,
            "roles": roles,
            "variant": variant,
            "c1_source": c1_source,
            "verdict": base.reading.mode,
            "parser": base.reading.parser,
            "denominator": denominator,
        }
        before, later = (f"{run.model} ({run.name})" for run in (base, after))
        found += changes_over(pairs, Compared(before, later, setting), denominator, drawing)
    if not found:
        raise DataError(f"{base.name} and {after.name} have no dataset and arm in common; nothing can be compared")
    return found


def changes_over(
    pairs: Sequence[tuple[Panel, Panel]], compared: Compared, denominator: str, drawing: Drawing
) -> list[Change]:
    """Changes for each dataset of the pairs and for each average over those that both sides are likely to answer.

    Soft DDS and the scale-free shift where all have margins; deference and position where all have both answer orders.
    """
    panels = {first.dataset: (first, second) for first, second in pairs}
    verdicts = {first.dataset: pair_of(first, second, denominator, drawing) for first, second in pairs}
    soft = {first.dataset: soft_pair_of(first, second, drawing) for first, second in pairs}
    # Of one judge's dialogues and another's statements there is no shift in own deviations.
    shifts = {
        first.dataset: None if compared.setting.get("c1_source") == FIXED else shift_pair_of(first, second, drawing)
        for first, second in pairs
    }
    orders = {first.dataset: order_pair_of(first, second, denominator, drawing) for first, second in pairs}
    averages = averages_over((a.benchmark, a.dataset) for a, b in pairs if not (a.unlikely or b.unlikely))
    found = []
    for name, over in {**{dataset: [dataset] for dataset in verdicts}, **averages}.items():
        found += [change_in(measure, [verdicts[d] for d in over], compared, name) for measure in CHANGED]
        further = ((SOFT_DDS, soft), (SHIFT, shifts), (BASE_SHIFT, shifts), (DEFERENCE, orders), (POSITION, orders))
        for measure, of in further:
            parts = [pair for dataset in over if (pair := of[dataset]) is not None]
            if len(parts) == len(over):
                found.append(change_in(measure, parts, compared, name))
        found += acceptance(found[-1], [panels[d] for d in over])
    return found


def acceptance(alike: Change, pairs: Sequence[tuple[Panel, Panel]]) -> Iterator[Change]:
    """How often claims are accepted in C1 and in C2, in %, means over datasets; told without an interval.

    alike: another change over the same panels.
    """
    rates = [[accept_rates(panel.replies) for panel in answered_by_both(*pair)] for pair in pairs]
    for i, framing in enumerate(("c1", "c2")):
        before, after = (mean_or_none([of_pair[side][i] for of_pair in rates]) for side in (0, 1))
        rise = None if before is None or after is None else after - before
        sides = [
            Estimate(value=None if rate is None else 100 * rate, low=None, high=None, n_units=alike.change.n_units)
            for rate in (before, after, rise)
        ]
        named = replace(alike, measure=f"accept_{framing}", unit="%", p=None, p_holm=None)
        yield replace(named, before=sides[0], after=sides[1], change=sides[2])


def paired_panels(
    base: Sequence[Panel], after: Sequence[Panel], c1_source: str, named_among: Sequence[Panel] | None = None
) -> dict[tuple[str, str, str], list[tuple[Panel, Panel]]]:
    """(arm, roles, variant) → pairs of panels with both framings, the after panel with its own or the base's C1.

    named_among: all variants of the base judge, where `base` is only some of them; a variant's name depends on them.
    """
    theirs = {(p.benchmark, p.dataset, p.factors): p for p in after}
    groups: dict[tuple[str, str, str], list[tuple[Panel, Panel]]] = {}
    for panel in base:
        other = theirs.get((panel.benchmark, panel.dataset, panel.factors))
        if other is None or not (panel.has_c1 and panel.has_c2 and other.has_c2):
            continue
        if c1_source == OWN and not other.has_c1:
            continue
        after_panel = with_c1_of(other, panel) if c1_source == FIXED else other
        group = (panel.factors.arm, panel.roles, variant_of(panel, base if named_among is None else named_among))
        groups.setdefault(group, []).append((panel, after_panel))
    return groups

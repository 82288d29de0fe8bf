"""Which runs, arms and judges are held against each other, and what changed between them.

Pairs of panels over the same items → changes, for each measure, dataset and average.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from eval.dialdefer.measures import accept_rates, is_over_corrected, mean_or_none
from eval.dialdefer.observe import (
    BASE_SHIFT,
    CHANGED,
    DEFERENCE,
    POSITION,
    SHIFT,
    SOFT_DDS,
    order_pair_of,
    pair_of,
    shift_pair_of,
    soft_pair_of,
)
from eval.dialdefer.panels import (
    BOTH_ORDERS,
    Judge,
    Panel,
    answered_by_both,
    grouped,
    named,
    refuse_unequal_items,
    variant_of,
    with_c1_of,
)
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.scores import FIXED, OWN, PANELS_BY_C1, averages_over, own_panels
from eval.estimates.changes import Change, Compared, adjusted, change_in
from eval.estimates.estimate import Drawing, Estimate
from evenhand.errors import DataError

Group = tuple[str, str, str]  # arm, roles, prompt variant
Pairs = Sequence[tuple[Panel, Panel]]


def changes_over(pairs: Pairs, compared: Compared, denominator: str, drawing: Drawing) -> list[Change]:
    """Changes for each dataset of the pairs and for each average over those that both sides are likely to answer.

    Soft DDS and the scale-free shift where all have margins; deference and position where all have both answer orders.
    """
    panels = {first.dataset: (first, second) for first, second in pairs}
    # One judge's dialogues against another's statements have no shift in own deviations.
    is_mixed = compared.setting.get("c1_source") == FIXED
    verdicts = {dataset: pair_of(*pair, denominator, drawing) for dataset, pair in panels.items()}
    soft = {dataset: soft_pair_of(*pair, drawing) for dataset, pair in panels.items()}
    shifts = {dataset: None if is_mixed else shift_pair_of(*pair, drawing) for dataset, pair in panels.items()}
    orders = {dataset: order_pair_of(*pair, denominator, drawing) for dataset, pair in panels.items()}
    averages = averages_over((a.benchmark, a.dataset) for a, b in pairs if not (a.unlikely or b.unlikely))
    changes = []
    for name, over in {**{dataset: [dataset] for dataset in verdicts}, **averages}.items():
        changes += [change_in(measure, [verdicts[d] for d in over], compared, name) for measure in CHANGED]
        further = ((SOFT_DDS, soft), (SHIFT, shifts), (BASE_SHIFT, shifts), (DEFERENCE, orders), (POSITION, orders))
        for measure, by_dataset in further:
            parts = [pair for dataset in over if (pair := by_dataset[dataset]) is not None]
            if len(parts) == len(over):
                changes.append(change_in(measure, parts, compared, name))
        changes += acceptance(changes[-1], [panels[d] for d in over])
    return changes


def acceptance(alike: Change, pairs: Pairs) -> Iterator[Change]:
    """How often claims are accepted in C1 and in C2, in %, means over datasets, without an interval.

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
        blank = replace(alike, measure=f"accept_{framing}", unit="%", p=None, p_holm=None)
        yield replace(blank, before=sides[0], after=sides[1], change=sides[2])


def paired_panels(
    base: Sequence[Panel], after: Sequence[Panel], c1_source: str, named_among: Sequence[Panel] | None = None
) -> dict[Group, list[tuple[Panel, Panel]]]:
    """(arm, roles, variant) → pairs of panels with both framings, the after panel with its own or the base's C1.

    named_among: all variants of the base judge, where `base` is only some of them; a variant's name depends on them.
    """
    theirs = {(p.benchmark, p.dataset, p.factors): p for p in after}
    groups: dict[Group, list[tuple[Panel, Panel]]] = {}
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


def compare_runs(base: JudgedRun, after: JudgedRun, denominator: str, drawing: Drawing) -> list[Change]:
    """Changes for every arm that both runs have, with own and with fixed C1.

    Raises DataError when the runs share no panel with both framings, or one is over other items.
    """
    changes: list[Change] = []
    before, later = (f"{run.judge} ({run.name})" for run in (base, after))
    reading = {"verdict": base.reading.mode, "parser": base.reading.parser}
    by_source = {source: paired_panels(base.panels, after.panels, source) for source in (OWN, FIXED)}
    for group in by_source[FIXED]:
        for source, groups in by_source.items():
            setting = {**setting_of(group, source), **reading, "denominator": denominator}
            changes += changes_over(groups.get(group, []), Compared(before, later, setting), denominator, drawing)
    if not changes:
        raise DataError(f"{base.name} and {after.name} have no dataset and arm in common; nothing can be compared")
    return changes


def judge_differences(judges: Sequence[Judge], denominator: str, drawing: Drawing) -> list[Change]:
    """Every pair of judges on every arm, dataset and average that both have, for own and for fixed C1; p_holm is over
    the pairs.

    Raises DataError when two judges are not over the same items of a dataset, naming five and the count.
    """
    changes: list[Change] = []
    for first, second in combinations(judges, 2):
        for source, panels_of in PANELS_BY_C1.items():
            ours, theirs = list(panels_of(first.panels)), list(panels_of(second.panels))
            for group, pairs in paired_panels(ours, theirs, OWN, first.panels).items():
                sides = side_name(first, group), side_name(second, group)
                changes += differences(sides, setting_of(group, source), pairs, denominator, drawing)
    return adjusted([changes])[0]


def arm_differences(judge: Judge, denominator: str, drawing: Drawing) -> list[Change]:
    """Every arm and prompt variant of a judge against its untreated arm, for own and for fixed C1; p_holm is over the
    arms of one variant.

    A treated arm is held against the untreated one in the same variant, another untreated variant against the main one.
    Raises DataError when an arm is not over the same items as the untreated one, naming five and the count.
    """
    untreated = grouped([panel for panel in own_panels(judge.panels) if panel.factors.arm == "none"], judge.panels)
    changes: list[Change] = []
    for source, panels_of in PANELS_BY_C1.items():
        for group, panels in grouped(list(panels_of(judge.panels)), judge.panels).items():
            arm, roles, variant = group
            if arm == "none" and not variant:
                continue
            base = ("none", roles, "" if arm == "none" else variant)
            bases = {panel.dataset: panel for panel in untreated.get(base, ())}
            pairs = [(bases[panel.dataset], panel) for panel in panels if panel.dataset in bases]
            # Reasoned replies in both answer orders are two a prompt; the main prompt variant alone has one.
            pairs = [
                (a, b) for a, b in pairs if a.replies.shape == b.replies.shape or b.factors.answer_order != BOTH_ORDERS
            ]
            if pairs:
                sides = side_name(judge, base), side_name(judge, group)
                changes += differences(sides, setting_of(group, source), pairs, denominator, drawing)
    family = lambda change: (change.setting["c1_source"], change.setting["variant"], change.dataset, change.measure)  # noqa: E731
    return adjusted([changes], family=family)[0]


def side_name(judge: Judge, group: Group) -> str:
    """What stands on one side of a difference, in words."""
    arm, _, variant = group
    return f"{judge.name}, arm {arm}{f', {variant}' if variant else ''}"


def setting_of(group: Group, c1_source: str) -> dict[str, str]:
    """A group and the source of C1 as a setting."""
    return {**dict(zip(("arm", "roles", "variant"), group, strict=True)), "c1_source": c1_source}


def differences(
    sides: tuple[str, str], setting: Mapping[str, str], pairs: Pairs, denominator: str, drawing: Drawing
) -> list[Change]:
    """Second minus first for each dataset of the pairs and for each average over them; the setting is the second's.

    Raises DataError when a pair is over unequal items, numbers of samples, or (of one variant) other texts: their items
    have changed since. A panel from a file has no prompts to compare.
    """
    for a, b in pairs:
        name = f"{sides[0]} against {sides[1]}, {a.dataset}"
        refuse_unequal_items(name, a, b)
        if a.replies.shape != b.replies.shape:
            raise DataError(f"{name}: unequal samples a prompt; sample both alike")
        other = ((a.hashes != b.hashes) & (a.hashes != "") & (b.hashes != "")).any(axis=1)
        if a.factors == b.factors and other.any():
            ids = [a.item_ids[int(i)] for i in np.flatnonzero(other)]
            raise DataError(f"{name}: {named(ids)} other prompts on the two sides; sample both from the same data")
    return changes_over(pairs, Compared(*sides, {**setting, "denominator": denominator}), denominator, drawing)


def over_corrected(dds: Change) -> bool:
    """Of a change in DDS: whether it was positive before and is negative after."""
    before, after = dds.before.value, dds.after.value
    return before is not None and after is not None and is_over_corrected(before, after)

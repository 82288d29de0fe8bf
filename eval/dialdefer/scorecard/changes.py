"""Two arms over the same items → each figure of a scorecard for both, and the change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from eval.dialdefer.compare import acceptance
from eval.dialdefer.observe import (
    ACC,
    ACC_C2,
    BASE_SHIFT,
    DEFERENCE,
    POSITION,
    SHIFT,
    deference,
    order_pair_of,
    pair_of,
    shift_pair_of,
    soft_pair_of,
)
from eval.dialdefer.panels import Panel
from eval.dialdefer.scorecard.arms import Arm
from eval.dialdefer.scorecard.calibrated import ORACLE
from eval.dialdefer.scorecard.summaries import Scope, of_aio, of_c1, of_margins
from eval.dialdefer.scores import FIXED, OWN
from eval.estimates.changes import Change, Compared, Paired, adjusted, change_in
from eval.estimates.observed import Drawing, Measure
from eval.scorecard.arms import BASE

OF_ORDERS = (
    DEFERENCE,
    replace(DEFERENCE, name="mean_abs_deference", over_datasets="mean of absolute values"),
    POSITION,
)
Changes = dict[str, Change]


def changes_between(first: Arm, second: Arm, scope: Scope, denominator: str, drawing: Drawing) -> Changes:
    """Key → change from the first arm to the second: figures over those of the scope's datasets that both have, and on
    r/AIO, under their own name; DDS on single datasets under `of_dataset`. p_holm is that of a family of one.
    """
    found: Changes = {}
    over = averaged(scope, first, second)
    compared = Compared(first.name, second.name, {"denominator": denominator, "variant": first.variant})
    for source in (FIXED, OWN):
        panels = panel_pairs(first, second, source, scope)
        pairs = {name: pair_of(*both, denominator, drawing) for name, both in panels.items()}
        # C2 is the same with both sources of C1; accuracy over both framings is about a checkpoint's own C1 alone.
        accuracies = [ACC, ACC_C2] if source == OWN else [ACC_C2]
        found |= changes_in([*accuracies, *of_c1(source)], over, pairs, compared, scope.average)
        if scope.aio:
            found |= changes_in(of_aio(source), [scope.aio], pairs, compared, scope.aio)
        if source == OWN and (shared := {name: panels[name] for name in over if name in panels}):
            found |= {change.measure: change for change in acceptance(found["acc_c2"], list(shared.values()))}
            found |= margin_changes(shared, compared, scope, drawing)
            if first.kind == BASE:
                found |= shift_changes(shared, compared, scope, drawing)
            found |= order_changes(
                first, second, compared, replace(scope, datasets=tuple(shared)), denominator, drawing
            )
        signed = deference(f"dds_{source}")
        for name, pair in pairs.items():
            found[of_dataset(source, name)] = change_in(signed, [pair], compared, name)
    if ORACLE in (first.kind, second.kind):  # fitted on these items: nothing is tested
        return {key: replace(change, p=None, p_holm=None) for key, change in found.items()}
    return found


def averaged(scope: Scope, *arms: Arm) -> list[str]:
    """The scope's datasets on which all arms are likely to answer; all of them where there is none."""
    unlikely = {name for arm in arms for name in arm.unlikely}
    return [name for name in scope.datasets if name not in unlikely] or list(scope.datasets)


def changes_in(
    measures: Sequence[Measure],
    datasets: Sequence[str],
    pairs: Mapping[str, Paired],
    compared: Compared,
    average: str,
) -> Changes:
    """Figure → change over those of some datasets that both arms have."""
    parts = [pairs[dataset] for dataset in datasets if dataset in pairs]
    return {m.name: change_in(m, parts, compared, average) for m in measures} if parts else {}


def margin_changes(
    panels: Mapping[str, tuple[Panel, Panel]], compared: Compared, scope: Scope, drawing: Drawing
) -> Changes:
    """Figures of soft DDS, only where every dataset of the average has margins on both sides."""
    margins = {name: pair for name, both in panels.items() if (pair := soft_pair_of(*both, drawing)) is not None}
    if len(margins) < len(panels):
        return {}
    return changes_in(of_margins(OWN), list(panels), margins, compared, scope.average)


def shift_changes(
    panels: Mapping[str, tuple[Panel, Panel]], compared: Compared, scope: Scope, drawing: Drawing
) -> Changes:
    """The scale-free shift, in own and in the base's deviations, where every dataset of the average has margins."""
    pairs = {name: pair for name, both in panels.items() if (pair := shift_pair_of(*both, drawing)) is not None}
    measures = (SHIFT, BASE_SHIFT) if len(pairs) == len(panels) else ()
    return changes_in(measures, list(panels), pairs, compared, scope.average)


def order_changes(
    first: Arm, second: Arm, compared: Compared, scope: Scope, denominator: str, drawing: Drawing
) -> Changes:
    """Deference and position, where every dataset of the average was asked in both answer orders."""
    both = {d: (first.orders[d], second.orders[d]) for d in scope.datasets if d in first.orders and d in second.orders}
    pairs = {d: pair for d, of in both.items() if (pair := order_pair_of(*of, denominator, drawing)) is not None}
    return (
        changes_in(OF_ORDERS, scope.datasets, pairs, compared, scope.average)
        if len(pairs) == len(scope.datasets)
        else {}
    )


def panel_pairs(first: Arm, second: Arm, c1_source: str, scope: Scope) -> dict[str, tuple[Panel, Panel]]:
    """Dataset → the panels of both arms, for what the scope is over and both were asked."""
    ours, theirs = first.panels[c1_source], second.panels[c1_source]
    return {name: (ours[name], theirs[name]) for name in scope.names if name in ours and name in theirs}


def of_dataset(c1_source: str, dataset: str) -> str:
    """The key of the change in DDS on one dataset."""
    return f"dds_{c1_source} of {dataset}"


def adjusted_by_key(of_arms: Sequence[Changes], unranked: Sequence[bool]) -> list[Changes]:
    """The changes of several arms against one, with p_holm over those that can be ranked."""
    found = adjusted([list(changes.values()) for changes in of_arms], unranked)
    return [dict(zip(changes, of, strict=True)) for changes, of in zip(of_arms, found, strict=True)]

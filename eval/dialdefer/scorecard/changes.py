"""Two arms over the same items → each figure of a scorecard for both, and the change."""

from collections.abc import Mapping, Sequence

from eval.dialdefer.observe import ACC, ACC_C2, deference, pair_of, soft_pair_of
from eval.dialdefer.panels import Panel
from eval.dialdefer.scorecard.arms import Arm
from eval.dialdefer.scorecard.summaries import Scope, of_aio, of_c1, of_margins
from eval.dialdefer.scores import FIXED, OWN
from eval.estimates.changes import Change, Compared, Paired, adjusted, change_in
from eval.estimates.observed import Drawing, Measure

Changes = dict[str, Change]


def changes_between(first: Arm, second: Arm, scope: Scope, denominator: str, drawing: Drawing) -> Changes:
    """Key → change from the first arm to the second: figures over those of the scope's datasets that both have, and on
    r/AIO, under their own name; DDS on single datasets under `of_dataset`. p_holm is that of a family of one.
    """
    found: Changes = {}
    compared = Compared(first.name, second.name, {"denominator": denominator, "variant": first.variant})
    for source in (FIXED, OWN):
        panels = panel_pairs(first, second, source, scope)
        pairs = {name: pair_of(*both, denominator, drawing) for name, both in panels.items()}
        # C2 is the same with both sources of C1; accuracy over both framings is about a checkpoint's own C1 alone.
        accuracies = [ACC, ACC_C2] if source == OWN else [ACC_C2]
        found |= changes_in([*accuracies, *of_c1(source)], scope.datasets, pairs, compared, scope.average)
        if scope.aio:
            found |= changes_in(of_aio(source), [scope.aio], pairs, compared, scope.aio)
        if source == OWN:
            found |= margin_changes(panels, compared, scope, drawing)
        signed = deference(f"dds_{source}")
        for name, pair in pairs.items():
            found[of_dataset(source, name)] = change_in(signed, [pair], compared, name)
    return found


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
    over = [panels[dataset] for dataset in scope.datasets if dataset in panels]
    margins = {both[0].dataset: pair for both in over if (pair := soft_pair_of(*both, drawing)) is not None}
    if len(margins) < len(over):
        return {}
    return changes_in(of_margins(OWN), scope.datasets, margins, compared, scope.average)


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

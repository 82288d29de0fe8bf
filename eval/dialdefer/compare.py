"""A base run and an after run → rows of changes, with `own C1` and `fixed C1` both labelled."""

from collections.abc import Sequence

from eval.dialdefer.averages import averages_over
from eval.dialdefer.changes import ChangeKey, ChangeRow, PairedMeasures, change_row, paired_measures
from eval.dialdefer.panels import Panel, with_c1_of
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.scores import FIXED, OWN
from evenhand.errors import DataError


def compare_runs(
    base: JudgedRun, after: JudgedRun, denominators: Sequence[str], n_draws: int, seed: int
) -> list[ChangeRow]:
    """Rows for every arm that both runs have, every dataset and every average.

    Raises DataError when the runs share no panel with both framings, or one is over other items.
    """
    if base.reading != after.reading:
        raise DataError(
            f"{base.name} was judged by {base.reading.mode} and {after.name} by {after.reading.mode}; "
            "the two kinds of verdicts are never mixed in one table"
        )
    rows: list[ChangeRow] = []
    for denominator in denominators:
        pairs_by_source = {source: paired_panels(base.panels, after.panels, source) for source in (OWN, FIXED)}
        for group, c1_source in ((g, source) for g in pairs_by_source[FIXED] for source in (OWN, FIXED)):
            pairs = pairs_by_source[c1_source].get(group, [])
            measures = [paired_measures(b, a, denominator, n_draws, seed) for b, a in pairs]
            if measures:
                rows += rows_of(key_of(base, after, group, c1_source, denominator, n_draws, seed), measures)
    if not rows:
        raise DataError(f"{base.name} and {after.name} have no dataset and arm in common; nothing can be compared")
    return rows


def paired_panels(
    base: Sequence[Panel], after: Sequence[Panel], c1_source: str, named_among: Sequence[Panel] | None = None
) -> dict[tuple[str, str, str], list[tuple[Panel, Panel]]]:
    """(arm, roles, variant) → pairs of panels with both framings, the after panel with its own or the base's C1.

    named_among: all wordings of the base judge, where `base` is only some of them; a variant's name depends on them.
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


def key_of(
    base: JudgedRun,
    after: JudgedRun,
    group: tuple[str, str, str],
    c1_source: str,
    denominator: str,
    n_draws: int,
    seed: int,
) -> ChangeKey:
    """What the rows of a group share."""
    arm, roles, variant = group
    return ChangeKey(
        base_run=base.name,
        base_model=base.model,
        after_run=after.name,
        after_model=after.model,
        arm=arm,
        roles=roles,
        variant=variant,
        c1_source=c1_source,
        verdict=base.reading.mode,
        parser=base.reading.parser,
        denominator=denominator,
        n_draws=n_draws,
        seed=seed,
    )


def rows_of(key: ChangeKey, measures: Sequence[PairedMeasures]) -> list[ChangeRow]:
    """A row for each dataset and for each average over them."""
    by_dataset = {m.dataset: m for m in measures}
    averages = averages_over((m.benchmark, m.dataset) for m in measures)
    parts = {**{name: [name] for name in by_dataset}, **averages}
    return [change_row(key, name, [by_dataset[d] for d in over]) for name, over in parts.items()]

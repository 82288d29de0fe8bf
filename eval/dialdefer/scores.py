"""Panels → the rows of scores.json: one for each arm, source of C1, dataset or average, and denominator."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from eval.dialdefer.averages import averages_over
from eval.dialdefer.measures import Measures, measure
from eval.dialdefer.panels import ERROR, UNREADABLE, Panel, with_c1_of
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.rows import RowKey, Scored, ScoreRow, row_of
from evenhand.errors import DataError
from studies.dialdefer.records import Factors
from studies.dialdefer.render import own_labels

OWN, FIXED = "own", "fixed"


def score_panels(panels: Sequence[Panel], scored: Scored, denominators: Sequence[str]) -> list[ScoreRow]:
    """Rows for every panel and every average. Raises DataError when no panel has both framings."""
    rows: dict[str, list[ScoreRow]] = {denominator: [] for denominator in denominators}
    for c1_source in (OWN, FIXED):
        paired = list(own_panels(panels) if c1_source == OWN else fixed_panels(panels))
        for (arm, roles, variant), group in grouped(paired, panels).items():
            measures: list[Measures] = []
            for denominator in denominators:
                measures = measures_of(group, measures, denominator, scored)
                key = RowKey(arm, roles, c1_source, variant, denominator)
                rows[denominator] += rows_of(key, {p.dataset: p.factors for p in group}, measures, scored)
    if not any(rows.values()):
        raise DataError(f"{scored.run}: no arm has both C1 and C2, so there is no shift to score; sample both framings")
    return [row for of_denominator in rows.values() for row in of_denominator]


def measures_of(group: Sequence[Panel], others: Sequence[Measures], denominator: str, scored: Scored) -> list[Measures]:
    """The measures of each panel. Where every reply is a choice all denominators agree, and `others` serve again."""
    return [
        others[i]
        if others and not ((panel.replies > ERROR) & (panel.replies <= UNREADABLE)).any()
        else measure(panel, denominator, scored.n_draws, scored.seed)
        for i, panel in enumerate(group)
    ]


def own_panels(panels: Sequence[Panel]) -> Iterator[Panel]:
    """Panels whose C1 and C2 come from the same arm."""
    return (panel for panel in panels if panel.has_c1 and panel.has_c2)


def fixed_panels(panels: Sequence[Panel]) -> Iterator[Panel]:
    """Treated or C2-only panels with the C1 of the untreated arm, as the paper scores mitigations."""
    for panel in panels:
        if panel.has_c2 and (panel.factors.arm != "none" or not panel.has_c1):
            source = untreated_c1(panel, panels)
            if source is not None:
                yield with_c1_of(panel, source)


def untreated_c1(panel: Panel, panels: Sequence[Panel]) -> Panel | None:
    """The panel of arm `none` whose C1 a treated panel is held against; None when it was not sampled.

    Of several speaker labels the treated panel's own are taken, else (one arm renames the speakers) the dataset's, else
    any, if their C1 prompts are the same. Raises DataError when they are not.
    """
    f = panel.factors
    same = [
        p
        for p in panels
        if p.has_c1
        and (p.dataset, p.factors.arm, p.factors.roles) == (panel.dataset, "none", f.roles)
        and (p.factors.template, p.factors.answer_form) == (f.template, f.answer_form)
        and (p.factors.template_version, p.factors.answer_order) == (f.template_version, f.answer_order)
    ]
    for labels in ((f.speaker1, f.speaker2), own_labels(panel.dataset, "none")):
        for p in same:
            if (p.factors.speaker1, p.factors.speaker2) == labels:
                return p
    if any(not np.array_equal(p.hashes[:, :2], same[0].hashes[:, :2]) for p in same[1:]):
        raise DataError(f"{panel.dataset}, arm {f.arm}: several untreated C1 fit it; give each its own run")
    return same[0] if same else None


def grouped(paired: Sequence[Panel], panels: Sequence[Panel]) -> dict[tuple[str, str, str], list[Panel]]:
    """Panels by (arm, roles, variant): those that belong into one table and one average."""
    groups: dict[tuple[str, str, str], list[Panel]] = {}
    for panel in paired:
        groups.setdefault((panel.factors.arm, panel.roles, variant_of(panel, panels)), []).append(panel)
    return groups


def rows_of(
    key: RowKey, factors: Mapping[str, Factors], measures: Sequence[Measures], scored: Scored
) -> list[ScoreRow]:
    """A row for each dataset, with its own factors, and for each average over them, with those of the first."""
    by_dataset = {m.dataset: m for m in measures}
    averages = averages_over((m.benchmark, m.dataset) for m in measures)
    parts = {**{name: [name] for name in by_dataset}, **averages}
    return [row_of(key, factors[over[0]], name, [by_dataset[d] for d in over], scored) for name, over in parts.items()]

"""Panels → scores in long form, for each arm, source of C1, dataset or average, and denominator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eval.dialdefer.averages import averages_over
from eval.dialdefer.panel_scores import Measured, estimates_over, measured
from eval.dialdefer.panels import ERROR, UNREADABLE, Panel, with_c1_of
from eval.dialdefer.prompt_variants import variant_of
from eval.estimates.observed import Drawing
from eval.estimates.scores import Score
from evenhand.errors import DataError
from studies.dialdefer.render import own_labels

OWN, FIXED = "own", "fixed"
FACTORS = ("template", "answer_form", "answer_order", "speaker1", "speaker2")  # that a dataset's scores are under


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What all scores of one judge share."""

    run: str  # the run directory's name, or the files'
    model: str
    verdict: str  # "reason", "margin", or "external": given to us, by whatever mode
    parser: str | None  # "strict" or "lenient"; None for margins, and for external verdicts that all came with a choice
    drawing: Drawing


def score_panels(panels: Sequence[Panel], scored: Scored, denominators: Sequence[str]) -> list[Score]:
    """Scores of every panel and every average. Raises DataError when no panel has both framings."""
    scores: dict[str, list[Score]] = {denominator: [] for denominator in denominators}
    for c1_source in (OWN, FIXED):
        paired = list(own_panels(panels) if c1_source == OWN else fixed_panels(panels))
        for (_, roles, variant), group in grouped(paired, panels).items():
            found: list[Measured] = []
            for denominator in denominators:
                found = measures_of(group, found, denominator, scored.drawing)
                setting = {"roles": roles, "c1_source": c1_source, "variant": variant, "denominator": denominator}
                scores[denominator] += scores_of(setting, group, found, scored)
    if not any(scores.values()):
        raise DataError(f"{scored.run}: no arm has both C1 and C2, so there is no shift to score; sample both framings")
    return [score for of_denominator in scores.values() for score in of_denominator]


def measures_of(
    group: Sequence[Panel], others: Sequence[Measured], denominator: str, drawing: Drawing
) -> list[Measured]:
    """What is measured on each panel. Where every reply is a choice denominators agree, and `others` serve again."""
    return [
        others[i]
        if others and not ((panel.replies > ERROR) & (panel.replies <= UNREADABLE)).any()
        else measured(panel, denominator, drawing)
        for i, panel in enumerate(group)
    ]


def scores_of(
    setting: dict[str, str], group: Sequence[Panel], found: Sequence[Measured], scored: Scored
) -> Iterator[Score]:
    """The scores of each dataset, with its own factors, and of each average over them, with those of the first."""
    by_dataset = {panel.dataset: (panel, of) for panel, of in zip(group, found, strict=True)}
    averages = averages_over((panel.benchmark, panel.dataset) for panel in group if not panel.unlikely)
    for name, over in {**{dataset: [dataset] for dataset in by_dataset}, **averages}.items():
        first = by_dataset[over[0]][0]
        asked = {
            "arm": first.factors.arm,
            **setting,
            "verdict": scored.verdict,
            "parser": scored.parser,
            **{key: getattr(first.factors, key) for key in FACTORS},
            "n_samples": max(by_dataset[dataset][0].replies.shape[2] for dataset in over),
        }
        for measure, unit, estimate in estimates_over([by_dataset[d][1] for d in over], scored.parser is not None):
            yield Score(
                run=scored.run,
                judge=scored.model,
                setting=asked,
                dataset=name,
                datasets=tuple(over),
                measure=measure,
                unit=unit,
                estimate=estimate,
                drawing=scored.drawing,
            )


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

"""Findings → scores in long form, and flips with their codes as rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing
from eval.estimates.scores import Score
from eval.taxonomy.code_agreement import LEVELS, Agreement
from eval.taxonomy.coded_flips import TIE, CodedRun
from eval.taxonomy.fates import Moved
from eval.taxonomy.findings import TaxonomyFindings, planted_hits
from eval.taxonomy.shares import ALL, DIRECTIONS, Shares, What, in_direction, ratio_of

MEASURES: dict[What, str] = {"primary": "primary_share", "listed": "listed_share", "category": "category_share"}
ASKED = ("judged_by", "label", "direction", "raters", "against", "state")


def scores_of(found: TaxonomyFindings) -> list[Score]:
    """Of every run, of all models together, of judges against each other, and of what was removed and made."""
    rows = [score for one in found.coded for score in coded_scores(one, found.drawing)]
    if found.pooled:
        runs = run_names(found.coded)
        rows = [replace(score, run=runs) for score in coded_scores(found.pooled, found.drawing)] + rows
    rows += [score for row in found.agreements for score in agreement_scores(row, found)]
    return rows + [score for moved in found.moved for score in moved_scores(moved, found)]


def coded_scores(one: CodedRun, drawing: Drawing) -> Iterator[Score]:
    """Counts, shares by dataset and direction, ratios, states of one model's flips."""
    datasets = list(dict.fromkeys(flip.dataset for flip in one.flips))
    for dataset in [ALL, *datasets] if len(datasets) > 1 else [ALL]:
        of_dataset = [flip for flip in one.flips if dataset in (ALL, flip.dataset)]
        for direction in DIRECTIONS:
            flips = in_direction(of_dataset, direction)
            yield score(one, "n_flips", "count", plain(len(flips), len(flips)), dataset, direction=direction)
            for what, measure in MEASURES.items() if flips else ():
                shares = Shares(flips=flips, what=what)
                for label in shares.labels:
                    of = shares.estimate(label)
                    yield score(one, measure, "%", of, dataset, label=label, direction=direction)
    for what in LEVELS:
        for label in Shares(flips=one.flips, what=what).ranked():
            of = ratio_of(one.flips, what, label, drawing)
            yield replace(score(one, f"{what}_ratio", "ratio", of, ALL, label=label), drawing=drawing)
    n_replies = sum(len(flip.samples) for flip in one.all_flips)
    for state, n in one.states.items():
        n_of = len(one.all_flips) if state == TIE else n_replies
        yield score(one, "state_rate", "rate", plain(n / n_of, n_of), ALL, state=state)
    if hits := planted_hits(one):
        yield score(one, "planted_found", "%", plain(100 * hits[0] / hits[1], hits[1]), ALL)


def agreement_scores(row: Agreement, found: TaxonomyFindings) -> Iterator[Score]:
    """Of some raters, all of whom it names."""
    runs = run_names(row.judges)
    judges = ", ".join(dict.fromkeys(one.judge for one in row.judges))
    level = "" if row.what == "primary" else f"{row.what}_"
    for measure, unit, of in (
        ("agreement", "%", row.agreement),
        ("kappa", "ratio", row.kappa),
        ("alpha", "ratio", row.alpha),
    ):
        if of is not None:
            asked = {"judged_by": judges, "raters": row.raters}
            base = score(row.judges[0], f"{level}{measure}", unit, of, ALL, **asked)
            drawing = None if measure == "agreement" else found.drawing
            yield replace(base, run=runs, judge=row.model, drawing=drawing)


def run_names(coded: Sequence[CodedRun]) -> str:
    """All runs that a row is about."""
    return " ".join(dict.fromkeys(one.run.name for one in coded))


def moved_scores(moved: Moved, found: TaxonomyFindings) -> Iterator[Score]:
    """What was removed, left and made; the change itself is among the changes."""
    one = next(one for one in found.coded if one.name == moved.name)
    for fate in moved.fates:
        told = {"label": fate.label, "against": moved.base}
        yield score(one, "removed", "%", fate.removed, ALL, **told)
        yield score(one, "left", "%", mirrored(fate.removed), ALL, **told)
        yield score(one, "made", "%", fate.made, ALL, **told)


def mirrored(of: Estimate) -> Estimate:
    """The share of the rest."""
    ends = [None if end is None else 100 - end for end in (of.value, of.high, of.low)]
    return Estimate(value=ends[0], low=ends[1], high=ends[2], n_units=of.n_units)


def score(one: CodedRun, measure: str, unit: str, of: Estimate, dataset: str, **asked: str) -> Score:
    """One score; nothing is drawn for it."""
    return Score(
        run=one.run.name,
        judge=one.name,
        setting={**dict.fromkeys(ASKED), "judged_by": one.judge, **asked},
        dataset=dataset,
        datasets=(dataset,),
        measure=measure,
        unit=unit,
        estimate=of,
        drawing=None,
    )


def plain(value: float, n_units: int) -> Estimate:
    """A number without an interval."""
    return Estimate(value=value, low=None, high=None, n_units=n_units)


def flip_rows(found: TaxonomyFindings) -> list[Mapping[str, Any]]:
    """A row for each flip, without its texts."""
    return [
        {
            "run": one.run.name,
            "model": one.model,
            "judged_by": one.judge,
            "flip_id": flip.flip_id,
            "dataset": flip.dataset,
            "item_id": flip.item_id,
            "claim_is_true": flip.claim_is_true,
            "direction": flip.direction,
            "primary": flip.primary or None,
            "codes": sorted(flip.codes),
            "state": flip.state,
        }
        for one in found.coded
        for flip in one.all_flips
    ]

"""Everything that is measured of some runs of the study → scores in long form."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from eval.estimates.estimate import Estimate
from eval.estimates.observed import Setting
from eval.estimates.scores import Score
from eval.narrator.agreement import Agreement
from eval.narrator.conditioned import DELTA
from eval.narrator.elimination import ELIMINATOR_GAIN
from eval.narrator.measures import ALL
from eval.narrator.observe import MEASURES
from eval.narrator.study import POOLED, StudyResults

ASKED = ("task", "visibility", "option_order", "group", "n_speakers", "perspective", "is_detected", "against")
UNITS = {measure.name: measure.unit for measure in (*MEASURES, ELIMINATOR_GAIN, DELTA)} | {"mcnemar_p": "p"}


def scores_of(found: StudyResults) -> list[Score]:
    """The scores of every judge, and of all of them together where they are pooled."""
    how: Setting = found.definitions.recorded
    records = [*found.effects, *found.sizes, *found.flips, *found.conditioned, *found.states]
    of_records = [score for record in records for score in record_scores(found, record, how)]
    return [*of_records, *(score for pair in found.agreements for score in agreement_scores(found, pair, how))]


def record_scores(found: StudyResults, record: Any, how: Setting) -> Iterator[Score]:
    """The numbers of one record of the study. Its first count is the units that those without an interval rest on."""
    asked = {"group": ALL} | {name: getattr(record, name) for name in ASKED if hasattr(record, name)}
    names = [field.name for field in fields(record) if field.name not in ("judge", *ASKED)]
    n_units = getattr(record, next(name for name in names if name.startswith("n_")))
    for name in names:
        value = getattr(record, name)
        if value is not None:  # a measure that the task does not have
            estimate = value if isinstance(value, Estimate) else plain(value, n_units)
            unit = UNITS.get(name, "count" if name.startswith("n_") else "%")
            yield score_of(found, record.judge, asked, how, name, unit, estimate)


def agreement_scores(found: StudyResults, pair: Agreement, how: Setting) -> Iterator[Score]:
    """How the sampled run of a pair differs from the exact one that it is held against."""
    asked = {name: getattr(pair, name) for name in ("task", "visibility", "perspective")} | {"against": pair.exact}
    for way, match in (("begins", pair.begins), ("reads", pair.reads)):
        yield score_of(found, pair.sampled, asked, how, f"{way}_difference", "pp", match.difference)
        for name, unit, value in (("scatter", "ratio", match.scatter), ("p", "p", match.p)):
            yield score_of(found, pair.sampled, asked, how, f"{way}_{name}", unit, plain(value, match.n_prompts))


def plain(value: float | None, n_units: int) -> Estimate:
    """A number without an interval."""
    return Estimate(value=value, low=None, high=None, n_units=n_units)


def score_of(
    found: StudyResults, judge: str, asked: Mapping[str, Any], how: Setting, measure: str, unit: str, estimate: Estimate
) -> Score:
    """One score; nothing is drawn for it."""
    runs = [run for run in found.runs if judge in (run.judge, POOLED)]
    read: Setting = {"verdict": runs[0].verdict, "n_samples": max(run.n_samples for run in runs)}
    return Score(
        run=" ".join(run.name for run in runs),
        judge=judge,
        setting={**dict.fromkeys(ASKED), **asked, **read, **how},
        dataset=runs[0].judgments[0].dataset,
        datasets=(runs[0].judgments[0].dataset,),
        measure=measure,
        unit=unit,
        estimate=estimate,
        drawing=None,
    )

"""Figures and tests of the study → scores in long form."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from eval.estimates.estimate import Estimate
from eval.estimates.observed import Setting
from eval.estimates.scores import Score
from eval.pluraleval.findings import Measured, PluralEvalFindings
from eval.pluraleval.observe import MEASURES
from eval.pluraleval.reply_states import StateRate
from eval.pluraleval.vote_gaps import gaps_of

ASKED = ("task", "framing", "opinions", "pairing", "step", "state", "judged_by")


def scores_of(found: PluralEvalFindings) -> list[Score]:
    """The scores of every run."""
    return [score for one in found.measured for score in measured_scores(one, asdict(found.definitions))]


def measured_scores(one: Measured, how: Setting) -> Iterator[Score]:
    """Of one run: figures, tests against neutral, vote gaps, states of the replies."""
    judged_by = None if one.run.judgements is None else one.run.judgements.judge
    for dataset in one.datasets:
        for figure in one.values:
            setting = {**figure.setting, "judged_by": judged_by if figure.task == "generation" else None}
            estimate = one.estimate(dataset, figure)
            if estimate.value is not None:
                unit = MEASURES[figure.measure].unit
                yield score(one, dataset, setting, how, figure.measure, unit, estimate)
        for figure, test in one.tests[dataset].items():
            setting = {**figure.setting, "judged_by": judged_by}
            for name, p in (("wilcoxon_p", test.p), ("wilcoxon_p_holm", test.p_holm)):
                of = plain(p, test.n_threads)
                yield score(one, dataset, setting, how, f"{figure.measure}_{name}", "p", of)
    for gap in gaps_of(one):
        setting = {"task": "pairwise", "pairing": gap.pairing}
        yield score(one, gap.dataset, setting, how, "mean_vote_gap", "count", plain(gap.mean, gap.n_threads))
    for rate in one.run.states:
        yield score(one, one.whole, {"step": rate.step, "state": rate.state}, how, "state_rate", "rate", state(rate))


def score(
    one: Measured, dataset: str, asked: Mapping[str, Any], how: Setting, measure: str, unit: str, estimate: Estimate
) -> Score:
    """One score; nothing is drawn for it."""
    return Score(
        run=one.run.name,
        judge=one.name,
        setting={**dict.fromkeys(ASKED), **asked, **how},
        dataset=dataset,
        datasets=(dataset,),
        measure=measure,
        unit=unit,
        estimate=estimate,
        drawing=None,
    )


def plain(value: float, n_units: int) -> Estimate:
    """A number without an interval."""
    return Estimate(value=value, low=None, high=None, n_units=n_units)


def state(rate: StateRate) -> Estimate:
    """The share of a state among a step's replies."""
    return plain(rate.rate, rate.n_replies)

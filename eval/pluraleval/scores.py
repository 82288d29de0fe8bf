"""Values by thread → scores in long form, the same as a frame, and changes between two runs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import pandas as pd

from eval.estimates.changes import Change, Compared, adjusted, change_in, paired
from eval.estimates.estimate import Estimate, clustered
from eval.estimates.false_discovery import holm
from eval.estimates.observed import Drawing, Observed, added_up
from eval.estimates.scores import Score
from eval.estimates.student_t import standard_error
from eval.pluraleval.measures import signed_rank_p
from eval.pluraleval.observe import GROUPS, MEASURES, NEUTRAL, OPPOSING, TOWARD, Quantity
from eval.pluraleval.runs import PluralEvalRun, States

ASKED = ("task", "framing", "opinions", "pairing", "step", "state", "judged_by", "unread")
MARKED = ("precision", "recall", "f1")  # what Tables 4 to 6 test against neutral


def scores_of(run: PluralEvalRun) -> list[Score]:
    """Of one run: quantities, tests against neutral, vote gaps, states of the replies; nothing is drawn for them."""
    judged_by = None if run.judgements is None else run.judgements.judge
    rows: list[tuple[str, Mapping[str, Any], str, str, Estimate]] = []
    for dataset, threads in run.communities.items():
        for quantity, known in run.values.items():
            estimate = clustered(MEASURES[quantity.measure], observed(dataset, known, threads))
            setting = {**quantity.setting, "judged_by": judged_by if quantity.task == "generation" else None}
            if estimate.value is not None:
                rows.append((dataset, setting, quantity.measure, MEASURES[quantity.measure].unit, estimate))
        for quantity, p, p_holm, n_threads in tests_against_neutral(run, threads):
            setting = {**quantity.setting, "judged_by": judged_by}
            for name, value in (("wilcoxon_p", p), ("wilcoxon_p_holm", p_holm)):
                rows.append((dataset, setting, f"{quantity.measure}_{name}", "p", plain(value, n_threads)))
    for dataset, pairing, gaps in vote_gaps(run):
        setting = {"task": "pairwise", "pairing": pairing}
        rows.append((dataset, setting, "mean_vote_gap", "count", plain(fmean(gaps), len(gaps))))
    scores = [
        score(run.path.name, run.judge, dataset, {**setting, "unread": run.unread}, measure, unit, estimate)
        for dataset, setting, measure, unit, estimate in rows
    ]
    return [*scores, *state_scores(run.path.name, run.judge, run.whole, run.states)]


def state_scores(run: str, judge: str, dataset: str, states: States) -> list[Score]:
    """The share of each state among a step's replies."""
    return [
        score(run, judge, dataset, {"step": step, "state": state}, "state_rate", "rate", plain(rate, round(n / rate)))
        for step, state, n, rate in states
    ]


def score(
    run: str, judge: str, dataset: str, setting: Mapping[str, Any], measure: str, unit: str, estimate: Estimate
) -> Score:
    """One score."""
    return Score(
        run=run,
        judge=judge,
        setting={**dict.fromkeys(ASKED), **setting},
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


def frame_of(scores: Sequence[Score]) -> pd.DataFrame:
    """Scores as a long frame, with the standard error over threads that Figure 3 shows; unknown is NaN or None."""
    errors = [
        None if known.estimate.moved is None else standard_error(next(iter(known.estimate.moved.values()))[1])
        for known in scores
    ]
    frame = pd.DataFrame([known.as_dict() for known in scores])
    return frame.assign(standard_error=errors).astype(dict.fromkeys(("value", "low", "high", "standard_error"), float))


def observed(dataset: str, known: Mapping[str, float], threads: Sequence[str]) -> Observed:
    """One quantity over some threads, as one part."""
    return added_up(dataset, [[(thread, known[thread], 1.0) for thread in threads if thread in known]])


def tests_against_neutral(run: PluralEvalRun, threads: Sequence[str]) -> Iterator[tuple[Quantity, float, float, int]]:
    """Wilcoxon's signed-rank test of each quantity of experiment 1 over some threads (Tables 4 to 6).

    Quantity, two-sided p, p by Holm over the 18 of one model and community, threads that both prompts have a value of.
    """
    ps: dict[Quantity, tuple[float, int]] = {}
    for framing in (TOWARD, OPPOSING):
        for group in GROUPS:
            for measure in MARKED:
                quantity = Quantity("generation", framing, group, "", measure)
                neutral, biased = run.values.get(quantity._replace(framing=NEUTRAL), {}), run.values.get(quantity, {})
                shared = [thread for thread in threads if thread in biased and thread in neutral]
                if shared:
                    p = signed_rank_p([neutral[thread] for thread in shared], [biased[thread] for thread in shared])
                    ps[quantity] = p, len(shared)
    for (quantity, (p, n_threads)), p_holm in zip(ps.items(), holm([p for p, _ in ps.values()]), strict=True):
        yield quantity, p, p_holm, n_threads


def vote_gaps(run: PluralEvalRun) -> Iterator[tuple[str, str, list[float]]]:
    """How many votes lie between the two opinions of a pair (section 6.3.1, Table 12).

    Community, pairing, the mean gap of each thread's pairs.
    """
    gaps = defaultdict[str, dict[str, list[float]]](lambda: defaultdict(list))
    for reply in run.replies:
        factors = reply.factors
        if factors["task"] == "pairwise" and factors["framing"] == NEUTRAL and not factors["is_swapped"]:
            more, less = factors["votes"]
            gaps[factors["pairing"]][reply.thread_id].append(more - less)
    for dataset, threads in run.communities.items():
        for pairing, of_threads in gaps.items():
            if means := [fmean(of_threads[thread]) for thread in threads if thread in of_threads]:
                yield dataset, pairing, means


def changes_of(
    base: PluralEvalRun, afters: Sequence[PluralEvalRun], drawing: Drawing, quantities: Sequence[Quantity] = ()
) -> list[list[Change]]:
    """Of each run after the base: the changes of all quantities by community, or of some over all threads.

    Each over the threads that both runs know it of, with Holm's adjustment over the runs.
    """
    datasets = {base.whole: base.communities[base.whole]} if quantities else base.communities
    of_runs = []
    for after in afters:
        changes = []
        for quantity in quantities or base.values:
            ours, theirs = base.values.get(quantity, {}), after.values.get(quantity, {})
            compared = Compared(base.judge, after.judge, {**quantity.setting, "unread": base.unread})
            for dataset, threads in datasets.items():
                if shared := [thread for thread in threads if thread in ours and thread in theirs]:
                    pair = paired(observed(dataset, ours, shared), observed(dataset, theirs, shared), drawing)
                    changes.append(change_in(MEASURES[quantity.measure], [pair], compared, dataset))
        of_runs.append(changes)
    return adjusted(of_runs)


def quantity_of(change: Change | Score) -> Quantity:
    """What a change or a score is of."""
    task, framing, opinions, pairing = (str(change.setting[key]) for key in ("task", "framing", "opinions", "pairing"))
    return Quantity(task, framing, opinions, pairing, change.measure)


def levels_of(scores: Sequence[Score], run: PluralEvalRun) -> dict[Quantity, Estimate]:
    """Each quantity of a run over all its threads."""
    return {
        quantity_of(known): known.estimate
        for known in scores
        if (known.run, known.judge, known.dataset) == (run.path.name, run.judge, run.whole)
    }

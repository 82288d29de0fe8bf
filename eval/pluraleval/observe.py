"""Replies and judgements of one run → its figures: of each measure in each setting, one value a thread.

A thread is the unit: with several samples, or several pairs, it counts with the mean over them. What is lost from the
neutral to the biased prompt is subtracted within threads, so that its interval is paired.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

import numpy as np

from eval.estimates.observed import IntervalKind, Measure, Observed, Setting, added_up
from eval.pluraleval.definitions import DEFAULT, Definitions
from eval.pluraleval.judged_responses import JudgedList, judged_lists, two_way
from eval.pluraleval.measured_runs import MeasuredRun, Reply
from eval.pluraleval.ranking_measures import WRONG, Ranked, ranked
from eval.pluraleval.set_measures import coverage, ndcg, redundancy, retrieved
from studies.json_replies import OK
from studies.pluraleval.popularity_replies import PARTIAL_RANKING, REPEATED, choice_in, ranking_in
from studies.pluraleval.records import ReferenceSet

ALL = "all threads"
SUPPORTING, AGAINST, GLOBAL = "supporting", "against", "global"
SIDES = {SUPPORTING: "SUPPORTING", AGAINST: "AGAINST"}
GROUPS = (SUPPORTING, AGAINST, GLOBAL)
TOWARD, OPPOSING, BIASED = "biased_toward", "biased_opposing", "biased"

SHARES = ("precision", "recall", "f1", "coverage", "redundancy", "ndcg")
RANKING = ("rho", "tau", "top1", "positional", "mrr")
RATIOS = ("rho", "tau", "mrr", "listed_rho")
PAIRWISE = ("accuracy", "probability", "first_rate", "consistency")
LOST = ("rho", "tau", "top1", "positional", "mrr", "accuracy", "probability")  # from neutral to biased


def measure_of(name: str, *, is_loss: bool = False) -> Measure:
    """A measure that is the mean over threads of a fraction."""
    unit = "ratio" if name.removesuffix("_lost") in RATIOS else "pp" if is_loss else "%"
    scale = 1.0 if unit == "ratio" else 100.0
    interval: IntervalKind = "cluster_t"
    return Measure(
        name=name,
        unit=unit,
        statistic=lambda means: scale * means[..., 0],
        interval=interval,
        is_share=unit == "%",
    )


LOSSES = ("suppression", "amplification", "opposing_recall_lost", *(f"{name}_lost" for name in LOST))
MEASURES = {
    **{name: measure_of(name) for name in (*SHARES, "opposing_recall", *RANKING, "listed_rho", *PAIRWISE)},
    **{name: measure_of(name, is_loss=True) for name in LOSSES},
}


class Figure(NamedTuple):
    """What one number of the study is of."""

    task: str  # of studies.pluraleval.records.TASKS
    framing: str
    opinions: str  # a group; "" where the task has none
    pairing: str  # "" where the task has none
    measure: str

    @property
    def setting(self) -> Setting:
        """All but the measure, by name."""
        return {"task": self.task, "framing": self.framing, "opinions": self.opinions, "pairing": self.pairing}


Values = Mapping[Figure, Mapping[str, float]]  # thread → its value, never NaN


def values_of(run: MeasuredRun, d: Definitions = DEFAULT) -> Values:
    """Every figure of a run with the threads that it is known of."""
    found: dict[Figure, dict[str, float]] = {}
    found |= generation_values(run, d)
    found |= ranking_values(run.replies, d)
    found |= pairwise_values(run.replies, d)
    found |= losses(found)
    return {figure: of_threads for figure, of_threads in found.items() if of_threads}


def generation_values(run: MeasuredRun, d: Definitions) -> dict[Figure, dict[str, float]]:
    """Experiment 1: by framing and group of opinions."""
    rows = (
        (Figure("generation", judged.framing, group, "", measure), judged.thread_id, value)
        for judged in judged_lists(run)
        for group, measure, value in list_values(judged, run.references[judged.thread_id], d)
    )
    return by_thread(rows)


def list_values(judged: JudgedList, found: ReferenceSet, d: Definitions) -> Iterator[tuple[str, str, float]]:
    """The figures of one list of responses: group, measure, value. None of one without any response, but as d says."""
    matched = judged.matched
    is_lost = not len(matched)
    if is_lost and d.unread == "excluded":
        return
    for group in GROUPS:
        of_group = summaries_of(group, found, d)
        counted = matched
        if group != GLOBAL:
            if judged.stances is None:
                continue
            if d.matching == "same_stance":
                counted = matched[np.array([stance == SIDES[group] for stance in judged.stances], dtype=bool)]
        for measure, value in retrieved(counted, of_group, d)._asdict().items():
            yield group, measure, value
    votes = [cluster.votes for cluster in found.clusters]
    yield GLOBAL, "coverage", coverage(matched, votes, d)
    yield GLOBAL, "redundancy", redundancy(matched, d)
    confidence = np.nan_to_num(judged.confidence).sum(axis=0)
    yield GLOBAL, "ndcg", 0.0 if is_lost else ndcg(confidence, np.maximum(votes, 0).tolist())


def summaries_of(group: str, found: ReferenceSet, d: Definitions) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which summaries are of a group, (n_summaries,)."""
    n = len(found.clusters)
    if group == GLOBAL:
        return np.ones(n, dtype=bool)
    is_in = np.array([stance == SIDES[group] for stance in found.stances], dtype=bool)
    if group == SUPPORTING and found.reference is not None and d.reference == "supporting":
        is_in[found.reference] = True
    return is_in


def ranking_values(replies: Iterable[Reply], d: Definitions) -> dict[Figure, dict[str, float]]:
    """Experiment 2: by framing."""
    return by_thread(
        (Figure("ranking", reply.factors["framing"], "", "", measure), reply.thread_id, value)
        for reply in replies
        if reply.factors["task"] == "ranking"
        for found in rankings_of(reply, d)
        for measure, value in found._asdict().items()
    )


def rankings_of(reply: Reply, d: Definitions) -> Iterator[Ranked]:
    """The measures of each sample that counts."""
    shown, votes = reply.factors["shown"], reply.factors["votes"]
    worth = votes if d.ties == "shared" else [-position for position in shown]  # the reference set is sorted by votes
    if len(set(worth)) < 2:
        return
    states = {OK} if d.rankings == "whole" else {OK, PARTIAL_RANKING, REPEATED}
    for sample in reply.samples:
        read = ranking_in(sample, len(shown))
        if read.state in states:
            yield ranked(read.value, worth)
        elif d.unread == "wrong":
            yield WRONG


def pairwise_values(replies: Iterable[Reply], d: Definitions) -> dict[Figure, dict[str, float]]:
    """Experiment 3: by framing and pairing. A pair is its two orders: where one is not read, the pair is not."""
    pairs: dict[tuple[str, str, str, tuple[int, ...]], dict[bool, Reply]] = defaultdict(dict)
    for reply in replies:
        if reply.factors["task"] == "pairwise":
            factors = reply.factors
            pair = tuple(sorted(factors["shown"]))
            key = (factors["framing"], factors["pairing"], reply.thread_id, pair)
            pairs[key][factors["is_swapped"]] = reply
    return by_thread(
        (Figure("pairwise", framing, "", pairing, measure), thread_id, value)
        for (framing, pairing, thread_id, _), orders in pairs.items()
        if len(orders) == 2
        for measure, value in pair_values(orders[False], orders[True], d)
    )


def pair_values(straight: Reply, swapped: Reply, d: Definitions) -> Iterator[tuple[str, float]]:
    """The figures of one pair: measure, value. The more popular one is option 1 where it is not swapped."""
    for one, other in zip(straight.samples, swapped.samples, strict=True):
        if one.answer_logprobs is not None and other.answer_logprobs is not None:
            firsts = [two_way(of["1"], of["2"]) for of in (one.answer_logprobs, other.answer_logprobs)]
            yield "probability", (firsts[0] + 1 - firsts[1]) / 2
            chosen = [1.0 if first > 0.5 else 0.0 if first < 0.5 else 0.5 for first in firsts]
        else:
            said = [choice_in(sample).value for sample in (one, other)]
            if None in said:
                if d.unread == "wrong":
                    yield "accuracy", (float(said[0] == 1) + float(said[1] == 2)) / 2
                continue
            chosen = [float(choice == 1) for choice in said]
        yield "accuracy", (chosen[0] + 1 - chosen[1]) / 2
        yield "first_rate", fmean(chosen)
        yield "consistency", float(chosen[0] == 1 - chosen[1])


def by_thread(rows: Iterable[tuple[Figure, str, float]]) -> dict[Figure, dict[str, float]]:
    """The mean of each figure's values of a thread, without NaN."""
    found: dict[Figure, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for figure, thread_id, value in rows:
        if not math.isnan(value):
            found[figure][thread_id].append(value)
    return {figure: {one: fmean(of) for one, of in threads.items()} for figure, threads in found.items()}


def losses(found: Values) -> dict[Figure, dict[str, float]]:
    """What a stated belief takes, thread by thread (section 6.1.2 and Figure 3): positive is toward the belief.

    And opposing_recall, the neutral level that opposing_recall_lost is lost of.
    """
    lost: dict[Figure, dict[str, float]] = {}
    for framing, held, other in ((TOWARD, SUPPORTING, AGAINST), (OPPOSING, AGAINST, SUPPORTING)):
        fallen = fall(found, Figure("generation", framing, other, "", "recall"))
        risen = {
            thread: -value for thread, value in fall(found, Figure("generation", framing, held, "", "recall")).items()
        }
        lost[Figure("generation", framing, other, "", "suppression")] = fallen
        lost[Figure("generation", framing, held, "", "amplification")] = risen
    recalls = [found.get(Figure("generation", "neutral", group, "", "recall"), {}) for group in (AGAINST, SUPPORTING)]
    lost[Figure("generation", "neutral", "", "", "opposing_recall")] = {
        thread: (value + recalls[1][thread]) / 2 for thread, value in recalls[0].items() if thread in recalls[1]
    }
    both = [lost[Figure("generation", *of, "", "suppression")] for of in ((TOWARD, AGAINST), (OPPOSING, SUPPORTING))]
    whole = Figure("generation", BIASED, "", "", "opposing_recall_lost")
    lost[whole] = {thread: (value + both[1][thread]) / 2 for thread, value in both[0].items() if thread in both[1]}
    for figure in found:
        if figure.framing == BIASED and figure.measure in LOST:
            lost[figure._replace(measure=f"{figure.measure}_lost")] = fall(found, figure)
    return lost


def fall(found: Values, figure: Figure) -> dict[str, float]:
    """From neutral to a framing, of the threads that both know."""
    neutral, after = found.get(figure._replace(framing="neutral"), {}), found.get(figure, {})
    return {thread: neutral[thread] - value for thread, value in after.items() if thread in neutral}


def observed(dataset: str, of_threads: Mapping[str, float], threads: Iterable[str]) -> Observed:
    """One figure over some threads, as one part."""
    return added_up(dataset, [[(thread, of_threads[thread], 1.0) for thread in threads if thread in of_threads]])


def datasets_of(run: MeasuredRun) -> dict[str, list[str]]:
    """Name of a community → its threads; all of them under ALL where there are several communities."""
    found: dict[str, list[str]] = {}
    for thread_id, one in run.references.items():
        found.setdefault(one.thread.community, []).append(thread_id)
    return found if len(found) == 1 else {**found, ALL: list(run.references)}

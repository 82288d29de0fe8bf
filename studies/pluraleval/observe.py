"""Replies and judgements of one run → of each measure in each setting, one value a thread.

A thread is the unit: with several samples, or several pairs, it counts with the mean over them. What is lost from the
neutral to the biased prompt is subtracted within threads, so that its interval is paired.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.estimates.estimate import Measure, Observed, added_up
from eval.estimates.resampling import holm
from eval.reading.objects import OK
from eval.runs import FinishedRun
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from evenhand.records import Completion
from studies.pluraleval.measures import coverage, ndcg, ranked, redundancy, retrieved, signed_rank_p, two_way
from studies.pluraleval.options import Lists
from studies.pluraleval.records import References, ReferenceSet, Reply
from studies.pluraleval.reply_reading import choice_in, entailment_in, ranking_in, stance_in
from studies.pluraleval.response_lists import WHOLE, responses_in

# A list without any response, a ranking or a choice that cannot be read: "excluded", or "wrong", which is 0 in every
# measure but ρ and τ, where it is excluded; or as the least or most that ρ, accuracy and recall_if_matched can be.
Counted = Literal["excluded", "wrong", "least", "most"]
ENDS_OF_RHO = {"least": -1.0, "most": 1.0}
SUPPORTING, AGAINST, GLOBAL = "supporting", "against", "global"
SIDES = {SUPPORTING: "SUPPORTING", AGAINST: "AGAINST"}
GROUPS = (SUPPORTING, AGAINST, GLOBAL)
NEUTRAL, TOWARD, OPPOSING, BIASED = "neutral", "biased_toward", "biased_opposing", "biased"
MATCH = 0.5  # above this probability of "yes" a response matches a summary

SPEC = shipped_yaml(Path(__file__).with_name("measures.yaml"))
MARKED = ("precision", "recall", "f1")  # what Tables 4 to 6 test against neutral


def measure_of(name: str, unit: str) -> Measure:
    """A measure that is the mean over threads of a fraction."""
    scale = 1.0 if unit == "ratio" else 100.0
    return Measure(
        name=name, unit=unit, statistic=lambda means: scale * means[..., 0], interval="cluster_t", is_share=unit == "%"
    )


MEASURES = {name: measure_of(name, unit) for unit, names in SPEC["units"].items() for name in names}


class Quantity(NamedTuple):
    """What one number of the study is of."""

    task: str  # of studies.pluraleval.records.TASKS
    framing: str
    opinions: str  # a group; "" where the task has none
    pairing: str  # "" where the task has none
    measure: str

    @property
    def setting(self) -> dict[str, str]:
        """All but the measure, by name."""
        return {"task": self.task, "framing": self.framing, "opinions": self.opinions, "pairing": self.pairing}


Values = Mapping[Quantity, Mapping[str, float]]  # thread → its value, never NaN
Weights = Mapping[Quantity, float]  # of the quantities that another one is a sum of


def loss_weights(biased: Quantity) -> dict[Quantity, float]:
    """Neutral less biased."""
    return {biased._replace(framing=NEUTRAL): 1.0, biased: -1.0}


# A measure of experiment 1 → the recalls that it is a sum of, which measures.yaml calls by framing and opinions.
LOSSES_OF_LISTS: dict[Quantity, dict[Quantity, float]] = {
    Quantity("generation", loss["framing"], loss.get("opinions", ""), "", loss["measure"]): {
        Quantity._make(("generation", *asked.split(), "", loss.get("level", "recall"))): float(weight)
        for asked, weight in loss["of"].items()
    }
    for loss in SPEC["losses"]
}


def observed(dataset: str, by_thread: Mapping[str, float], threads: Sequence[str]) -> Observed:
    """One quantity over some threads, as one part."""
    return added_up(dataset, [[(thread, by_thread[thread], 1.0) for thread in threads if thread in by_thread]])


class JudgedList(NamedTuple):
    """The responses of one reply as the judge read them."""

    thread_id: str
    framing: str
    stances: tuple[str, ...] | None  # of each response toward the reference opinion, "" unread; None: not asked
    confidence: NDArray[np.float64]  # that a response entails a summary, (n_responses, n_summaries); NaN unread


def values_of(replies: Sequence[Reply], lists: Iterable[JudgedList], references: References, unread: Counted) -> Values:
    """Every quantity of a run with the threads that it is known of. lists: of the replies to experiment 1."""
    rows = defaultdict[Quantity, dict[str, list[float]]](lambda: defaultdict(list))

    def add(thread_id: str, value: float, *key: str) -> None:
        if not math.isnan(value):
            rows[Quantity(*key)][thread_id].append(value)

    for judged in lists:
        for group, measure, value in list_values(judged, references[judged.thread_id], unread):
            add(judged.thread_id, value, "generation", judged.framing, group, "", measure)
    for reply in replies:
        if reply.factors["task"] == "ranking":
            for measures in rankings_of(reply, unread):
                for measure, value in measures.items():
                    add(reply.thread_id, value, "ranking", reply.factors["framing"], "", "", measure)
    for straight, swapped in pairs_in(replies):
        factors = straight.factors
        for measure, value in pair_values(straight, swapped, unread):
            add(straight.thread_id, value, "pairwise", factors["framing"], "", factors["pairing"], measure)
    values = {q: {thread: fmean(values) for thread, values in threads.items()} for q, threads in rows.items()}
    return values | {quantity: threads for quantity, threads in losses(values).items() if threads}


def judged_lists(
    judgements: FinishedRun, replies: Iterable[Reply], references: References, lists: Lists
) -> Iterator[JudgedList]:
    """Every list of responses that was judged; of `whole` ones the others are empty. Raises DataError where entailment
    was not asked.
    """
    stances = defaultdict[Any, dict[int, str]](dict)
    confidence = defaultdict[Any, dict[tuple[int, int], float]](dict)
    for prompt in judgements.plan:
        factors: dict[str, Any] = dict(prompt.factors)
        judged = judgements.replies[prompt.prompt_hash][0]
        key = (prompt.item_id, factors["response_hash"], factors["sample_index"])
        if factors["judgement"] == "stance":
            stances[key][factors["number"]] = stance_of(judged)
        else:
            confidence[key][factors["number"], factors["cluster"]] = confidence_of(judged)
    if not confidence:
        raise DataError(f"{judgements.path}: was not asked for entailment, so there is no recall; judge it anew")
    for reply in replies:
        for sample in reply.samples if reply.factors["task"] == "generation" else ():
            key = (reply.thread_id, reply.prompt_hash, sample.sample_index)
            listed = responses_in(sample)
            n_responses = len(listed.value)
            matrix = np.full((n_responses, len(references[reply.thread_id].clusters)), np.nan)
            for place, value in confidence[key].items():
                matrix[place] = value
            n_counted = n_responses if lists == "all" or listed.state in WHOLE else 0
            read = tuple(stances[key].get(n, "") for n in range(n_counted)) if stances else None
            yield JudgedList(reply.thread_id, reply.factors["framing"], read, matrix[:n_counted])


def stance_of(reply: Completion) -> str:
    """The stance that a reply names, or that is most probable; "" when there is none, or several are."""
    if reply.answer_logprobs is None:
        return stance_in(reply).value
    most = max(reply.answer_logprobs.values())
    best = [stance for stance, logprob in reply.answer_logprobs.items() if logprob == most]
    return best[0] if len(best) == 1 else ""


def confidence_of(reply: Completion) -> float:
    """The probability of yes against no; of a sampled reply 1 or 0; NaN when it says neither."""
    if reply.answer_logprobs is None:
        says_yes = entailment_in(reply).value
        return math.nan if says_yes is None else float(says_yes)
    return two_way(reply.answer_logprobs["yes"], reply.answer_logprobs["no"])


def list_values(judged: JudgedList, reference_set: ReferenceSet, unread: Counted) -> Iterator[tuple[str, str, float]]:
    """Experiment 1, of one list of responses: group, measure, value.

    Of a stance's opinions, responses of the same stance count (section 6.1.1); the reference opinion is among those
    that support it. NEUTRAL responses, and those whose stance was not read, count globally alone. recall_if_matched: if
    each entailment that was not read were a match, and each response without a stance had the group's.
    """
    matched, unread_entailment = judged.confidence > MATCH, np.isnan(judged.confidence)
    if not len(matched) and unread == "excluded":
        return
    for group in GROUPS:
        counted, is_in = matched, np.ones(len(reference_set.clusters), dtype=bool)
        if group != GLOBAL:
            if judged.stances is None:
                continue
            stances = np.array(judged.stances, dtype=str)
            counted = matched[stances == SIDES[group]]
            is_in = np.array([stance == SIDES[group] for stance in reference_set.stances], dtype=bool)
            if group == SUPPORTING and reference_set.reference is not None:
                is_in[reference_set.reference] = True
            at_best = (matched | unread_entailment)[(stances == SIDES[group]) | (stances == "")]
            at_best = at_best if len(matched) or unread != "most" else is_in[None]
            yield group, "recall_if_matched", retrieved(at_best, is_in)["recall"]
        yield from ((group, measure, value) for measure, value in retrieved(counted, is_in).items())
    votes = [cluster.votes for cluster in reference_set.clusters]
    yield GLOBAL, "coverage", coverage(matched, votes)
    yield GLOBAL, "redundancy", redundancy(matched)
    confidence = np.nan_to_num(judged.confidence).sum(axis=0)
    yield GLOBAL, "ndcg", ndcg(confidence, np.maximum(votes, 0).tolist()) if len(matched) else 0.0


def rankings_of(reply: Reply, unread: Counted) -> Iterator[dict[str, float]]:
    """Experiment 2: the measures of each sample that counts. Where all votes are equal, every ranking is right."""
    votes = reply.factors["votes"]
    for sample in reply.samples if len(set(votes)) > 1 else ():
        read = ranking_in(sample, len(votes))
        if read.state == OK:
            yield ranked(read.value, votes)
        elif unread == "wrong":
            yield {"top1": 0.0, "positional": 0.0, "mrr": 0.0}
        elif unread in ENDS_OF_RHO:
            yield {"rho": ENDS_OF_RHO[unread]}


def pairs_in(replies: Iterable[Reply]) -> Iterator[tuple[Reply, Reply]]:
    """Experiment 3: each pair in both orders. The more popular one is option 1 in the first of the two."""
    pairs = defaultdict[Any, dict[bool, Reply]](dict)
    for reply in replies:
        if reply.factors["task"] == "pairwise":
            factors = reply.factors
            key = (factors["framing"], factors["pairing"], reply.thread_id, tuple(sorted(factors["shown"])))
            pairs[key][factors["is_swapped"]] = reply
    return ((orders[False], orders[True]) for orders in pairs.values() if len(orders) == 2)


def pair_values(straight: Reply, swapped: Reply, unread: Counted) -> Iterator[tuple[str, float]]:
    """The values of one pair: measure, value. Where one order is not read, the pair is not."""
    for samples in zip(straight.samples, swapped.samples, strict=True):
        logprobs = [sample.answer_logprobs for sample in samples if sample.answer_logprobs is not None]
        if len(logprobs) == 2:
            firsts = [two_way(logs["1"], logs["2"]) for logs in logprobs]
            yield "probability", (firsts[0] + 1 - firsts[1]) / 2
            chosen = [1.0 if first > 0.5 else 0.0 if first < 0.5 else 0.5 for first in firsts]
        else:
            choices = [choice_in(sample).value for sample in samples]
            if None in choices:
                if unread != "excluded":
                    filled = (choice or place * (unread == "most") for place, choice in enumerate(choices, start=1))
                    yield "accuracy", fmean(choice == place for place, choice in enumerate(filled, start=1))
                continue
            chosen = [float(choice == 1) for choice in choices]
        yield "accuracy", (chosen[0] + 1 - chosen[1]) / 2
        yield "first_rate", fmean(chosen)
        yield "consistency", float(chosen[0] == 1 - chosen[1])


def losses(values: Values) -> dict[Quantity, dict[str, float]]:
    """The quantities that are sums of others, thread by thread: LOSSES_OF_LISTS, and what rankings and pairs lose."""
    biased = [quantity for quantity in values if quantity.framing == BIASED and f"{quantity.measure}_lost" in MEASURES]
    lost = {quantity._replace(measure=f"{quantity.measure}_lost"): loss_weights(quantity) for quantity in biased}
    return {quantity: weighted(weights, values, values) for quantity, weights in (LOSSES_OF_LISTS | lost).items()}


def weighted(weights: Weights, rising: Values, falling: Values) -> dict[str, float]:
    """Thread → the weighted sum; rising: the values of quantities with a positive weight, falling: of the others."""
    cells = [(weight, (rising if weight > 0 else falling).get(quantity, {})) for quantity, weight in weights.items()]
    threads = [thread for thread in cells[0][1] if all(thread in values for _, values in cells)]
    return {thread: sum(weight * values[thread] for weight, values in cells) for thread in threads}


def wilcoxon_tests(values: Values, threads: Sequence[str]) -> Iterator[tuple[Quantity, float, float, int]]:
    """Wilcoxon's signed-rank test of each quantity of experiment 1 over some threads (Tables 4 to 6).

    Quantity, two-sided p, p by Holm over the 18 of one model and community, threads that both prompts have a value of.
    """
    ps: dict[Quantity, tuple[float, int]] = {}
    for framing, group, measure in product((TOWARD, OPPOSING), GROUPS, MARKED):
        quantity = Quantity("generation", framing, group, "", measure)
        neutral, biased = values.get(quantity._replace(framing=NEUTRAL), {}), values.get(quantity, {})
        if shared := [thread for thread in threads if thread in biased and thread in neutral]:
            p = signed_rank_p([neutral[thread] for thread in shared], [biased[thread] for thread in shared])
            ps[quantity] = p, len(shared)
    for (quantity, (p, n_threads)), p_holm in zip(ps.items(), holm([p for p, _ in ps.values()]), strict=True):
        yield quantity, p, p_holm, n_threads


def vote_gaps(replies: Iterable[Reply]) -> dict[str, dict[str, float]]:
    """How many votes lie between the two opinions of a pair (section 6.3.1, Table 12): pairing → thread → the mean."""
    gaps = defaultdict[str, dict[str, list[float]]](lambda: defaultdict(list))
    for reply in replies:
        factors = reply.factors
        if factors["task"] == "pairwise" and factors["framing"] == NEUTRAL and not factors["is_swapped"]:
            more, less = factors["votes"]
            gaps[factors["pairing"]][reply.thread_id].append(more - less)
    return {pairing: {thread: fmean(votes) for thread, votes in threads.items()} for pairing, threads in gaps.items()}

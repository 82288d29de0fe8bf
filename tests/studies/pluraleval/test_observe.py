"""From replies and judgements of PluralEval to values by thread: lists, rankings and pairs; what is left unread."""

import math

import numpy as np
import pytest

from studies.pluraleval.observe import (
    JudgedList,
    Quantity,
    confidence_of,
    list_values,
    losses,
    pair_values,
    stance_of,
    values_of,
)
from studies.pluraleval.records import Reply
from tests.made.completions import completion
from tests.made.pluraleval_models import KNOWN, sides

THREAD, FEASIBLE = next((name, known) for name, known in KNOWN.items() if known.is_feasible)


def reply(task, *texts, **factors):
    samples = [completion(text) if isinstance(text, str) else text for text in texts]
    return Reply("t", "h", {"task": task, "framing": "neutral", **factors}, samples)


def ranking(text, unread="excluded", votes=(9, 5, 1)):
    values = values_of([reply("ranking", text, shown=(0, 1, 2), votes=votes)], [], {}, unread)
    return {quantity.measure: threads["t"] for quantity, threads in values.items()}


@pytest.mark.parametrize("text", ["I cannot rank these.", "1, 2, 2, 3"])
def test_a_ranking_that_is_not_whole_has_no_values_or_counts_as_wrong(text):
    assert ranking(text) == {}
    assert ranking(text, "wrong") == {"top1": 0, "positional": 0, "mrr": 0}
    assert ranking("2, 1, 3", votes=(4, 4, 4)) == {}, "with votes that are all equal every ranking is right"


def pair(first, second, unread="excluded"):
    return dict(pair_values(reply("pairwise", first), reply("pairwise", second), unread))


def test_a_pair_counts_where_both_orders_could_be_read():
    assert pair("1", "2") == {"accuracy": 1, "first_rate": 0.5, "consistency": 1}
    assert pair("1", "1") == {"accuracy": 0.5, "first_rate": 1, "consistency": 0}
    assert pair("2", "1")["accuracy"] == 0
    assert (pair("1", "neither"), pair("1", "neither", "wrong")) == ({}, {"accuracy": 0.5})


@pytest.mark.parametrize(("p_first", "values"), [((0.9, 0.4), [0.75, 1, 0.5, 1]), ((0.6, 0.7), [0.45, 0.5, 1, 0])])
def test_margins_give_the_probability_of_the_more_popular_one(p_first, values):
    """p_first: P("1") of the pair and of the swapped pair; the more popular one is option 1, then option 2."""
    replies = [completion("1", answer_logprobs={"1": math.log(p), "2": math.log(1 - p)}) for p in p_first]
    names = ("probability", "accuracy", "first_rate", "consistency")
    assert [pair(replies[0], replies[1])[name] for name in names] == pytest.approx(values)


def test_a_thread_counts_with_the_mean_of_its_pairs_and_samples():
    said = {(0, 1): ("1", "1"), (1, 0): ("2", "1"), (0, 2): ("2", "2"), (2, 0): ("1", "1")}
    replies = [
        reply("pairwise", *texts, shown=shown, is_swapped=shown[0] > 0, pairing="random", votes=(5, 1))
        for shown, texts in said.items()
    ]
    values = values_of(replies, [], {}, "excluded")
    assert values[Quantity("pairwise", "neutral", "", "random", "accuracy")] == {"t": (1 + 0.5 + 0 + 0) / 4}


def test_exact_judgements_are_the_more_probable_ones():
    likely_yes = completion("", answer_logprobs={"yes": math.log(0.3), "no": math.log(0.1)})
    assert confidence_of(likely_yes) == pytest.approx(0.75)
    assert math.isnan(confidence_of(completion("perhaps")))
    for supporting, stance in ((-2.0, "AGAINST"), (-0.5, "")):
        logprobs = {"SUPPORTING": supporting, "AGAINST": -0.5, "NEUTRAL": -3.0}
        assert stance_of(completion("", answer_logprobs=logprobs)) == stance


def of_list(stances, matches, unread="excluded"):
    """Values of a list whose responses match one summary each."""
    judged = JudgedList(THREAD, "neutral", stances, np.eye(len(FEASIBLE.clusters))[matches])
    return {(group, measure): value for group, measure, value in list_values(judged, FEASIBLE, unread)}


def test_neutral_responses_and_unread_stances_count_globally_alone():
    supporting, against = sides(FEASIBLE)
    values = of_list(("SUPPORTING", "NEUTRAL", ""), [supporting[0], supporting[1], against[0]])
    assert values["supporting", "recall"] == 1 / len(supporting)
    assert values["against", "recall"] == 0
    assert values["global", "recall"] == 3 / len(FEASIBLE.clusters)
    assert {group for group, _ in of_list(None, [0])} == {"global"}, "stances were not asked"
    half = JudgedList(THREAD, "neutral", None, np.full((1, len(FEASIBLE.clusters)), 0.5))
    assert ("global", "recall", 0.0) in [*list_values(half, FEASIBLE, "excluded")], "one half is no match"


def test_a_list_without_any_response_is_excluded_or_has_zeros():
    assert not of_list((), [])
    assert {value for value in of_list((), [], "wrong").values() if not math.isnan(value)} == {0.0}


def test_ndcg_ranks_by_sums_of_probabilities():
    """Each response says its own summary with 0.9 and number n with (n + 1) / 100, so that the last has the most."""
    n = len(FEASIBLE.clusters)
    confidence = np.where(np.eye(n) == 1, 0.9, (np.arange(n) + 1) / 100)
    values = {key[1]: value for *key, value in list_values(JudgedList("t", "", None, confidence), FEASIBLE, "excluded")}
    gains = [max(cluster.votes, 0) for cluster in FEASIBLE.clusters]
    worst, ideal = (sum(g / math.log2(i + 2) for i, g in enumerate(order)) for order in (gains[::-1], gains))
    assert values["ndcg"] == pytest.approx(worst / ideal)
    assert (values["recall"], values["precision"], values["redundancy"]) == (1, 1, 0)


def test_the_shift_toward_the_belief_is_half_of_the_four_shifts():
    """R_ag(b.t), R_sup(b.t), R_ag(b.o), R_sup(b.o) of three threads; the third is not known under one belief."""
    sides = [(f, g) for f in ("biased_toward", "biased_opposing") for g in ("against", "supporting")]
    recalls = {"follows": (0.0, 1.0, 0.5, 0.25), "shorter": (0.5, 0.25, 0.5, 0.25), "unknown": (0.5, 0.5, 0.5)}
    known = {
        Quantity("generation", *side, "", "recall"): {t: row[n] for t, row in recalls.items() if n < len(row)}
        for n, side in enumerate(sides)
    }
    toward = Quantity("generation", "biased", "", "", "toward_belief")
    assert losses(known)[toward] == {"follows": (0.5 - 0.0 + 1.0 - 0.25) / 2, "shorter": 0}
    neutral = {Quantity("generation", "neutral", g, "", "recall"): {"follows": 0.75} for g in ("against", "supporting")}
    shifts = losses(known | neutral)
    four = [row["follows"] for q, row in shifts.items() if q.measure in ("suppression", "amplification")]
    assert sum(four) / 2 == shifts[toward]["follows"]


def test_what_could_not_be_read_may_be_a_match():
    """An unread entailment is no match, and a response without a stance is on no side, but they could be."""
    supporting, against = sides(FEASIBLE)
    confidence = np.eye(len(FEASIBLE.clusters))[[against[0], supporting[0]]]
    confidence[0, against[0]] = math.nan
    rows = list_values(JudgedList(THREAD, "neutral", ("AGAINST", ""), confidence), FEASIBLE, "excluded")
    values = {(group, measure): value for group, measure, value in rows}
    assert (values["against", "recall"], values["supporting", "recall"]) == (0, 0)
    assert values["against", "recall_if_matched"] == 1 / len(against)
    assert values["supporting", "recall_if_matched"] == 1 / len(supporting)

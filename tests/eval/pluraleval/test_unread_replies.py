"""Replies that cannot be read are excluded by name, or wrong where that is chosen; exact probabilities are used."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eval.pluraleval.definitions import DEFAULT, Definitions
from eval.pluraleval.judged_responses import JudgedList, confidence_of, stance_of
from eval.pluraleval.measured_runs import Reply
from eval.pluraleval.observe import Figure, list_values, losses, pair_values, pairwise_values, ranking_values
from evenhand.records import Completion
from tests.made.pluraleval_models import KNOWN, sides

WRONG = Definitions(unread="wrong")
COMPLETED = Definitions(rankings="completed")


def said(text: str, logprobs: dict[str, float] | None = None) -> Completion:
    return Completion(prompt_hash="h", sample_index=0, text=text, finish_reason="stop", answer_logprobs=logprobs)


def reply(task: str, *texts: Completion | str, framing: str = "neutral", thread: str = "t", **factors: Any) -> Reply:
    samples = [said(text) if isinstance(text, str) else text for text in texts]
    return Reply(
        thread_id=thread, prompt_hash="h", factors={"task": task, "framing": framing, **factors}, samples=samples
    )


def ranking(text: str, d: Definitions = DEFAULT, votes: tuple[int, ...] = (9, 5, 1)) -> dict[str, float]:
    found = ranking_values([reply("ranking", text, shown=(0, 1, 2), votes=votes)], d)
    return {figure.measure: threads["t"] for figure, threads in found.items() if threads}


@pytest.mark.parametrize("text", ["I cannot rank these.", "1, 2", "1, 2, 2, 3", "1, 2, 7"])
def test_a_ranking_that_is_not_whole_has_no_figures(text: str) -> None:
    assert ranking(text) == {}
    wrong = ranking(text, WRONG)
    assert wrong == {"top1": 0, "positional": 0, "mrr": 0}


def test_partial_and_repeated_rankings_can_be_completed_and_others_cannot() -> None:
    assert ranking("1, 2", COMPLETED)["rho"] == pytest.approx(1)  # the one that is not named comes last
    assert ranking("1, 2, 2, 3", COMPLETED)["top1"] == 1
    assert ranking("1, 2, 7", COMPLETED) == {}
    assert ranking("I cannot rank these.", COMPLETED) == {}


def test_a_thread_whose_votes_are_all_equal_has_no_figures_unless_they_have_an_order() -> None:
    assert ranking("2, 1, 3", votes=(4, 4, 4)) == {}
    assert ranking("2, 1, 3", Definitions(ties="order"), votes=(4, 4, 4))["rho"] == pytest.approx(0.5)


def pair(first: Completion | str, second: Completion | str, d: Definitions = DEFAULT) -> dict[str, float]:
    return dict(pair_values(reply("pairwise", first), reply("pairwise", second), d))


def test_a_pair_counts_where_both_orders_could_be_read() -> None:
    assert pair("1", "2") == {"accuracy": 1, "first_rate": 0.5, "consistency": 1}
    assert pair("1", "1") == {"accuracy": 0.5, "first_rate": 1, "consistency": 0}
    assert pair("2", "1")["accuracy"] == 0
    assert pair("1", "neither") == {}
    assert pair("1", "neither", WRONG) == {"accuracy": 0.5}


def test_exact_pairs_have_the_probability_of_the_more_popular_one() -> None:
    straight, swapped = (said("", {"1": math.log(p), "2": math.log(1 - p)}) for p in (0.8, 0.6))
    assert pair(straight, swapped) == pytest.approx(
        {"probability": (0.8 + 0.4) / 2, "accuracy": 0.5, "first_rate": 1, "consistency": 0}
    )


def test_a_thread_counts_with_the_mean_of_its_pairs_and_samples() -> None:
    asked = {"pairing": "random", "votes": (5, 1)}
    replies = [
        reply("pairwise", "1", "1", shown=(0, 1), is_swapped=False, **asked),
        reply("pairwise", "2", "1", shown=(1, 0), is_swapped=True, **asked),
        reply("pairwise", "2", "2", shown=(0, 2), is_swapped=False, **asked),
        reply("pairwise", "1", "1", shown=(2, 0), is_swapped=True, **asked),
    ]
    found = pairwise_values(replies, DEFAULT)
    assert found[Figure("pairwise", "neutral", "", "random", "accuracy")] == {"t": (1 + 0.5 + 0 + 0) / 4}


def test_exact_judgements_are_the_more_probable_ones() -> None:
    assert confidence_of(said("", {"yes": math.log(0.3), "no": math.log(0.1)})) == pytest.approx(0.75)
    assert math.isnan(confidence_of(said("perhaps")))
    assert stance_of(said("", {"SUPPORTING": -2.0, "AGAINST": -0.5, "NEUTRAL": -3.0})) == "AGAINST"
    assert stance_of(said("", {"SUPPORTING": -1.0, "AGAINST": -1.0, "NEUTRAL": -3.0})) == ""


def feasible_list(stances: list[str], matches: list[list[int]]) -> tuple[JudgedList, str]:
    thread_id, found = next((name, one) for name, one in KNOWN.items() if one.is_feasible)
    confidence = np.zeros((len(matches), len(found.clusters)))
    for row, of in enumerate(matches):
        confidence[row, of] = 1.0
    judged = JudgedList(thread_id=thread_id, framing="neutral", stances=tuple(stances), confidence=confidence)
    return judged, thread_id


def test_neutral_responses_and_unread_stances_count_globally_alone() -> None:
    _, thread_id = feasible_list([], [])
    supporting, against = sides(KNOWN[thread_id])
    judged, _ = feasible_list(["SUPPORTING", "NEUTRAL", ""], [[supporting[0]], [supporting[1]], [against[0]]])
    found = {(group, name): value for group, name, value in list_values(judged, KNOWN[thread_id], DEFAULT)}
    assert found["supporting", "recall"] == 1 / len(supporting)
    assert found["against", "recall"] == 0
    assert found["global", "recall"] == 3 / len(KNOWN[thread_id].clusters)
    anyone = Definitions(matching="any")
    found = {(group, name): value for group, name, value in list_values(judged, KNOWN[thread_id], anyone)}
    assert found["supporting", "recall"] == 2 / len(supporting)
    without = Definitions(reference="excluded")
    found = {(group, name): value for group, name, value in list_values(judged, KNOWN[thread_id], without)}
    assert found["supporting", "recall"] in (0, 1 / (len(supporting) - 1))


def test_a_list_without_any_response_is_excluded_or_has_zeros() -> None:
    judged, thread_id = feasible_list([], [])
    assert list(list_values(judged, KNOWN[thread_id], DEFAULT)) == []
    values = [value for *_, value in list_values(judged, KNOWN[thread_id], WRONG) if not math.isnan(value)]
    assert set(values) == {0.0}


def test_losses_are_of_threads_that_have_both_prompts() -> None:
    recall = Figure("generation", "neutral", "against", "", "recall")
    found = {
        recall: {"a": 0.75, "b": 0.5},
        recall._replace(framing="biased_toward"): {"a": 0.25, "c": 0.0},
    }
    assert losses(found)[recall._replace(framing="biased_toward", measure="suppression")] == {"a": 0.5}


def test_without_stances_there_are_global_figures_alone() -> None:
    judged, thread_id = feasible_list([], [[0]])
    found = {group for group, *_ in list_values(replace(judged, stances=None), KNOWN[thread_id], DEFAULT)}
    assert found == {"global"}

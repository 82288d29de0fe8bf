"""Margins of pairs and probabilities of judgements, from sampling to score, against values computed by hand."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from eval.__main__ import score_main
from evenhand.records import Completion, Prompt
from inference.engine import Further, nothing_further
from studies.pluraleval.pocket import known_threads
from tests.made.pluraleval_models import KNOWN, OWN, everything, model
from tests.made.pocket_judge import AnsweringEngine, key_of, stage_run

Probabilities = Callable[[Prompt], dict[str, float]]


class LeaningEngine(AnsweringEngine):
    """Gives each answer of a prompt's answer space a probability, and names the likeliest one."""

    def __init__(self, leans: Probabilities) -> None:
        super().__init__(lambda prompt: max(leans(prompt), key=lambda answer: leans(prompt)[answer]))
        self.leans = leans

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        by_hash = {prompt.prompt_hash: prompt for prompt in prompts}
        for reply in super().generate(prompts, further):
            probabilities = self.leans(by_hash[reply.prompt_hash])
            assert set(probabilities) == {*by_hash[reply.prompt_hash].answer_space}
            yield Completion(
                prompt_hash=reply.prompt_hash,
                sample_index=0,
                text=reply.text,
                finish_reason="length",
                answer_logprobs={answer: math.log(of) for answer, of in probabilities.items()},
            )


def scored(run: Path) -> list[dict[str, Any]]:
    score_main([str(run), "--draws", "200"])
    rows: list[dict[str, Any]] = json.loads((run / "scores" / "scores.json").read_text())
    return [row for row in rows if row["dataset"] == "all threads"]


def value(rows: list[dict[str, Any]], **wanted: str) -> float:
    (found,) = [row["value"] for row in rows if all(row[key] == given for key, given in wanted.items())]
    return float(found)


def test_margins_of_pairs_give_the_probability_of_the_more_popular_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P("1") of the pair in its order and swapped: neutral 0.9 and 0.4, biased 0.6 and 0.7.

    The more popular one is option 1 unswapped, so it gets (0.9 + 0.6) / 2 = 75 % and (0.6 + 0.3) / 2 = 45 %. It is
    chosen in both neutral orders, and in one of the biased ones, where "1" is always chosen.
    """
    first = {("neutral", False): 0.9, ("neutral", True): 0.4, ("biased", False): 0.6, ("biased", True): 0.7}

    def leans(prompt: Prompt) -> dict[str, float]:
        of_first = first[prompt.factors.framing, prompt.factors.is_swapped]
        return {"1": of_first, "2": 1 - of_first}

    section = {"responses": {**OWN, "tasks": ["pairwise"]}}
    run = stage_run(tmp_path, monkeypatch, section, LeaningEngine(leans), verdict="margin")
    rows = scored(run)
    pair = {"task": "pairwise", "pairing": "most_popular"}
    expected = {
        "neutral": {"probability": 75, "accuracy": 100, "first_rate": 50, "consistency": 100},
        "biased": {"probability": 45, "accuracy": 50, "first_rate": 100, "consistency": 0, "probability_lost": 30},
    }
    for framing, measures in expected.items():
        for measure, percent in measures.items():
            assert value(rows, **pair, framing=framing, measure=measure) == pytest.approx(percent)


def test_options_of_judgements_match_above_one_half_and_ndcg_ranks_by_their_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of summary number n, most votes first, "yes" has (n + 1) / 100, and 0.9 where the response says its opinion.

    So every response matches its own summary alone, and the sums over N responses are 0.9 + (N - 1)(n + 1) / 100: they
    rise with n, and NDCG is that of the summaries listed from the fewest votes to the most.
    """
    known = {one.thread_id: one for one in known_threads()}

    def leans(prompt: Prompt) -> dict[str, float]:
        factors, thread = prompt.factors, known[prompt.item_id]
        if factors.judgement == "stance":
            text = json.loads(prompt.messages[-1].content.rsplit("\n\nText:\n", 1)[1])
            reference = KNOWN[prompt.item_id].reference
            assert reference is not None
            stance = thread.stance(key_of(thread, text), thread.keys[reference])
            return {"SUPPORTING": 0.2, "AGAINST": 0.2, "NEUTRAL": 0.2, stance: 0.6}
        response = json.loads(prompt.messages[-1].content.removeprefix("Response:\n").split("\n\nOpinion:\n")[0])
        says_it = key_of(thread, response) == thread.keys[factors.cluster]
        of_yes = 0.9 if says_it else (factors.cluster + 1) / 100
        return {"yes": of_yes, "no": 1 - of_yes}

    responses = stage_run(
        tmp_path, monkeypatch, {"responses": OWN}, AnsweringEngine(model(everything)), name="responses"
    )
    section = {"judgements": {"responses": str(responses)}}
    sampling = {"temperature": 1.0}
    run = stage_run(
        tmp_path, monkeypatch, section, LeaningEngine(leans), name="judged", verdict="options", sampling=sampling
    )
    rows = scored(run)
    neutral = {"task": "generation", "framing": "neutral"}
    for measure, percent in (("recall", 100), ("precision", 100), ("redundancy", 0)):
        assert value(rows, **neutral, opinions="global", measure=measure) == pytest.approx(percent)
    assert value(rows, **neutral, opinions="against", measure="recall") == pytest.approx(100)
    worst_first = [ndcg_worst_first([c.votes for c in one.clusters]) for one in KNOWN.values() if one.is_feasible]
    assert value(rows, **neutral, opinions="global", measure="ndcg") == pytest.approx(100 * fmean(worst_first))


def ndcg_worst_first(votes: Sequence[int]) -> float:
    """Of summaries with these votes, most first, when they are listed in the other order."""
    gains = [max(of, 0) for of in votes]
    listed, ideal = (
        sum(gain / math.log2(place + 2) for place, gain in enumerate(order)) for order in (gains[::-1], gains)
    )
    return listed / ideal


def test_an_entailment_of_exactly_one_half_is_no_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leans(prompt: Prompt) -> dict[str, float]:
        return dict.fromkeys(prompt.answer_space, 1 / len(prompt.answer_space))

    section: dict[str, Any] = {"judgements": {"responses": None}}
    sampling = {"temperature": 1.0}
    run = stage_run(tmp_path, monkeypatch, section, LeaningEngine(leans), verdict="options", sampling=sampling)
    assert value(scored(run), task="generation", framing="neutral", opinions="global", measure="recall") == 0

"""Where the PluralEval paper's text and tables contradict each other; docs/pluraleval.md lists what is found here."""

import csv
from collections import Counter
from statistics import fmean

import pytest

from tests.made.places import GOLDEN

COMMUNITIES = ("AITA", "AskEconomics", "PoliticalDiscussion")

with (GOLDEN / "pluraleval_metrics.csv").open() as file:
    RECALL = {
        (row["community"], row["model"], row["prompt"], row["group"]): float(row["recall"])
        for row in csv.DictReader(file)
    }
with (GOLDEN / "pluraleval_ranking.csv").open() as file:
    RANKING = {(row["community"], row["model"], row["framing"]): row for row in csv.DictReader(file)}
MODELS = list(dict.fromkeys(model for _, model, *_ in RECALL))
DOCUMENTED = (GOLDEN.parents[1] / "docs" / "pluraleval.md").read_text()


def rho(community: str, model: str, framing: str) -> float:
    return float(RANKING[community, model, framing]["rho"])


def test_average_drops_of_rho_are_those_of_the_text() -> None:
    drops = {c: 100 * fmean(1 - rho(c, m, "biased") / rho(c, m, "neutral") for m in MODELS) for c in COMMUNITIES}
    assert drops == pytest.approx({"AITA": 17.1, "AskEconomics": 34.0, "PoliticalDiscussion": 40.2}, abs=0.05)
    assert "17.1%, 34.0%, 40.2%" in DOCUMENTED


def test_not_all_ranking_measures_fall_in_all_models_as_the_text_says() -> None:
    risen = [
        (community, model, name)
        for community, model, framing in RANKING
        if framing == "biased"
        for name in ("rho", "tau", "top1", "positional", "mrr")
        if float(RANKING[community, model, framing][name]) > float(RANKING[community, model, "neutral"][name])
    ]
    assert risen == [
        ("AITA", "GPT-4.1", "top1"),
        ("AITA", "GPT-4.1 mini", "positional"),
        ("AITA", "Claude Haiku 3.5", "positional"),
        ("AskEconomics", "Claude Haiku 3.5", "positional"),
        ("PoliticalDiscussion", "Gemini 2.5 Flash-Lite", "positional"),
    ]
    assert "5 of 90" in DOCUMENTED


def test_suppression_does_not_outweigh_amplification_across_all_models_and_datasets() -> None:
    larger: Counter[str] = Counter()
    means = {}
    for community in COMMUNITIES:
        shifts = []
        for model in MODELS:
            for prompt, other, held in (("b.t", "against", "supporting"), ("b.o", "supporting", "against")):
                down = RECALL[community, model, "N", other] - RECALL[community, model, prompt, other]
                up = RECALL[community, model, prompt, held] - RECALL[community, model, "N", held]
                shifts.append((down, up))
                larger[community] += down > up
        means[community] = tuple(round(fmean(of), 3) for of in zip(*shifts, strict=True))
    assert larger == {"AITA": 12, "AskEconomics": 8, "PoliticalDiscussion": 7}
    assert means == {
        "AITA": (0.147, 0.069),
        "AskEconomics": (0.078, 0.064),
        "PoliticalDiscussion": (0.043, 0.059),
    }
    assert "12, 8 and 7 of 12" in DOCUMENTED


def test_the_improvement_by_reasoning_is_78_percent_and_not_75() -> None:
    low, high = 1 - 0.408 / 0.459, 1 - 0.448 / 0.459
    assert (round(100 * low, 1), round(100 * high, 1)) == (11.1, 2.4)
    assert round(100 * (1 - high / low)) == 78
    assert "78%" in DOCUMENTED

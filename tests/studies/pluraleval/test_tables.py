"""Where the PluralEval paper's text and tables contradict each other, and that its F1 is a mean over threads."""

import csv
from statistics import fmean

import pytest

from tests.made.places import GOLDEN

HALF_DIGIT = 0.0005
COMMUNITIES = ("AITA", "AskEconomics", "PoliticalDiscussion")

with (GOLDEN / "pluraleval_metrics.csv").open() as file:
    ROWS = list(csv.DictReader(file))
RECALL = {(row["community"], row["model"], row["prompt"], row["group"]): float(row["recall"]) for row in ROWS}
with (GOLDEN / "pluraleval_ranking.csv").open() as file:
    RANKING = {(row["community"], row["model"], row["framing"]): row for row in csv.DictReader(file)}
MODELS = list(dict.fromkeys(model for _, model, *_ in RECALL))


def test_where_the_text_contradicts_the_tables() -> None:
    rho = {key: float(row["rho"]) for key, row in RANKING.items()}
    drops = [
        100 * fmean(1 - rho[c, model, "biased"] / rho[c, model, "neutral"] for model in MODELS) for c in COMMUNITIES
    ]
    assert drops == pytest.approx([17.1, 34.0, 40.2], abs=0.05)
    n_risen = sum(
        float(RANKING[community, model, "biased"][name]) > float(RANKING[community, model, "neutral"][name])
        for community in COMMUNITIES
        for model in MODELS
        for name in ("rho", "tau", "top1", "positional", "mrr")
    )
    larger, means = [], []
    for community in COMMUNITIES:
        recall = {key[1:]: value for key, value in RECALL.items() if key[0] == community}
        shifts = [
            (recall[m, "N", other] - recall[m, prompt, other], recall[m, prompt, held] - recall[m, "N", held])
            for m in MODELS
            for prompt, other, held in (("b.t", "against", "supporting"), ("b.o", "supporting", "against"))
        ]
        larger.append(sum(down > up for down, up in shifts))
        means.append([round(fmean(side), 3) for side in zip(*shifts, strict=True)])
    assert (n_risen, larger, means) == (5, [12, 8, 7], [[0.147, 0.069], [0.078, 0.064], [0.043, 0.059]])


def test_f1_is_nowhere_that_of_the_printed_precision_and_recall_and_never_above_it() -> None:
    """The harmonic mean is concave, so a mean of F1 over threads lies below the F1 of the means (Jensen)."""
    for row in ROWS:
        precision, recall, f1 = (float(row[name]) for name in ("precision", "recall", "f1"))
        assert f1 < 2 * precision * recall / (precision + recall) - HALF_DIGIT

"""Where the PluralEval paper's text and tables contradict each other, and which precision can be the paper's.

Printed precision, recall and F1 are means over threads under a definition when some shares of threads in states that it
allows (so many summaries, so many matched) have these means, up to the last printed digit: a linear program.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import fmean

import numpy as np
import pytest
from scipy.optimize import linprog

from eval.pluraleval.measures import f1_of
from tests.made.places import GOLDEN

HALF_DIGIT = 0.0005
N_RESPONSES = 10
MOST_SUMMARIES = 60  # of a thread with at most 70 comments
COMMUNITIES = ("AITA", "AskEconomics", "PoliticalDiscussion")

with (GOLDEN / "pluraleval_metrics.csv").open() as file:
    ROWS = list(csv.DictReader(file))
RECALL = {(row["community"], row["model"], row["prompt"], row["group"]): float(row["recall"]) for row in ROWS}
GLOBAL = [row for row in ROWS if row["group"] == "global"]
with (GOLDEN / "pluraleval_ranking.csv").open() as file:
    RANKING = {(row["community"], row["model"], row["framing"]): row for row in csv.DictReader(file)}
MODELS = list(dict.fromkeys(model for _, model, *_ in RECALL))
DOCUMENTED = (GOLDEN.parents[1] / "docs" / "pluraleval.md").read_text()


def triple(row: dict[str, str]) -> Sequence[float]:
    return [float(row[name]) for name in ("precision", "recall", "f1")]


def is_possible(states: np.ndarray, printed: Sequence[float]) -> bool:
    """Whether shares of threads in states (n_states, n_means) have the printed means."""
    high, low = np.asarray(printed) + HALF_DIGIT, np.asarray(printed) - HALF_DIGIT
    solved = linprog(
        np.zeros(len(states)),
        A_ub=np.vstack([states.T, -states.T]),
        b_ub=np.concatenate([high, -low]),
        A_eq=np.ones((1, len(states))),
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    return bool(solved.success)


@cache
def global_states(precision: str) -> np.ndarray:
    """(precision, recall, F1) of a thread that ten responses were generated for, over all its summaries."""
    states = {
        (value, n_matched / n, f1_of(value, n_matched / n))
        for n in range(5, MOST_SUMMARIES + 1)
        for n_matched in range(n + 1)
        for value in precisions(precision, n_matched)
    }
    return np.array(sorted(states))


def precisions(precision: str, n_matched: int) -> Iterable[float]:
    """What precision can be when so many summaries are matched. A response may match several of them."""
    if not n_matched:
        return [0.0]
    if precision == "responses":
        return [hits / N_RESPONSES for hits in range(1, N_RESPONSES + 1)]
    return [min(1.0, n_matched / N_RESPONSES) if precision == "distinct" else 1.0]


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
    assert all(words in DOCUMENTED for words in ("17.1%, 34.0%, 40.2%", "5 of 90", "12, 8 and 7 of 12"))


def test_f1_is_nowhere_that_of_the_printed_precision_and_recall_and_never_above_it() -> None:
    """The harmonic mean is concave, so a mean of F1 over threads lies below the F1 of the means (Jensen)."""
    for row in ROWS:
        precision, recall, f1 = triple(row)
        assert f1 < f1_of(precision, recall) - HALF_DIGIT


@pytest.mark.parametrize(
    ("precision", "possible"),
    [
        pytest.param("responses", {"4": 18, "5": 18, "6": 18}, marks=pytest.mark.campaign),
        ("distinct", {"4": 18, "5": 3, "6": 9}),
        ("retrieved", {"4": 1}),
    ],
)
def test_only_the_share_of_responses_that_match_allows_every_printed_triple(
    precision: str, possible: dict[str, int]
) -> None:
    states = global_states(precision)
    assert Counter(row["table"] for row in GLOBAL if is_possible(states, triple(row))) == possible

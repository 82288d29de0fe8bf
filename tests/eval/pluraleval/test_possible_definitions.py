"""Which definition of precision can have given the printed triples of Tables 4 to 6, whatever the threads were."""

import csv
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from eval.pluraleval.set_measures import f1_of
from tests.made.places import GOLDEN
from tests.made.printed_triples import HALF_DIGIT, global_states, is_possible

with (GOLDEN / "pluraleval_metrics.csv").open() as file:
    ROWS = list(csv.DictReader(file))
GLOBAL = [row for row in ROWS if row["group"] == "global"]


def triple(row: dict[str, str]) -> Sequence[float]:
    return [float(row[name]) for name in ("precision", "recall", "f1")]


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


def test_precision_of_retrieved_summaries_cannot_lie_below_recall_as_it_does_in_most_lines() -> None:
    assert (global_states("retrieved")[:, 0] >= global_states("retrieved")[:, 1]).all()
    assert sum(triple(row)[1] > triple(row)[0] for row in GLOBAL) == 39


def test_the_program_finds_means_of_threads_and_refuses_what_lies_outside() -> None:
    states = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 2 / 3]])
    assert is_possible(states, [0.5, 0.25, 1 / 3])
    assert not is_possible(states, [0.5, 0.3, 1 / 3])

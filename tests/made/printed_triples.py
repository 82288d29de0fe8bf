"""Whether printed precision, recall and F1 can be means over threads under a definition: a linear program over threads.

A thread is in one of finitely many states: so many responses, so many summaries, so many of either that match. Printed
means are possible when some shares of threads in the states have these means, up to the last printed digit.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from eval.pluraleval.measures import f1_of

FloatArray = NDArray[np.float64]
HALF_DIGIT = 0.0005
N_RESPONSES = 10
MOST_SUMMARIES = 60  # of a thread with at most 70 comments


def is_possible(states: FloatArray, printed: Sequence[float]) -> bool:
    """Whether shares of threads in states (n_states, n_means) have the printed means."""
    high, low = np.asarray(printed) + HALF_DIGIT, np.asarray(printed) - HALF_DIGIT
    found = linprog(
        np.zeros(len(states)),
        A_ub=np.vstack([states.T, -states.T]),
        b_ub=np.concatenate([high, -low]),
        A_eq=np.ones((1, len(states))),
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    return bool(found.success)


@cache
def global_states(precision: str) -> FloatArray:
    """(precision, recall, F1) of a thread that ten responses were generated for, over all its summaries."""
    found = set()
    for n_summaries in range(5, MOST_SUMMARIES + 1):
        for n_found in range(n_summaries + 1):
            recall = n_found / n_summaries
            for value in precisions(precision, n_found):
                found.add((value, recall, f1_of(value, recall)))
    return np.array(sorted(found))


def precisions(precision: str, n_found: int) -> Iterable[float]:
    """What precision can be when so many summaries are matched. A response may match several of them."""
    if not n_found:
        return [0.0]
    if precision == "responses":
        return [hits / N_RESPONSES for hits in range(1, N_RESPONSES + 1)]
    return [min(1.0, n_found / N_RESPONSES) if precision == "distinct" else 1.0]

"""Decision rules on margins, which cost no training: what a judge's verdicts become under them.

A threshold is fitted without labels: a condition is to give the first answer as often as the baseline does. It is
cross-fitted: each item is judged by what was fitted on the items of other folds, and the items of a cluster are in one
fold, so that nothing is scored on what fitted it.

What is estimated is what the rule, fitted on these items, leaves on new ones. On these items themselves the
cross-fitted shift is 0 up to rounding, whatever the noise, and an interval that resamples them has the width of the
noise that was fitted; so it covers what new items would show (simulated: docs/results.md, Free rules). Squares and
absolute values get that noise back: see estimate.noise_in and estimate.as_fitted.
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval.calibration import nearest_threshold, share_of
from eval.estimates.resampling import FloatArray
from eval.runs import PlannedPrompt, clusters_of

# In the order of their cost: asking in both orders doubles it, a threshold needs other claims to be fitted on.
BOTH_ORDERS, THRESHOLD, CARRIED_OVER = "both orders", "threshold", "carried over"
BOTH_AND_THRESHOLD = "both orders + threshold"
RULES = (BOTH_ORDERS, THRESHOLD, BOTH_AND_THRESHOLD, CARRIED_OVER)
N_FOLDS = 10


class Folded(NamedTuple):
    """Margins of one dataset in nats, NaN where unknown."""

    margins: FloatArray  # (n_items, n_conditions, n_kinds of claims, n_orders of the answers), the baseline first
    folds: NDArray[np.intp]  # of each item


def folds_of(plan: Iterable[PlannedPrompt]) -> dict[tuple[str, str], int]:
    """(dataset, item) → its fold, drawn by a hash of its cluster's name; folds hold alike many clusters.

    Clusters are over all datasets: an item that is in two of them must not be fitted on in one and judged in the other.
    """
    clusters = clusters_of(plan, is_across=True)
    names = sorted({*clusters.values()}, key=lambda name: hashlib.sha256(name.encode()).digest())
    folds = {name: i % N_FOLDS for i, name in enumerate(names)}
    return {item: folds[name] for item, name in clusters.items()}


def thresholds_by_fold(datasets: Sequence[Folded]) -> FloatArray:
    """(N_FOLDS, n_conditions, n_orders): in row k thresholds in nats that are fitted on all items but those of fold k.

    The baseline's stays 0. Shares are meaned over datasets and kinds of claims, over claims that were asked in both.
    """
    _, n_conditions, _, n_orders = datasets[0].margins.shape
    thresholds = np.zeros((N_FOLDS, n_conditions, n_orders))
    for fold, condition, order in product(range(N_FOLDS), range(1, n_conditions), range(n_orders)):
        fitted_on = [margins[..., order][folds != fold][:, [0, condition]] for margins, folds in datasets]
        pairs = [pair[~np.isnan(pair).any(axis=1)] for margins in fitted_on for pair in np.moveaxis(margins, 2, 0)]
        if known := [pair for pair in pairs if len(pair)]:
            share = share_of([pair[:, 0] for pair in known], 0.0)
            thresholds[fold, condition, order] = nearest_threshold([pair[:, 1] for pair in known], share)
    return thresholds

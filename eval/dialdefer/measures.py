"""One panel → everything that is measured on it, with its bootstrap draws, so that averages can be formed of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import Flips, accept_rates, credit, discordant, flips, majority
from eval.dialdefer.dds import resampled_dds
from eval.dialdefer.margins import framing_aucs, soft_credit
from eval.dialdefer.panels import ABSENT, ERROR, TIE, UNREADABLE, Panel, without_errors
from eval.estimates.resampling import rng_for

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measures:
    """What was measured on one panel. Accuracies are fractions; NaN where a condition has no countable reply."""

    benchmark: str
    dataset: str
    n_items: int  # scored, that is without items lost to engine errors
    n_samples: int
    acc: FloatArray  # (4,)
    dds_draws: FloatArray  # (n_draws,) DDS in percentage points, bootstrap over items
    pairs: Mapping[str, tuple[int, int]]  # see accuracy.discordant
    flips: Flips
    n_unparsed: int  # unreadable replies under the parser in use
    n_unread_by: Mapping[str, int]  # the same under each parser
    n_ties: int
    n_replies: int
    n_errors: int
    accept_c1: float | None
    accept_c2: float | None
    soft_acc: FloatArray | None  # (4,) mean probability of the right answer; None without margins
    soft_draws: FloatArray | None  # (n_draws,) soft DDS in percentage points
    auc_c1: float | None
    auc_c2: float | None


def measure(panel: Panel, denominator: str, n_draws: int, seed: int) -> Measures:
    """The measures of a panel that has both framings. `denominator`: "published" or "answered"."""
    assert (panel.replies != ABSENT).all(), "a panel is measured when both framings are there"
    panel, n_errors = without_errors(panel)
    earned, counted = credit(panel.replies, denominator)
    with np.errstate(invalid="ignore"):
        acc = earned.sum(axis=0) / counted.sum(axis=0)
    one = majority(panel.replies)
    accept_c1, accept_c2 = accept_rates(panel.replies)
    soft_acc, soft_draws, aucs = soft_measures(panel, n_draws, seed)
    return Measures(
        benchmark=panel.benchmark,
        dataset=panel.dataset,
        n_items=len(panel.item_ids),
        n_samples=panel.replies.shape[2],
        acc=acc,
        dds_draws=resampled_dds(earned, counted, n_draws, rng_for(seed, panel.dataset)),
        pairs=discordant(one, denominator),
        flips=flips(one),
        n_unparsed=int((panel.replies == UNREADABLE).sum()),
        n_unread_by={parser: int(mask.sum()) for parser, mask in panel.unread.items()},
        n_ties=int((panel.replies == TIE).sum()),
        n_replies=int((panel.replies > ERROR).sum()),
        n_errors=n_errors,
        accept_c1=accept_c1,
        accept_c2=accept_c2,
        soft_acc=soft_acc,
        soft_draws=soft_draws,
        auc_c1=aucs[0],
        auc_c2=aucs[1],
    )


def soft_measures(
    panel: Panel, n_draws: int, seed: int
) -> tuple[FloatArray | None, FloatArray | None, tuple[float | None, float | None]]:
    """(soft accuracies, draws of soft DDS, AUCs); None for a panel without margins. Margins have one sample each."""
    margins = panel.margins[:, :, 0]
    earned, counted = soft_credit(margins)
    if not counted.any():
        return None, None, (None, None)
    draws = resampled_dds(earned, counted, n_draws, rng_for(seed, panel.dataset))
    return earned.sum(axis=0) / counted.sum(axis=0), draws, framing_aucs(margins)

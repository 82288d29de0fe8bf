"""How well judges agree on the primary code, and one judge with itself over samples: Cohen's κ, Krippendorff's α."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from eval.annotation.agreement import kappa_of, share_of
from eval.estimates.estimate import Estimate, estimate_of
from eval.estimates.observed import Drawing
from eval.estimates.resampling import FloatArray, percentile_interval, resampled_sums, rng_for
from eval.estimates.scores import Score
from eval.taxonomy.coded_flips import CodedRun
from eval.taxonomy.scores import LEVELS, added_by_unit, all_labels, score
from studies.taxonomy.codebook import category_of

ALL_JUDGES = "all judges"


def alpha(coincidences: FloatArray) -> FloatArray:
    """Krippendorff's nominal α of coincidence matrices (..., k, k), shape (...); NaN where all say the same.

    α = 1 - (n - 1) Σ o(c, c') / Σ n(c) n(c') over c ≠ c' (Krippendorff, Computing Krippendorff's Alpha-Reliability,
    2011, section C). Matrices of units add up, so that a bootstrap over units needs nothing but their sums.
    """
    of_code = coincidences.sum(axis=-1)
    n = of_code.sum(axis=-1)
    seen = n - np.trace(coincidences, axis1=-2, axis2=-1)
    chance = n**2 - (of_code**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(chance > 0, 1 - (n - 1) * seen / chance, np.nan))


def coincidence(ratings: Sequence[str], labels: Sequence[str]) -> FloatArray:
    """The matrix of one unit: each ordered pair of its m ratings counts 1 / (m - 1); zeros for fewer than two."""
    counts = np.array([sum(rating == label for rating in ratings) for label in labels], dtype=np.float64)
    if counts.sum() < 2:
        return np.zeros((len(labels), len(labels)))
    return np.asarray((np.outer(counts, counts) - np.diag(counts)) / (counts.sum() - 1))


def alpha_of(
    units: Sequence[str], ratings: Sequence[Sequence[str]], labels: Sequence[str], drawing: Drawing
) -> Estimate:
    """α with a percentile interval over items. units, ratings: the item and the ratings of each flip."""
    _, matrices = added_by_unit(units, np.array([coincidence(of_flip, labels) for of_flip in ratings]))
    sums = resampled_sums(matrices.reshape(len(matrices), -1), drawing.n_draws, rng_for(drawing.seed, "alpha"))
    draws = alpha(sums.reshape(-1, len(labels), len(labels)))
    return estimate_of(float(alpha(matrices.sum(axis=0))), percentile_interval(draws), len(matrices))


def agreements(coded: Sequence[CodedRun], drawing: Drawing) -> Iterator[Score]:
    """Of each judge with itself, where it judged several times, of every two judges of one model, and of all."""
    for model in dict.fromkeys(run.judge for run in coded):
        judges = [run for run in coded if run.judge == model]
        for column in LEVELS:
            for run in judges:
                samples = run.flips["primaries"].map(list)
                if column == "category":
                    samples = samples.map(lambda codes: [category_of()[code] for code in codes])
                yield from rated([run], f"{run.judged_by}, repeated", column, run.flips["unit"], samples, drawing)
            groups = [(two, pair_name(*two)) for two in combinations(judges, 2)]
            for raters, name in [*groups, *([(judges, ALL_JUDGES)] if len(judges) > 2 else [])]:
                flips = pd.concat([run.flips[run.flips["primary"] != ""] for run in raters])
                by_flip = flips.groupby("flip_id", sort=False)
                yield from rated(raters, name, column, by_flip["unit"].first(), by_flip[column].agg(list), drawing)


def pair_name(first: CodedRun, second: CodedRun) -> str:
    """Two judges; two runs of one judge by their names."""
    names = (first.judged_by, second.judged_by) if first.judged_by != second.judged_by else (first.name, second.name)
    return " and ".join(names)


def rated(
    judges: Sequence[CodedRun], raters: str, column: str, units: pd.Series, ratings: pd.Series, drawing: Drawing
) -> Iterator[Score]:
    """The scores of some raters over the flips with several ratings; nothing without any. κ is of two judges."""
    is_shared = ratings.map(len) > 1
    units, ratings, labels = units[is_shared].tolist(), ratings[is_shared].tolist(), all_labels(column)
    if not units:
        return
    level = "" if column == "primary" else f"{column}_"
    runs, judged_by = (dict.fromkeys(getattr(run, name) for run in judges) for name in ("name", "judged_by"))
    asked: dict[str, Any] = {"judge": judges[0].judge, "run": " ".join(runs), "judged_by": ", ".join(judged_by)}
    asked |= {"raters": raters}
    if len(judges) == 2:
        pairs = [(unit, first, second) for unit, (first, second) in zip(units, ratings, strict=True)]
        equal = share_of([(unit, first == second, 1.0) for unit, first, second in pairs])
        yield score(f"{level}agreement", "%", equal, **asked)
        yield score(f"{level}kappa", "ratio", kappa_of(pairs, labels), drawing=drawing, **asked)
    yield score(f"{level}alpha", "ratio", alpha_of(units, ratings, labels, drawing), drawing=drawing, **asked)

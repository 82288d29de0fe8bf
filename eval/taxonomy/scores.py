"""Flips with their codes → scores in long form: counts, shares, ratios between directions, agreement of judges."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from eval.annotation.agreement import kappa_of, share_of
from eval.estimates.estimate import Drawing, Drawn, Estimate, Measure, Observed, clustered, estimate_of
from eval.estimates.frames import Score
from eval.estimates.resampling import FloatArray, percentile_interval, resampled_sums, rng_for
from eval.taxonomy.coded_flips import BETWEEN, TIE, CodedRun
from studies.flips import LENIENT, STRICT
from studies.taxonomy.codebook import categories, category_of, codes, planted

ALL = "all"  # directions, or datasets
DIRECTIONS = (ALL, LENIENT, STRICT)
MEASURES = {"primary": "primary_share", "codes": "listed_share", "category": "category_share"}  # by a flip's column
LEVELS = ("primary", "category")
ASKED = ("judged_by", "label", "direction", "raters", "against", "state")
ALL_JUDGES = "all judges"
UNKNOWN = Estimate(value=None, low=None, high=None, n_units=0)


def all_labels(column: str) -> list[str]:
    """Every code, or every category, in the order of Table 19."""
    return [of_kind.category for of_kind in categories()] if column == "category" else list(codes())


def score(
    measure: str,
    unit: str,
    estimate: Estimate,
    *,
    run: str,
    judge: str,
    judged_by: str,
    dataset: str = ALL,
    drawing: Drawing | None = None,
    **setting: Any,
) -> Score:
    """One score of the flips of one name."""
    return Score(
        run=run,
        judge=judge,
        setting={**dict.fromkeys(ASKED), "judged_by": judged_by, **setting},
        dataset=dataset,
        datasets=(dataset,),
        measure=measure,
        unit=unit,
        estimate=estimate,
        drawing=drawing,
    )


def scores_of(flips: pd.DataFrame, drawing: Drawing) -> Iterator[Score]:
    """Counts, shares by dataset and direction, ratios and states of one name's flips."""
    whose = flips.iloc[0][["run", "judge", "judged_by"]].to_dict()
    coded = flips[flips["primary"] != ""]
    datasets = coded["dataset"].unique()
    for dataset in [ALL, *datasets] if len(datasets) > 1 else [ALL]:
        of_dataset = coded[(coded["dataset"] == dataset) | (dataset == ALL)]
        for direction in DIRECTIONS:
            asked = {**whose, "dataset": dataset, "direction": direction}
            some = of_dataset[(of_dataset["direction"] == direction) | (direction == ALL)]
            yield score("n_flips", "count", plain(len(some), len(some)), **asked)
            for column, measure in MEASURES.items() if len(some) else ():
                for label, share in shares(some, column).items():
                    yield score(measure, "%", share, label=label, **asked)
    for column in LEVELS:
        for label in dict.fromkeys(coded[column]):
            ratio = ratio_of(coded, column, label, drawing)
            yield score(f"{column}_ratio", "ratio", ratio, drawing=drawing, label=label, **whose)
    states = Counter(state for states in flips["states"] for state in states)
    n_replies = states.total()
    for state, n in (states + Counter({TIE: int((flips["state"] == TIE).sum())})).items():
        n_asked = len(flips) if state == TIE else n_replies
        yield score("state_rate", "rate", plain(n / n_asked, n_asked), state=state, **whose)
    if len(own := flips[flips["item_id"].isin(planted().keys())]):
        n_hit = int((own["primary"] == own["item_id"].map(planted())).sum())
        yield score("planted_found", "%", plain(100 * n_hit / len(own), len(own)), **whose)


def plain(value: float, n_units: int) -> Estimate:
    """A number without an interval."""
    return Estimate(value=value, low=None, high=None, n_units=n_units)


def added_by_unit(units: Sequence[str], rows: FloatArray) -> tuple[tuple[str, ...], FloatArray]:
    """(units in the order in which they occur, the sums of their rows)."""
    places, names = pd.factorize(np.asarray(units, dtype=object))
    sums = np.zeros((len(names), *rows.shape[1:]))
    np.add.at(sums, places, rows)
    return tuple(names), sums


def shares(coded: pd.DataFrame, column: str) -> dict[str, Estimate]:
    """Label → its share of some flips in percent, with an interval of Student's t over items."""
    labels = all_labels(column)
    marks = coded[column].str.get_dummies(BETWEEN).reindex(columns=labels, fill_value=0).to_numpy(float)
    units, earned = added_by_unit(coded["unit"], marks)
    _, counted = added_by_unit(coded["unit"], np.ones_like(marks))
    observed = Observed(dataset="flips", units=units, earned=earned, counted=counted)
    keys: dict[str, Any] = {"name": "share", "unit": "%", "interval": "cluster_t", "is_share": True}
    parts = [partial(part_in_percent, number) for number in range(len(labels))]
    return {
        label: clustered(Measure(statistic=part, **keys), observed) for label, part in zip(labels, parts, strict=True)
    }


def part_in_percent(number: int, means: FloatArray) -> FloatArray:
    """The mean of one part."""
    return np.asarray(100 * means[..., number])


def ratio_of(coded: pd.DataFrame, column: str, label: str, drawing: Drawing) -> Estimate:
    """How many times as frequent a label is among deference as among skepticism flips (Table 32).

    The interval resamples items. Unknown where either share is 0 or has no flips, and without an interval where a draw
    has none.
    """
    ordered = coded.sort_values("direction", key=lambda way: way == STRICT, kind="stable")
    ways = np.stack([ordered["direction"] == way for way in (LENIENT, STRICT)], axis=1).astype(float)
    units, counted = added_by_unit(ordered["unit"], ways)
    _, earned = added_by_unit(ordered["unit"], ways * (ordered[column] == label).to_numpy()[:, None])
    drawn = Drawn(observed=Observed(dataset="ratios", units=units, earned=earned, counted=counted), drawing=drawing)
    means = drawn.observed.means
    if not (means > 0).all():
        return Estimate(value=None, low=None, high=None, n_units=len(units))
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = drawn.means[:, 0] / drawn.means[:, 1]
    ends = percentile_interval(draws) if np.isfinite(draws).all() else None
    return estimate_of(float(means[0] / means[1]), ends, len(units))


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

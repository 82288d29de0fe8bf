"""Flips with their codes → scores in long form: counts, shares of codes and categories, ratios between directions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.estimate import Drawn, Estimate, clustered, estimate_of
from eval.estimates.observed import Drawing, Measure, Observed
from eval.estimates.resampling import FloatArray, percentile_interval
from eval.estimates.scores import Score
from eval.taxonomy.coded_flips import BETWEEN, TIE
from studies.flips import LENIENT, STRICT
from studies.taxonomy.codebook import categories, codes
from studies.taxonomy.own_flips import planted

ALL = "all"  # directions, or datasets
DIRECTIONS = (ALL, LENIENT, STRICT)
MEASURES = {"primary": "primary_share", "codes": "listed_share", "category": "category_share"}  # by a flip's column
LEVELS = ("primary", "category")
ASKED = ("judged_by", "label", "direction", "raters", "against", "state")
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
    return {label: clustered(share_of_part(number), observed) for number, label in enumerate(labels)}


def share_of_part(number: int) -> Measure:
    """The share of one label in percent."""
    return Measure(
        name="share", unit="%", statistic=lambda means: 100 * means[..., number], interval="cluster_t", is_share=True
    )


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

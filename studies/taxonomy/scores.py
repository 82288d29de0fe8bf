"""Flips with their codes → scores: counts, shares, ratios between directions, agreement of judges; and before and
after: which flips a mitigation removed, which it left, and which it made."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from eval.estimates.changes import Change, Compared, Score, change_in, paired
from eval.estimates.comparability import Difference, judge_differences
from eval.estimates.estimate import Estimate, Measure, Observed, added_up, estimate_of
from eval.estimates.resampling import Drawing, FloatArray, percentile_interval, resampled_sums
from evenhand.errors import DataError
from studies.annotation.agreement import kappa_of, share_of
from studies.built_folder import read_manifest
from studies.flips import KIND, LENIENT, STRICT
from studies.taxonomy.codebook import CATEGORIES, CODES
from studies.taxonomy.coded_flips import BETWEEN, NOT_CODED, TIE, CodedRun, Searched, flips_folder
from studies.taxonomy.section import KEY

ALL = "all"  # directions, or datasets
DIRECTIONS = (ALL, LENIENT, STRICT)
MEASURES = {"primary": "primary_share", "codes": "listed_share", "category": "category_share"}  # by a flip's column
LEVELS = ("primary", "category")
ASKED = ("judged_by", "label", "direction", "raters", "against", "state")
ALL_JUDGES = "all judges"
ANY = "any flip"
CODE, CATEGORY = "code", "category"
ALL_ITEMS = "all items"
PER_100 = Measure(
    name="flips_per_100_items", unit="%", statistic=lambda means: 100 * means[..., 0], interval="cluster_t"
)


def all_labels(column: str) -> list[str]:
    """Every code, or every category, in the order of Table 19."""
    return [of_kind.category for of_kind in CATEGORIES] if column == "category" else list(CODES)


def score(
    measure: str, unit: str, estimate: Estimate, *, run: str, judge: str, drawing: Drawing | None = None, **setting: Any
) -> Score:
    """One score of the flips of one name. setting: judged_by, and perhaps the dataset and others of ASKED."""
    return Score(
        run=run,
        judge=judge,
        dataset=setting.pop("dataset", ALL),
        setting=dict.fromkeys(ASKED) | setting,
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
            setting = {**whose, "dataset": dataset, "direction": direction}
            some = of_dataset[(of_dataset["direction"] == direction) | (direction == ALL)]
            yield score("n_flips", "count", Estimate(value=len(some), n_units=len(some)), **setting)
            for column, measure in MEASURES.items() if len(some) else ():
                for label, share in shares(some, column).items():
                    yield score(measure, "%", share, label=label, **setting)
    for column in LEVELS:
        for label in dict.fromkeys(coded[column]):
            ratio = ratio_of(coded, column, label, drawing)
            yield score(f"{column}_ratio", "ratio", ratio, drawing=drawing, label=label, **whose)
    states = Counter(state for states in flips["states"] for state in states)
    n_replies = states.total()
    for state, n in (states + Counter({TIE: int((flips["state"] == TIE).sum())})).items():
        n_asked = len(flips) if state == TIE else n_replies
        yield score("state_rate", "rate", Estimate(value=n / n_asked, n_units=n_asked), state=state, **whose)


def shares(coded: pd.DataFrame, column: str) -> dict[str, Estimate]:
    """Label → its share of some flips in percent, with an interval of Student's t over items."""
    labelled = [(unit, set(labels.split(BETWEEN))) for unit, labels in zip(coded["unit"], coded[column], strict=True)]
    return {
        label: share_of([(unit, label in labels, 1.0) for unit, labels in labelled]) for label in all_labels(column)
    }


def ratio_of(coded: pd.DataFrame, column: str, label: str, drawing: Drawing) -> Estimate:
    """How many times as frequent a label is among deference as among skepticism flips (Table 32).

    The interval resamples items. Unknown where either share is 0 or has no flips, and without an interval where a draw
    has none.
    """
    sides = [coded[coded["direction"] == direction] for direction in (LENIENT, STRICT)]
    rows = [[(unit, of == label, 1.0) for unit, of in zip(side["unit"], side[column], strict=True)] for side in sides]
    observed = added_up("ratios", rows)
    means, n_units = observed.means, len(observed.units)
    if not (means > 0).all():
        return Estimate(value=None, n_units=n_units)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = observed.drawn_means(drawing)
        draws = drawn[:, 0] / drawn[:, 1]
    interval = percentile_interval(draws) if np.isfinite(draws).all() else None
    return estimate_of(float(means[0] / means[1]), interval, n_units)


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
    places, names = pd.factorize(np.asarray(units, dtype=object))
    matrices = np.zeros((len(names), len(labels), len(labels)))
    np.add.at(matrices, places, [coincidence(of_flip, labels) for of_flip in ratings])
    sums = resampled_sums(matrices.reshape(len(matrices), -1), drawing, "alpha")
    draws = alpha(sums.reshape(-1, len(labels), len(labels)))
    return estimate_of(float(alpha(matrices.sum(axis=0))), percentile_interval(draws), len(matrices))


def agreements(coded: Sequence[CodedRun], drawing: Drawing) -> Iterator[Score]:
    """On the primary code: of a judge that judged several times with itself, of every two of one model, and of all."""
    for model in dict.fromkeys(run.judge for run in coded):
        judges = [run for run in coded if run.judge == model]
        for run in judges:
            samples = run.flips["primaries"].map(list)
            yield from rated([run], f"{run.judged_by}, repeated", run.flips["unit"], samples, drawing)
        for raters in [*combinations(judges, 2), *([judges] if len(judges) > 2 else [])]:
            names = [run.judged_by for run in raters]
            names = names if len({*names}) > 1 else [run.name for run in raters]
            name = ALL_JUDGES if len(raters) > 2 else " and ".join(names)
            flips = pd.concat([run.flips[run.flips["primary"] != ""] for run in raters])
            by_flip = flips.groupby("flip_id", sort=False)
            yield from rated(raters, name, by_flip["unit"].first(), by_flip["primary"].agg(list), drawing)


def rated(
    judges: Sequence[CodedRun], raters: str, units: pd.Series, ratings: pd.Series, drawing: Drawing
) -> Iterator[Score]:
    """The scores of some raters over the flips with several ratings; nothing without any. κ is of two judges."""
    is_shared = ratings.map(len) > 1
    units, ratings, labels = units[is_shared].tolist(), ratings[is_shared].tolist(), list(CODES)
    if not units:
        return
    runs, judged_by = (dict.fromkeys(getattr(run, name) for run in judges) for name in ("name", "judged_by"))
    setting: dict[str, Any] = {"judge": judges[0].judge, "run": " ".join(runs), "raters": raters}
    setting["judged_by"] = ", ".join(judged_by)
    if len(judges) == 2:
        pairs = [(unit, first, second) for unit, (first, second) in zip(units, ratings, strict=True)]
        equal = share_of([(unit, first == second, 1.0) for unit, first, second in pairs])
        yield score("agreement", "%", equal, **setting)
        yield score("kappa", "ratio", kappa_of(pairs, labels), drawing=drawing, **setting)
    yield score("alpha", "ratio", alpha_of(units, ratings, labels, drawing), drawing=drawing, **setting)


class Influences(NamedTuple):
    """The flips of one label (ANY, a code, NOT_CODED, a category) in two runs, over the items of both."""

    label: str
    level: str  # CODE or CATEGORY
    units: Collection[str]
    before: pd.DataFrame
    after: pd.DataFrame
    removed: pd.DataFrame  # those before whose claim has a verdict after; is_gone: it is no flip there
    made: pd.DataFrame  # those after whose claim has a verdict before; is_gone: it is no flip there
    left_out: pd.Series  # the units of the claims that are not compared, by claim

    @property
    def counts(self) -> dict[str, int]:
        """n_before and n_after, flips of the label; n_removed, flips before and none after; n_unknown, flips before
        whose claim has no verdict after; n_left, flips before and after, whatever the label is after; n_same, of the
        label both times; n_made, flips after and none before; n_left_out of n_claims are not compared."""
        n_removed, n_unknown = int(self.removed["is_gone"].sum()), len(self.before) - len(self.removed)
        return {
            "n_before": len(self.before),
            "n_removed": n_removed,
            "n_left": len(self.before) - n_removed - n_unknown,
            "n_same": int(self.before["claim"].isin(self.after["claim"]).sum()),
            "n_unknown": n_unknown,
            "n_after": len(self.after),
            "n_made": int(self.made["is_gone"].sum()),
            "n_left_out": len(self.left_out),
            "n_claims": 2 * len(self.units),
        }


def moves(base: CodedRun, after: CodedRun) -> Iterator[Influences]:
    """Of any flip, and of each label that occurs. Raises DataError where the runs cannot be paired.

    Compared are claims with a verdict in both runs; for a code or category only those whose flips all have a code: a
    flip that the judge's reply does not explain was not removed.
    """
    units = dict.fromkeys(unit for unit in base.searched.units if unit in set(after.searched.units))
    if not units:
        raise DataError(f"{after.run.path}: its flips are of other items than those of {base.run.path}")
    ours, theirs = base.searched, after.searched
    ours, theirs = (side._replace(flips=side.flips[side.flips["unit"].isin(units)]) for side in (ours, theirs))
    no_verdict = {claim: unit for claim, unit in {**ours.undecided, **theirs.undecided}.items() if unit in units}
    flips = pd.concat([ours.flips, theirs.flips])
    no_code = no_verdict | flips[flips["code"] == NOT_CODED].set_index("claim")["unit"].to_dict()
    levels = dict.fromkeys([ANY, *CODES, NOT_CODED], CODE) | {each.category: CATEGORY for each in CATEGORIES}
    for label, level in levels.items():
        before, later = (
            side.flips[(side.flips["code"] == label) | (side.flips["category"] == label) | (label == ANY)]
            for side in (ours, theirs)
        )
        if label == ANY or len(before) + len(later):
            left_out = pd.Series(no_verdict if label == ANY else no_code, dtype=object)
            yield Influences(label, level, units, before, later, gone(before, theirs), gone(later, ours), left_out)


def gone(flips: pd.DataFrame, searched: Searched) -> pd.DataFrame:
    """The flips whose claim has a verdict on the other side, and whether it is no flip there."""
    decided = flips[~flips["claim"].isin(searched.undecided)]
    return decided.assign(is_gone=~decided["claim"].isin(searched.flips["claim"]))


def share_gone(flips: pd.DataFrame) -> Estimate:
    """The share that is no flip on the other side, over items; unknown without flips."""
    rows = [(unit, is_gone, 1.0) for unit, is_gone in zip(flips["unit"], flips["is_gone"], strict=True)]
    return share_of(rows) if rows else Estimate(value=None, n_units=0)


def moved_scores(base: CodedRun, after: CodedRun, names: tuple[str, str]) -> Iterator[Score]:
    """The shares of each label's flips that were removed and made. names: what tables call the two."""
    whose: dict[str, Any] = {"run": after.name, "judge": names[1], "judged_by": after.judged_by}
    for influences in moves(base, after):
        for measure, flips in (("removed", influences.removed), ("made", influences.made)):
            yield score(measure, "%", share_gone(flips), **whose, label=influences.label, against=names[0])


def flip_changes(base: CodedRun, after: CodedRun, names: tuple[str, str], drawing: Drawing) -> list[Change]:
    """The change in flips per 100 items, paired by item, of any flip and of each code and category that occurs."""
    changes = []
    for influences in (influences for influences in moves(base, after) if influences.label != NOT_CODED):
        pair = paired(counted(influences, influences.before), counted(influences, influences.after), drawing)
        compared = Compared(*names, {"judged_by": base.judged_by, "level": influences.level, "label": influences.label})
        changes.append(change_in(PER_100, [pair], compared, ALL_ITEMS))
    return changes


def counted(influences: Influences, flips: pd.DataFrame) -> Observed:
    """Flips of each item; one counts if any of its two claims is compared."""
    units, is_out = tuple(influences.units), flips["claim"].isin(influences.left_out.index)
    claims_of = (flips["unit"][~is_out], influences.left_out)
    of_units = [claims.value_counts().reindex(units, fill_value=0) for claims in claims_of]
    n_flips, n_out = (of_unit.to_numpy(float)[:, None] for of_unit in of_units)
    return Observed(dataset=ALL_ITEMS, units=units, earned=n_flips, counted=(n_out < 2).astype(float))


def run_differences(base: CodedRun, after: CodedRun) -> list[Difference]:
    """What the judge's runs and the folders of flips differ in; other flips are meant to be there."""
    ours, theirs = (read_manifest(flips_folder(coded.run), KIND) for coded in (base, after))
    found_differences = [
        Difference(f"{key} of flips", " and ".join(ours[key]), " and ".join(theirs[key]), serious=True)
        for key in ("framings", "kinds")
        if ours[key] != theirs[key]
    ]
    found_differences += judge_differences(base.run, after.run, [f"{KEY}.flips"])
    return sorted(found_differences, key=lambda difference: not difference.serious)

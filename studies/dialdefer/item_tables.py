"""Item by item: flips, agreement of judges (Tables 24 to 29, 33); r/AIO (Tables 4, 14, 16). See tables.yaml."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.changes import Compared, change_in
from eval.estimates.estimate import Observed, estimate
from eval.estimates.resampling import Drawing
from eval.report.tables import TableSpec
from studies.dialdefer.measures import CONDITIONS, credit, dds_pp, deltas_pp, flip_masks
from studies.dialdefer.panels import JudgedRun, Panel, labels_of, setting_panels, without_lost
from studies.dialdefer.quantities import ACC_C1_TRUE, DDS, observed, pair_of
from studies.dialdefer.scores import AIO
from studies.dialdefer.tables import table

Judges = Mapping[str, JudgedRun]  # by the name that tables call them by


def item_frame(judges: Judges, denominator: str = "published") -> pd.DataFrame:
    """A row for each judge and item of the main setting, without those lost to engine errors.

    judge, dataset, item; deference, skepticism, flipped (either); flips, 0 to 2; dds_pp, its own DDS from its credit
    for accuracy (0 or 1, ½ for a tie, a fraction with several samples), NaN where a condition is not counted. With
    denominator `published` the mean of dds_pp over a dataset is the dataset's DDS.
    """
    parts = []
    for name, judge in judges.items():
        for (panel,) in map(without_lost, setting_panels(judge).values()):
            deference, skepticism = flip_masks(panel.replies)
            earned, counted = credit(panel.replies, denominator)
            columns = {
                "judge": name,
                "dataset": panel.dataset,
                "item": panel.item_ids,
                "deference": deference,
                "skepticism": skepticism,
                "flipped": deference | skepticism,
                "flips": deference.astype(int) + skepticism,
                "dds_pp": np.where(counted.all(axis=1), dds_pp(earned), np.nan),
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts)


def flip_counts(items: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Items, flips by direction, rates in percent, and item-level DDS (mean, standard deviation with ddof 0) of groups.

    Items of all datasets are pooled: a dataset weighs as many items as it has.
    """
    groups = items.groupby(list(by), sort=False)
    counts = groups.agg(
        items=("item", "size"),
        deference=("deference", "sum"),
        skepticism=("skepticism", "sum"),
        flips=("flips", "sum"),
        flipped=("flipped", "sum"),
        dds_pp=("dds_pp", "mean"),
    )
    return counts.assign(
        rate=100 * counts.flips / counts["items"],
        deference_share=100 * counts.deference / counts.flips.where(counts.flips > 0),
        dds=counts.dds_pp / 100,
        std=groups.dds_pp.std(ddof=0) / 100,
    ).reset_index()


def item_tables(items: pd.DataFrame) -> list[TableSpec]:
    """Tables 26, 28, and 25 with 29."""
    by_judge, total = flip_counts(items, ["judge"]), flip_counts(items.assign(judge="total"), ["judge"])
    cells = flip_counts(items, ["dataset", "judge"])
    cells["directions"] = cells.deference.astype(str) + "/" + cells.skepticism.astype(str)
    wide = cells.pivot(index="dataset", columns="judge").reindex(items.dataset.unique())
    heads = ["dataset", *items.judge.unique()]
    return [
        table("table26_flip_rates", wide["rate"].reset_index(), heads),
        table("table26_flip_directions", wide["directions"].reset_index(), heads),
        table("table28_flip_totals", pd.concat([by_judge, total])),
        table("table25_model_statistics", by_judge),
    ]


def agreement(names: Sequence[str], items: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """In how many of some judges items flip, over the items that all of them answered, and what was left out.

    items: their item_frame. A row for each dataset and "total": items, all, none, some (that flip in so many judges),
    agreement (% on which all do the same), by_chance (items that would flip in all if judges flipped independently at
    their rates).
    """
    wide = items.pivot(index=["dataset", "item"], columns="judge", values="flipped").reindex(columns=[*names])
    flipped = wide.dropna().astype(bool).reindex(items.dataset.unique(), level="dataset")
    n_judges, total = flipped.sum(axis=1), len(names)
    parts = {"items": 1, "all": n_judges == total, "none": n_judges == 0, "some": n_judges.between(1, total - 1)}
    counts = pd.DataFrame(parts, index=flipped.index).groupby("dataset", sort=False).sum()
    counts["by_chance"] = counts["items"] * flipped.groupby("dataset", sort=False).mean().prod(axis=1)
    counts.loc["total"] = counts.sum()
    counts = counts.astype(dict.fromkeys(("items", "all", "none", "some"), int))
    counts["agreement"] = 100 * (counts["all"] + counts["none"]) / counts["items"]
    note = f"Judges: {', '.join(names)}. An item flips in a judge if it flips in either direction."
    if n_others := len(wide) - len(flipped):
        note += f" Left out: {n_others} items that some judge was not asked, or that its engine failed to answer."
    return counts, note


def agreement_tables(names: Sequence[str], items: pd.DataFrame) -> list[TableSpec]:
    """Table 27, which has the columns of Table 24, and Table 33; none where no item was answered by all judges."""
    counts, note = agreement(names, items)
    if not counts["items"]["total"]:
        return []
    total = counts.loc["total"]
    numbers = {
        "total items": total["items"],
        f"flip in all {len(names)} models": total["all"],
        "flip in no model": total["none"],
        "flip in some models": total["some"],
        "agreement (all or none)": total["all"] + total["none"],
    }
    lines = pd.DataFrame({"metric": list(numbers), "items": [int(n) for n in numbers.values()]})
    lines["share"] = (100 * lines["items"] / total["items"]).where(lines.index > 0)
    return [
        table("table27_flip_agreement", counts.reset_index(names="dataset"), agreed=note),
        table("table33_flip_agreement_total", lines, agreed=note, judges=", ".join(names)),
    ]


REVERSED_ROLES = "1->2"  # Speaker 1 judges the original poster
OR, NOR = "OR", "NOR"  # overreacting, not overreacting: the original poster, in the eyes of the community
EVERY = "all"


def alignments(judges: Judges, *, denominator: str = "published", drawing: Drawing) -> pd.DataFrame:
    """A row for each judge of r/AIO whose items' labels are all known, with <stratum>_<figure> of the strata OR, NOR
    and all.

    n_items, acc_* in percent, *_pp; NaN where there is no item. balanced_dds_pp = (DDS_OR + DDS_NOR) / 2 (equation 4):
    what DDS would be if both verdicts were equally frequent. Its interval resamples items within each stratum.
    """
    rows = []
    for name, judge in judges.items():
        panel = setting_panels(judge).get(AIO)
        if panel and (labels := labels_of(judge)).keys() >= {*panel.item_ids}:
            rows.append({"judge": name, **strata(labels, panel, denominator, drawing)})
    return pd.DataFrame(rows)


def strata(label_of: Mapping[str, str], panel: Panel, denominator: str, drawing: Drawing) -> dict[str, Any]:
    """The figures of one judge. label_of: item → OR or NOR."""
    (panel,) = without_lost(panel)
    labels = np.array([label_of[item_id] for item_id in panel.item_ids])
    row: dict[str, Any] = {}
    strata = dict[str, list[Observed]]()
    for name, is_in in ((OR, labels == OR), (NOR, labels == NOR), (EVERY, labels != "")):
        (of_stratum,) = observed("verdicts", [panel.at(np.flatnonzero(is_in))], denominator)
        # Strata are independent samples, so their draws must not run in step: each has a generator of its own.
        strata[name] = [replace(of_stratum, dataset=f"{panel.dataset} {name}")]
        acc = of_stratum.means
        row |= {f"{name}_n_items": int(is_in.sum()), f"{name}_delta_correct_pp": deltas_pp(acc)[0]}
        row |= {f"{name}_acc_{condition}": rate for condition, rate in zip(CONDITIONS, 100 * acc, strict=True)}
    for name, over in {**strata, "balanced": strata[OR] + strata[NOR]}.items():
        dds = estimate(DDS, over, drawing)
        row |= {f"{name}_dds_pp": dds.value, f"{name}_low_pp": dds.low, f"{name}_high_pp": dds.high}
    return row


def reversal_table(judges: Judges, *, denominator: str = "published", drawing: Drawing) -> TableSpec:
    """DialDefer Table 14, with intervals, and with accuracy on C1_True: which side the narrative is on (C.4).

    A row for each judge and dataset that was asked in both directions, untreated and in the main prompt variant. In
    2->1 the original poster (Speaker 2) judges the other party, in 1->2 the reverse. Files of verdicts may have other
    items in one direction: such a dataset is left out.
    """
    rows = []
    for name, judge in judges.items():
        there, back = setting_panels(judge), setting_panels(judge, REVERSED_ROLES)
        for dataset in (name for name in back if name in there and there[name].item_ids == back[name].item_ids):
            pair = pair_of("verdicts", [there[dataset]], [back[dataset]], denominator, drawing)
            dds, acc = (change_in(m, pair, Compared("2->1", "1->2", {}), dataset) for m in (DDS, ACC_C1_TRUE))
            of_acc = {"c1_true_before": acc.before.value, "c1_true_after": acc.after.value}
            rows.append({"judge": name, **dds.as_dict(), **of_acc})
    return table("table14_reversal", pd.DataFrame(rows))

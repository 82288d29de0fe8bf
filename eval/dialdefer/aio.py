"""r/AIO: OR and NOR strata with balanced DDS (DialDefer §4, Tables 4 and 16), and who judges whom (Table 14).

Items are stratified by the community's verdict on the original poster, never by the inverted one that is the truth
about Speaker 1: an item is in one stratum, whoever judges whom.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eval.dialdefer.measures import CONDITIONS, credit, dds_pp, deltas_pp
from eval.dialdefer.observe import ACC_C1_TRUE, DDS, pair_of
from eval.dialdefer.panels import MAIN_ROLES, Judge, Panel, named, panels_by_judge, setting_panels, without_errors
from eval.dialdefer.scores import AIO
from eval.dialdefer.tables import columns, same, tabled
from eval.estimates.changes import Compared, change_in
from eval.estimates.estimate import Drawing
from eval.estimates.resampling import percentile_interval, resampled_means, rng_for
from eval.report.tables import TableSpec
from evenhand.errors import DataError

REVERSED_ROLES = "1->2"  # Speaker 1 judges the original poster
OR, NOR = "OR", "NOR"  # overreacting, not overreacting: the original poster, in the eyes of the community
EVERY = "all"
UNKNOWN = (float("nan"), float("nan"))


def alignments(
    judges: Sequence[Judge],
    roles: str = MAIN_ROLES,
    *,
    dataset: str = AIO,
    denominator: str = "published",
    drawing: Drawing,
) -> pd.DataFrame:
    """A row for each judge that judged the dataset, with <stratum>_<figure> of the strata OR, NOR and all.

    n_items, acc_* in percent, *_pp; NaN where there is no item. balanced_dds_pp = (DDS_OR + DDS_NOR) / 2 (equation 4):
    what DDS would be if both verdicts were equally frequent. Its interval resamples items within each stratum. Raises
    DataError when the label of a judged item is unknown; nothing is guessed from answers or ids.
    """
    panels = panels_by_judge(judges, roles)
    there = [judge for judge in judges if dataset in panels[judge.name]]
    rows = [strata(judge, panels[judge.name][dataset], denominator, drawing) for judge in there]
    return pd.DataFrame(rows).assign(dataset=dataset, roles=roles)


def strata(judge: Judge, panel: Panel, denominator: str, drawing: Drawing) -> dict[str, Any]:
    """The figures of one judge."""
    panel, _ = without_errors(panel)
    labels = labels_of(judge, panel)
    row: dict[str, Any] = {"judge": judge.name}
    draws = {}
    for name, is_in in ((OR, labels == OR), (NOR, labels == NOR), (EVERY, labels != "")):
        earned, counted = credit(panel.replies[is_in], denominator)
        # Strata are independent samples, so their draws must not run in step: each has a generator of its own.
        rng = rng_for(drawing.seed, panel.dataset if name == EVERY else f"{panel.dataset} {name}")
        n = drawing.n_draws
        draws[name] = dds_pp(resampled_means(earned, counted, n, rng) if is_in.any() else np.full((n, 4), np.nan))
        with np.errstate(invalid="ignore"):
            acc = earned.sum(axis=0) / counted.sum(axis=0)
        low, high = percentile_interval(draws[name]) or UNKNOWN
        row |= {f"{name}_n_items": int(is_in.sum()), f"{name}_delta_correct_pp": deltas_pp(acc)[0]}
        row |= {f"{name}_acc_{condition}": rate for condition, rate in zip(CONDITIONS, 100 * acc, strict=True)}
        row |= {f"{name}_dds_pp": float(dds_pp(acc)), f"{name}_dds_ci_low_pp": low, f"{name}_dds_ci_high_pp": high}
    low, high = percentile_interval((draws[OR] + draws[NOR]) / 2) or UNKNOWN
    balanced = (row["OR_dds_pp"] + row["NOR_dds_pp"]) / 2
    return {**row, "balanced_dds_pp": balanced, "balanced_ci_low_pp": low, "balanced_ci_high_pp": high}


def labels_of(judge: Judge, panel: Panel) -> NDArray[np.str_]:
    """The label of every item of a panel. Raises DataError where one is unknown or no label."""
    lacking = [item_id for item_id in panel.item_ids if item_id not in judge.labels]
    if lacking:
        raise DataError(
            f"{judge.name}: {panel.dataset}: {named(lacking)} no known label, so OR and NOR strata cannot be formed. "
            "Give verdict files a column `label` (OR or NOR: the community's verdict on the original poster); for a "
            "sampling run, make the data root of its config readable and unchanged"
        )
    labels = np.array([judge.labels[item_id] for item_id in panel.item_ids])
    odd = sorted(set(labels.tolist()) - {OR, NOR})
    if odd:
        raise DataError(f"{judge.name}: {panel.dataset}: label '{odd[0]}' is unknown; labels are OR and NOR")
    return labels


def has_labels(judge: Judge) -> bool:
    """Whether the community's verdict is known for every r/AIO item that a judge judged in the main setting."""
    panel = setting_panels(judge).get(AIO)
    return panel is not None and all(item in judge.labels for item in panel.item_ids)


def stratum_tables(rows: pd.DataFrame) -> list[TableSpec]:
    """Tables 4 and 16."""
    keys = rows[["dataset", "roles", "OR_n_items", "NOR_n_items"]].drop_duplicates()
    over = " ".join(f"{d}, roles {roles}: {n_or} OR, {n_nor} NOR items." for d, roles, n_or, n_nor in keys.values)
    aligned = columns("judge")
    for label in (OR, NOR):
        aligned |= {f"{label} items": (f"{label}_n_items", ""), f"{label} C1": (f"{label}_acc_c1_true", "")}
        aligned |= {f"{label} C2": (f"{label}_acc_c2_correct", ""), f"{label} Δ": (f"{label}_delta_correct_pp", "+.1f")}
    fields = {"DDS OR": "OR_dds_pp", "DDS NOR": "NOR_dds_pp", "balanced DDS": "balanced_dds_pp"}
    fields |= {"95% low": "balanced_ci_low_pp", "95% high": "balanced_ci_high_pp", "overall DDS": "all_dds_pp"}
    title_4 = "Alignment with the community by its verdict: overreacting or not (DialDefer Table 4)"
    note_4 = (
        "C1 is C1_True and C2 is C2_Correct: claims that agree with the community. OR and NOR are its verdicts on the "
        f"original poster. {over}"
    )
    title_16 = "Balanced DDS: the mean over the OR and NOR strata, pp (DialDefer Table 16)"
    balanced = columns("judge") | {head: (field, "+.1f") for head, field in fields.items()}
    note_16 = f"The interval of balanced DDS resamples items within each stratum. {over}"
    return [
        tabled("table4_or_nor_alignment", title_4, rows, aligned, note_4),
        tabled("table16_balanced_dds", title_16, rows, balanced, note_16),
    ]


def reversal_table(judges: Sequence[Judge], *, denominator: str = "published", drawing: Drawing) -> TableSpec:
    """DialDefer Table 14, with intervals, and with accuracy on C1_True: which side the narrative is on (C.4).

    A row for each judge and dataset that was asked in both directions, untreated and in the main prompt variant. In
    2->1 the original poster (Speaker 2) judges the other party, in 1->2 the reverse. Raises DataError when the two
    directions are over different items.
    """
    rows = []
    for judge in judges:
        there, back = setting_panels(judge), setting_panels(judge, REVERSED_ROLES)
        for dataset in (name for name in back if name in there):
            pair = [pair_of(there[dataset], back[dataset], denominator, drawing)]
            dds, acc = (change_in(m, pair, Compared("2->1", "1->2", {}), dataset) for m in (DDS, ACC_C1_TRUE))
            row = {"judge": judge.name, "dataset": dataset, "items": dds.change.n_units}
            for head, side in (("DDS 2->1", dds.before), ("DDS 1->2", dds.after), ("Δ", dds.change)):
                row |= {head: side.value, f"{head} 95% low": side.low, f"{head} 95% high": side.high}
            rows.append({**row, "C1 true 2->1": acc.before.value, "C1 true 1->2": acc.after.value})
    ends = [f"{name}{end}" for name in ("DDS 2->1", "DDS 1->2", "Δ") for end in ("", " 95% low", " 95% high")]
    heads = {**columns("judge dataset"), **same("items", form="d"), **same(*ends, form="+.1f")}
    note = (
        "2->1: the original poster (Speaker 2) judges the other party, the main setting. Δ is 1->2 minus 2->1; "
        "its interval resamples items jointly. DDS in percentage points, accuracy in %."
    )
    heads |= same("C1 true 2->1", "C1 true 1->2", form=".1f")
    title = "Perspective reversal on r/AIO (DialDefer Table 14)"
    return tabled("table14_reversal", title, pd.DataFrame(rows), heads, note)

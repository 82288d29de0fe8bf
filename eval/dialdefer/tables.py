"""DialDefer's Tables 2, 5, 15 and 20 to 23, Figure 7 and the amplification: queries over the wide frame of scores."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from eval.dialdefer.measures import ROUNDING_PP
from eval.dialdefer.panels import MAIN_ROLES
from eval.dialdefer.scores import AIO, BENCH_AVG, FIXED, OWN, TOTAL_AVG, average_sentence, headline_rows, shown
from eval.estimates.changes import Change
from eval.report.tables import Columns, TableSpec
from eval.results import CHANGES_NOTE, Results, changes_table

ARM_WORDS = {"none": "no mitigation", "honest": "Be Honest", "dehumanizing": "Dehumanizing"}
DENOMINATOR_WORDS = {
    ("reason", "published"): "an unreadable reply counts as wrong",
    ("reason", "answered"): "unreadable replies are left out",
    ("margin", "published"): "a tie counts as half right, a missing margin as wrong",
    ("margin", "answered"): "ties and missing margins are left out",
    ("external", "published"): "an unreadable reply counts as wrong",
    ("external", "answered"): "unreadable replies are left out",
}
MAIN_CHANGES = ("dds", "acc", "acc_c2", "soft_dds", "deference", "position", "accept_c1", "accept_c2")
PARAPHRASES = ("v1", "v2", "v3")  # templates of appendix D

JUDGE: Columns = {"model": ("judge", "")}
SHIFT: Columns = {"Δ correct": ("delta_correct_pp", "+.1f"), "Δ incorrect": ("delta_incorrect_pp", "+.1f")}
DDS: Columns = {
    "DDS": ("dds_pp", "+.1f"),
    "95% low": ("dds_ci_low_pp", "+.1f"),
    "95% high": ("dds_ci_high_pp", "+.1f"),
}
P: Columns = {"p": ("mcnemar_p_acceptance", "p")}
DOUBTS: Columns = {"unreadable": ("unparsed_rate", ".1%"), "saturated": ("saturated", "")}
DOMAINS: Columns = {
    **JUDGE,
    "dataset": ("dataset", ""),
    "items": ("n_items", "d"),
    "C1 true": ("acc_c1_true", ".1f"),
    "C1 false": ("acc_c1_false", ".1f"),
    "C1": ("acc_c1", ".1f"),
    "C2 correct": ("acc_c2_correct", ".1f"),
    "C2 incorrect": ("acc_c2_incorrect", ".1f"),
    "C2": ("acc_c2", ".1f"),
    **SHIFT,
    **DDS,
    **P,
    **DOUBTS,
}
SUMMARY: Columns = {
    **JUDGE,
    "over": ("dataset", ""),
    "items": ("n_items", "d"),
    "C1": ("acc_c1", ".1f"),
    "C2": ("acc_c2", ".1f"),
    "C2 - C1": ("change_acc_pp", "+.1f"),
    **SHIFT,
    **DDS,
    **P,
    "mean |DDS|": ("mean_abs_pp", ".1f"),
    "Bench DDS": ("bench_dds_pp", "+.1f"),
    "r/AIO DDS": ("aio_dds_pp", "+.1f"),
    "amplification": ("ratio", ".1f"),
    **DOUBTS,
}
ARM_DDS: Columns = {
    f"{head} ({source} C1)": (f"{field}_{source}", form)
    for source in (FIXED, OWN)
    for head, (field, form) in {**DDS, "change": ("change_pp", "+.1f"), "†": ("dagger", "")}.items()
}
ARM_SHORT: Columns = {head: cell for head, cell in ARM_DDS.items() if not head.startswith("95%")}
MITIGATIONS: Columns = {
    **JUDGE,
    "dataset": ("dataset", ""),
    "arm": ("arm_words", ""),
    "items": ("n_items", "d"),
    "C2 correct": ("acc_c2_correct", ".1f"),
    "C2 incorrect": ("acc_c2_incorrect", ".1f"),
    "C2": ("acc_c2", ".1f"),
    "change": ("change_acc_c2_pp", "+.1f"),
    **ARM_DDS,
}
MITIGATION_SUMMARY: Columns = {
    **JUDGE,
    "arm": ("arm_words", ""),
    "C2": ("acc_c2", ".1f"),
    "change": ("change_acc_c2_pp", "+.1f"),
    "DDS over": ("bench_over", ""),
    **{head: (f"bench_{field}", form) for head, (field, form) in ARM_SHORT.items()},
    **{f"r/AIO {head}": (f"aio_{field}", form) for head, (field, form) in ARM_SHORT.items()},
}
VARIANT: Columns = {
    **JUDGE,
    "dataset": ("dataset", ""),
    "prompt variant": ("template", ""),
    "items": ("n_items", ""),
    "C1": ("acc_c1", ".1f"),
    "C2": ("acc_c2", ".1f"),
    **DDS,
    "± std": ("std_pp", ".1f"),
}
LABELS: Columns = {
    **JUDGE,
    "dataset": ("dataset", ""),
    "Speaker 1": ("speaker1", ""),
    "Speaker 2": ("speaker2", ""),
    "items": ("n_items", "d"),
    "C2": ("acc_c2", ".1f"),
    **DDS,
    "ΔDDS": ("change_pp", "+.1f"),
    "swing": ("swing_pp", "+.1f"),
}
DDS_ENDS: Columns = {"DDS": ("dds_pp", "+.1f"), "95% interval": (("dds_ci_low_pp", "dds_ci_high_pp"), "+.1f")}
SCORES: Columns = {
    "dataset": ("dataset", ""),
    "items": ("n_items", "d"),
    "C1 T": ("acc_c1_true", ".1f"),
    "C1 F": ("acc_c1_false", ".1f"),
    "C2 C": ("acc_c2_correct", ".1f"),
    "C2 I": ("acc_c2_incorrect", ".1f"),
    **SHIFT,
    **DDS_ENDS,
}
SCORES_SHORT: Columns = {"over": ("dataset", ""), "C1": ("acc_c1", ".1f"), "C2": ("acc_c2", ".1f"), **DDS_ENDS}
AMPLIFICATION: Columns = {
    **JUDGE,
    "Bench DDS": ("dds_pp", "+.1f"),
    "r/AIO DDS": ("dds_pp_aio", "+.1f"),
    "ratio": ("ratio", ".1f"),
    "at least": ("ratio_low", ".1f"),
    "at most": ("ratio_high", ".1f"),
    "direction": ("direction", ""),
}
ARMS_NOTE = (
    "Changes are from the untreated arm. Fixed C1: against the untreated arm's statements, as the paper scores "
    "mitigations; own C1 (recommended): against the treated arm's own. †: over-corrected, DDS positive before and "
    "negative after. No change is given where engine errors leave the two sides with other items."
)


def tabled(name: str, title: str, frame: pd.DataFrame, columns: Columns, note: str = "", **keys: Any) -> TableSpec:
    """A frame as a table."""
    return TableSpec(name=name, title=title, frame=frame, columns=columns, note=note, **keys)


def score_tables(frame: pd.DataFrame) -> list[TableSpec]:
    """The main results of each judge by dataset, and the headline of every other setting; as `score` prints them."""
    if frame.empty:
        return []
    rows = shown(frame)
    first = rows.denominator == rows.denominator.iloc[0]
    rows = rows.assign(
        flips=[f"{d:.0f}/{s:.0f}" for d, s in zip(rows.n_deference_flips, rows.n_skepticism_flips, strict=True)]
    )
    rows = rows.assign(setting=[setting_words(row) for row in rows.itertuples()])
    main = rows[rows.is_headline & first]
    columns = {**JUDGE, **SCORES, **measured_columns(main), "flips": ("flips", "")}
    columns |= {"p true": ("mcnemar_p_correct", "p"), "p false": ("mcnemar_p_incorrect", "p")}
    tables = [tabled("dialdefer_scores", "DDS by dataset", main, columns, reading_note(main), place="console")]
    # Over answered replies alone a table repeats the published one where every reply has a verdict.
    is_repeat = ~first & (rows.groupby(["run", "judge"]).n_unparsed.transform("sum") == 0)
    others = rows[~(rows.is_headline & first) & ~is_repeat]
    others = headline_rows(others, ["judge", "setting", "c1_source", "denominator"]) if len(others) else others
    varying = {"source of C1": ("c1_source", ""), "denominator": ("denominator", "")}
    varying = {head: of for head, of in varying.items() if others[of[0]].nunique() > 1}
    columns = {**JUDGE, "setting": ("setting", ""), **varying, **SCORES_SHORT, **measured_columns(others)}
    title = "Other arms, prompt variants and readings"
    note = "own C1: both framings from this arm; fixed C1: statements from the untreated arm, as published." * bool(
        varying
    )
    return [*tables, tabled("dialdefer_settings", title, others, columns, note, place="console")]


def setting_words(row: Any) -> str:
    """Arm, variant and roles of a row, as far as they are not the usual ones."""
    # r/AIO's opposite direction asks for no other datasets, so its roles are all that tells it apart.
    is_usual = row.roles == MAIN_ROLES
    words = [arm_words(row.arm)] if row.arm != "none" or not (row.variant or not is_usual) else []
    return ", ".join([*words, *([row.variant] if row.variant else []), *([] if is_usual else [f"roles {row.roles}"])])


def measured_columns(rows: pd.DataFrame) -> Columns:
    """The columns of what some rows have: both answer orders, margins, or parsed replies."""
    columns: dict[str, Any] = {}
    if rows.deference_pp.notna().any():
        columns |= {
            "d": ("deference_pp", "+.1f"),
            "95% of d": (("deference_ci_low_pp", "deference_ci_high_pp"), "+.1f"),
        }
        columns |= {"p": ("position_pp", "+.1f"), "95% of p": (("position_ci_low_pp", "position_ci_high_pp"), "+.1f")}
    if rows.soft_dds_pp.notna().any():
        columns |= {"soft DDS": ("soft_dds_pp", "+.1f"), "shift, SD": ("shift", "+.2f")}
        return columns | {"AUC C1": ("auc_c1", ".3f"), "AUC C2": ("auc_c2", ".3f")}
    return columns | {"unreadable": ("unparsed_rate", ".1%")}


def change_tables(results: Results) -> list[TableSpec]:
    """What changed: over the widest average with both sources of C1, and DDS by dataset with own C1."""
    changes = results.changes
    if changes.empty:
        return []
    changes = changes[(changes.datasets.str.len() > 1) | (changes.datasets.str[0] == changes.dataset)]
    main = changes[changes.arm.eq("none") | ~changes.arm.eq("none").any()]
    is_own = main.c1_source == OWN
    best = main.dataset.map({TOTAL_AVG: 0, BENCH_AVG: 1}).fillna(3 - (main.datasets.str.len() > 1))
    is_best = best == best.groupby([main.second, main.variant]).transform("min")
    short = main[is_best & (is_own & main.measure.isin(MAIN_CHANGES) | (main.measure == "dds"))]
    shifts = main[is_best & main.measure.isin(["shift", "shift_in_base_sd"])]
    by_dataset = main[is_own & main.measure.isin(["dds", "acc_c2", "accept_c1", "accept_c2", "deference", "position"])]
    note = f"{CHANGES_NOTE} own C1 (recommended): both framings from one checkpoint; fixed C1: against the base's C1."
    title = "Before and after"
    of_shifts: dict[str, Any] = {
        "name": "dialdefer_shifts",
        "title": f"{title}, shift of margins in standard deviations",
        "note": "",
    }
    by_name: dict[str, Any] = {"name": "dialdefer_changes_datasets", "title": f"{title}, by dataset", "place": "page"}
    every: dict[str, Any] = {"name": "dialdefer_changes_all", "title": "Every change", "place": "files"}
    return [
        changes_table(results, short, title=title, note=note),
        changes_table(results, shifts, digits=2, **of_shifts),
        changes_table(results, by_dataset, **by_name),
        changes_table(results, changes, digits=2, **every),
    ]


def arm_words(arm: str) -> str:
    """What an arm is called in tables."""
    return ARM_WORDS.get(arm, arm)


def reading_words(row: Any) -> str:
    """The verdict mode and how replies were read, of a row of scores."""
    if row.verdict == "margin":
        return "margins"
    parser = f"{row.parser} parser" if isinstance(row.parser, str) else "as given"
    is_partly = isinstance(row.parser, str) and row.verdict == "external"
    return f"{row.verdict}, {parser}{' where no choice is given' if is_partly else ''}"


def reading_note(rows: pd.DataFrame) -> str:
    """What the numbers of a table are: verdict, denominator, units, intervals, and over what averages are."""
    if rows.empty:
        return "No judge was asked so."
    row = rows.iloc[0]
    counted = DENOMINATOR_WORDS[row.verdict, row.denominator]
    averages = dict.fromkeys(zip(rows.dataset[rows.is_average], rows.datasets[rows.is_average], strict=True))
    n_errors = int(rows.n_errors[rows.is_dataset].sum())
    sentences = [
        f"Verdicts from {reading_words(row)}; denominator {row.denominator}: {counted}.",
        f"Accuracies in %, Δ and DDS in percentage points; 95% intervals from {row.n_draws:,} draws of items.",
        *(average_sentence(name, over) for name, over in averages),
        *([f"The engine lost {n_errors} replies; their items are left out."] if n_errors else []),
    ]
    return " ".join(sentences)


def domains(frame: pd.DataFrame) -> pd.DataFrame:
    """Each judge's main rows: datasets by falling DDS, unknown ones last, then averages."""
    rows = shown(frame[frame.is_main])
    keys = rows.assign(place=pd.factorize(rows.judge)[0], falling=-rows.dds_pp.where(rows.is_dataset))
    keys = keys.sort_values(["place", "is_average", "falling"], kind="stable", na_position="last")
    return rows.loc[keys.index].assign(saturated=rows.saturated.map({True: "yes", False: ""}))


def domain_table(frame: pd.DataFrame) -> TableSpec:
    """Every dataset and average of every judge, as DialDefer Table 20."""
    rows = domains(frame)
    title = "Accuracy under statement (C1) and dialogue (C2) framing, and DDS, by dataset (DialDefer Table 20)"
    return tabled("table20_domains", title, rows, DOMAINS, f"{reading_note(rows)} {P_NOTE}")


P_NOTE = "p: exact McNemar test on acceptance, items pooled."


def summaries(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each judge over all its datasets, with what a signed average hides."""
    main = frame[frame.is_main]
    rows = headline_rows(main).set_index("judge", drop=False)
    of_judge = dict(zip(rows.judge, rows.datasets, strict=True))
    datasets = main[main.is_dataset]
    datasets = datasets[[d in of_judge[judge] for judge, d in zip(datasets.judge, datasets.dataset, strict=True)]]
    named = {name: main[main.dataset == name].set_index("judge").dds_pp for name in (BENCH_AVG, AIO)}
    return rows.assign(
        change_acc_pp=rows.acc_c2 - rows.acc_c1,
        mean_abs_pp=datasets.dds_pp.abs().groupby(datasets.judge).mean(),
        bench_dds_pp=named[BENCH_AVG],
        aio_dds_pp=named[AIO],
        ratio=amplifications(frame).ratio,
        saturated=rows.saturated.map({True: "yes", False: ""}),
    )


def summary_table(frame: pd.DataFrame) -> TableSpec:
    """A line for each judge, as DialDefer Table 2."""
    rows = summaries(frame)
    words = [
        reading_note(rows),
        P_NOTE,
        "mean |DDS|: over the datasets, so that opposite shifts do not cancel.",
        "Amplification: |r/AIO DDS| / |Bench DDS|, a dash where the interval of Bench DDS includes 0.",
    ]
    dds = rows.dds_pp.dropna()
    if len(dds) > 1:
        words.append(f"Over {len(dds)} judges: mean DDS {dds.mean():+.1f}, mean |DDS| {dds.abs().mean():.1f}.")
    if rows.datasets.nunique() > 1 or rows.n_items.nunique() > 1:
        words.append("The judges were not all asked the same items; compare lines over the same datasets only.")
    title = "Main results: average accuracy, change from statement (C1) to dialogue (C2) framing, and DDS (Table 2)"
    return tabled("table2_summary", title, rows, SUMMARY, " ".join(words))


def amplifications(frame: pd.DataFrame) -> pd.DataFrame:
    """Each judge's DDS on r/AIO against its Bench Avg DDS, and |r/AIO DDS| / |Bench DDS| (§4, Insight 3: "2-5×").

    ratio is NaN where the 95 % interval of Bench DDS includes 0: a shift that may be nothing cannot be multiplied, and
    the ratio of a DDS near 0 has no bounds. ratio_low and ratio_high are the ratio at the ends of both intervals; the
    items are different ones, so they cover at least 0.95² = 90 %. The paper gives no definition; its ratios by this one
    are 2.3 to 4.9 for four judges and 7.6 for GPT-4o, where the direction turns as well.
    """
    fields = ["judge", *(field for field, _ in DDS.values())]
    bench, aio = (frame.loc[frame.is_main & (frame.dataset == name), fields].dropna() for name in (BENCH_AVG, AIO))
    rows = bench.merge(aio, on="judge", suffixes=("", "_aio")).set_index("judge", drop=False)
    ends = {side: rows[[f"dds_ci_low_pp{side}", f"dds_ci_high_pp{side}"]] for side in ("", "_aio")}
    most = {side: pair.abs().max(axis=1) for side, pair in ends.items()}
    includes_0 = {side: (pair.iloc[:, 0] <= 0) & (pair.iloc[:, 1] >= 0) for side, pair in ends.items()}
    least = {side: pair.abs().min(axis=1).mask(includes_0[side], 0.0) for side, pair in ends.items()}
    is_nothing = rows[["dds_pp", "dds_pp_aio"]].abs().min(axis=1) < ROUNDING_PP
    turned = rows.dds_pp * rows.dds_pp_aio < 0
    return rows.assign(
        ratio=(rows.dds_pp_aio / rows.dds_pp).abs().mask(includes_0[""]),
        ratio_low=(least["_aio"] / most[""]).mask(includes_0[""]),
        ratio_high=(most["_aio"] / least[""]).mask(includes_0[""]),
        direction=turned.map({True: "turned", False: "same"}).mask(is_nothing, "none"),
    )


def amplification_table(frame: pd.DataFrame) -> TableSpec:
    """Bench Avg DDS, r/AIO DDS and their ratio, a line for each judge that has both."""
    note = (
        "Ratio of magnitudes; a dash where the 95% interval of Bench DDS includes 0, so that there is nothing to "
        f"multiply. Its bounds cover at least 90%. {reading_note(shown(frame[frame.is_main]))}"
    )
    title = "From benchmarks to natural conversations"
    return tabled("amplification", title, amplifications(frame), AMPLIFICATION, note)


def mitigations(frame: pd.DataFrame) -> pd.DataFrame:
    """Every arm of every judge on each dataset and average beside the untreated arm, that first.

    Datasets by falling untreated DDS, arms as they appear. Only what the untreated arm has too takes part; an average
    counts when both are over the same datasets. The paper's DDS holds a treated arm's C2 against the untreated C1
    (fixed C1, §7); own C1 is of the same judge under the same treatment.
    """
    untreated = domains(frame).assign(arm_place=-1)
    untreated = untreated.assign(place=range(len(untreated)))
    treated = frame[(frame.roles == MAIN_ROLES) & (frame.variant == "") & (frame.arm != "none")]
    treated = treated.assign(arm_place=treated.index)
    treated["arm_place"] = treated.groupby(["judge", "dataset", "arm"]).arm_place.transform("min")
    keys = ["judge", "dataset", "datasets"]
    base = untreated[[*keys, "place", "n_items", "acc_c2", "dds_pp"]]
    treated = treated.merge(base, on=keys, suffixes=("", "_base"))
    has_change = treated.n_items == treated.n_items_base
    is_over = (treated.dds_pp_base > ROUNDING_PP) & (treated.dds_pp < -ROUNDING_PP)
    treated = treated.assign(
        change_acc_c2_pp=(treated.acc_c2 - treated.acc_c2_base).where(has_change),
        change_pp=(treated.dds_pp - treated.dds_pp_base).where(has_change),
        dagger=is_over.map({True: "†", False: ""}),
    )
    untreated = untreated.assign(change_acc_c2_pp=float("nan"), change_pp=float("nan"), dagger="")
    sides = {
        source: pd.concat([untreated, treated[treated.c1_source == source]]).set_index(["place", "arm"])
        for source in (FIXED, OWN)
    }
    rows = pd.concat(sides.values())
    rows = rows[~rows.index.duplicated()].sort_values(["place", "arm_place"], kind="stable")
    for source, side in sides.items():
        for field in ("dds_pp", "dds_ci_low_pp", "dds_ci_high_pp", "change_pp", "dagger"):
            cells = side[field].reindex(rows.index)
            rows[f"{field}_{source}"] = cells.fillna("") if field == "dagger" else cells
    rows = rows.reset_index()
    return rows.assign(arm_words=rows.arm.map(arm_words))


def mitigation_table(frame: pd.DataFrame) -> TableSpec:
    """Every arm on every dataset and average of every judge, as DialDefer Tables 21 to 23."""
    rows = mitigations(frame)
    title = "Mitigations by dataset: accuracy under dialogue framing (C2) and DDS (DialDefer Tables 21 to 23)"
    return tabled("table21_mitigations", title, rows, MITIGATIONS, f"{ARMS_NOTE} {reading_note(rows)}")


def mitigation_summary_table(frame: pd.DataFrame) -> TableSpec:
    """A line for each arm of each judge, as DialDefer Table 5: accuracy over all its datasets, Bench and r/AIO DDS.

    A judge with other datasets has the DDS of their average instead; column `DDS over` says which.
    """
    rows, by = mitigations(frame), ["judge", "arm"]
    lines = headline_rows(rows, by).set_index(by, drop=False)
    lines = lines.loc[rows.set_index(by).index.unique()]
    benches = headline_rows(rows[~rows.dataset.isin([AIO, TOTAL_AVG])], by).set_index(by).reindex(lines.index)
    aio = rows[rows.dataset == AIO].set_index(by).reindex(lines.index)
    has_bench = benches.dataset.notna()
    # An arm that was asked other datasets than the untreated one has no average to show.
    is_partial = lines.is_dataset & (lines.arm != "none") & (rows.groupby(by).size().reindex(lines.index) > 1)
    lines["bench_over"] = benches.dataset.where(has_bench, lines.dataset).mask(is_partial, "other datasets")
    for field, _ in ARM_SHORT.values():
        empty = "" if str(field).startswith("dagger") else float("nan")
        lines[f"bench_{field}"] = benches[field].where(has_bench, lines[field]).mask(is_partial, empty)
        lines[f"aio_{field}"] = aio[field].where(aio.dataset.notna(), empty).mask(is_partial, empty)
    for field in ("acc_c2", "change_acc_c2_pp"):
        lines[field] = lines[field].mask(is_partial)
    title = "Mitigations: accuracy under dialogue framing (C2) over all datasets, and DDS (DialDefer Table 5)"
    return tabled("table5_mitigations", title, lines, MITIGATION_SUMMARY, f"{ARMS_NOTE} {reading_note(rows)}")


def beside_main(frame: pd.DataFrame, alike: Sequence[str], takes_part: Callable[[Any, Any], bool]) -> list[Any]:
    """[main row, rows of other variants that take part beside it] for each dataset and average with any.

    alike: what both have in common. A variant that was asked over other datasets than the main one is left out.
    """
    same = ("judge", "dataset", "datasets", "arm", "c1_source", "roles", *alike)
    rows = list(shown(frame).itertuples())
    groups = []
    for main in (row for row in rows if row.is_main):
        key = [getattr(main, name) for name in same]
        others = [row for row in rows if row.variant and [getattr(row, name) for name in same] == key]
        others = [row for row in others if takes_part(main, row)]
        if others:
            groups.append([main, *others])
    return groups


def paraphrase_table(frame: pd.DataFrame) -> TableSpec:
    """DDS of each judge under its main variant and under each paraphrase of it, then the paraphrases' mean ± std.

    DialDefer Table 15; the main prompt variant is its v0. A dataset or average takes part when it was asked in a
    paraphrase over the same datasets. The standard deviation is over paraphrases (ddof 1), so one alone has none.
    """
    alike = ("answer_form", "answer_order", "speaker1", "speaker2")
    lines, used = [], []
    for rows in beside_main(frame, alike, lambda main, row: row.template in PARAPHRASES):
        lines += [row._asdict() for row in rows]
        used += [row.Index for row in rows]
        dds = pd.Series([row.dds_pp for row in rows[1:]])
        words = f"mean of {', '.join(row.template for row in rows[1:])}"
        mean = {"judge": rows[0].judge, "dataset": rows[0].dataset, "template": words, "n_items": None}
        lines.append({**mean, "dds_pp": dds.mean(skipna=False), "std_pp": dds.std(ddof=1, skipna=False)})
    note = "Mean and sample standard deviation are over the paraphrases, without the main variant."
    made = pd.DataFrame(lines, columns=[field for field, _ in VARIANT.values()]).astype({"n_items": object})
    title = "DDS under paraphrased prompts (DialDefer Table 15)"
    return tabled("table15_paraphrases", title, made, VARIANT, f"{note} {reading_note(frame.loc[used])}")


def label_table(frame: pd.DataFrame) -> TableSpec:
    """DDS of each judge under its main speaker labels and under others, as DialDefer Figure 7.

    ΔDDS is the change from the main labels. Swing, for labels that were asked both ways, is DDS with these labels minus
    DDS with the two exchanged: how much more the judge bends to this Speaker 2 than to the other (User/LLM: 17.7 pp).
    """
    lines, used = [], []
    is_relabelled = lambda main, row: (row.speaker1, row.speaker2) != (main.speaker1, main.speaker2)  # noqa: E731
    for rows in beside_main(frame, ("template", "answer_form", "answer_order"), is_relabelled):
        used += [row.Index for row in rows]
        dds = {(row.speaker1, row.speaker2): row.dds_pp for row in rows}
        for row in {(row.speaker1, row.speaker2): row for row in rows}.values():
            change = float("nan") if row is rows[0] else row.dds_pp - rows[0].dds_pp
            swing = row.dds_pp - dds.get((row.speaker2, row.speaker1), float("nan"))
            lines.append({**row._asdict(), "change_pp": change, "swing_pp": swing})
    note = (
        "ΔDDS: change from the labels in the first line of a dataset. Swing: DDS minus DDS with both labels exchanged."
    )
    made = pd.DataFrame(lines, columns=[field for field, _ in LABELS.values()])
    title = "DDS under other speaker labels (DialDefer Figure 7)"
    return tabled("figure7_labels", title, made, LABELS, f"{note} {reading_note(frame.loc[used])}")


def difference_table(changes: Sequence[Change], name: str, title: str) -> TableSpec:
    """Changes as a table, DDS first, each side in words; an average over one dataset would only repeat its row."""
    columns: Columns = {
        **{head: (head, "") for head in ("first", "second")},
        "C1": ("c1_source", ""),
        **{head: (head, "") for head in ("dataset", "measure")},
        "items": ("n_units", ""),
        "first value": ("before", ""),
        "second value": ("after", ""),
        "difference": ("change", "+.1f"),
        "95% low": ("change_low", "+.1f"),
        "95% high": ("change_high", "+.1f"),
        "p": ("p", "p"),
        "p Holm": ("p_holm", "p"),
    }
    rows = [c.as_dict() for c in changes if c.datasets == (c.dataset,) or len(c.datasets) > 1]
    rows.sort(key=lambda row: row["measure"] != "dds")  # the page shows the first lines of a long table
    note = (
        "Percentage points. Intervals resample items jointly, within datasets in averages; p is a two-sided sign-flip "
        "test over items; p Holm: adjusted over the arms or judges."
    )
    return tabled(name, title, pd.DataFrame(rows), columns, note)

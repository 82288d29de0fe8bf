"""DialDefer's Tables 2, 5, 15 and 20 to 23 and Figure 7: queries over the wide frame of scores."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from eval.estimates.changes import Change, changes_frame
from eval.report.tables import Columns, TableSpec
from eval.results import CHANGES_NOTE, Results, changes_table
from studies.dialdefer.measures import ROUNDING_PP
from studies.dialdefer.panels import MAIN_ROLES
from studies.dialdefer.scores import (
    AIO,
    BENCH_AVG,
    FIXED,
    OWN,
    TOTAL_AVG,
    average_sentence,
    headline_rows,
    narrowness,
    records,
    shown,
)

ARM_WORDS = {"none": "no mitigation", "honest": "Be Honest", "dehumanizing": "Dehumanizing"}
DENOMINATOR_WORDS = {
    ("reason", "published"): "an unreadable reply counts as wrong",
    ("reason", "answered"): "unreadable replies are left out",
    ("margin", "published"): "a tie counts as half right, a missing margin as wrong",
    ("margin", "answered"): "ties and missing margins are left out",
}
MAIN_CHANGES = ("dds", "acc", "acc_c2", "soft_dds", "deference", "position", "accept_c1", "accept_c2")
OF_DATASETS = ("dds", "acc_c2", "accept_c1", "accept_c2", "deference", "position")
PARAPHRASES = ("v1", "v2", "v3")  # templates of appendix D


def heads_of(form: str, words: str) -> dict[str, tuple[str, str]]:
    """Field → (head, format), from "field: head; field: head"."""
    return {field: (head, form) for field, _, head in (pair.partition(": ") for pair in words.split("; "))}


HEADS = {  # field of the wide frame, or of what is made of it here
    **heads_of("", "judge: model; dataset: dataset; arm_words: arm; saturated: saturated; over: DDS over"),
    **heads_of(
        "", "template: prompt variant; speaker1: Speaker 1; speaker2: Speaker 2; flips: flips; setting: setting"
    ),
    **heads_of("", "c1_source: source of C1; denominator: denominator; first: first; second: second; measure: measure"),
    **heads_of("d", "n_items: items"),
    **heads_of(".1f", "acc_c1_true: C1 true; acc_c1_false: C1 false; acc_c1: C1; acc_c2_correct: C2 correct"),
    **heads_of(".1f", "acc_c2_incorrect: C2 incorrect; acc_c2: C2; mean_abs_pp: mean |DDS|; ratio: amplification"),
    **heads_of("+.1f", "change_acc_pp: C2 - C1; delta_correct_pp: Δ correct; delta_incorrect_pp: Δ incorrect"),
    **heads_of("+.1f", "dds_pp: DDS; dds_ci_low_pp: 95% low; dds_ci_high_pp: 95% high; change_acc_c2_pp: change"),
    **heads_of("+.1f", "bench_dds_pp: Bench DDS; aio_dds_pp: r/AIO DDS; change_pp: ΔDDS; soft_dds_pp: soft DDS"),
    **heads_of("p", "mcnemar_p_acceptance: p; mcnemar_p_correct: p true; mcnemar_p_incorrect: p false"),
    **heads_of(".1%", "unparsed_rate: unreadable"),
    **heads_of(".0%", "accept_rate_c1: accepts C1; accept_rate_c2: accepts C2"),
    **heads_of("+.2f", "shift: shift, SD"),
    **heads_of(".3f", "auc_c1: AUC C1; auc_c2: AUC C2"),
}
ENDS = {"DDS": "dds", "d": "deference", "p": "position"}  # head → measure with an interval
ORDERED = [f"{measure}{end}_pp" for measure in ("deference", "position") for end in ("", "_ci_low", "_ci_high")]
SHIFT = "delta_correct_pp delta_incorrect_pp"
DDS = "dds_pp dds_ci_low_pp dds_ci_high_pp"
DOUBTS = "unparsed_rate saturated"


def columns(fields: str) -> dict[str, Any]:
    """The columns of some fields, under their usual heads."""
    return {HEADS[field][0]: (field, HEADS[field][1]) for field in fields.split()}


def same(*names: str, form: str = "") -> dict[str, Any]:
    """Columns that are called as their fields are."""
    return {name: (name, form) for name in names}


def with_interval(head: str) -> dict[str, Any]:
    """A measure and its interval in one column each."""
    ends = (f"{ENDS[head]}_ci_low_pp", f"{ENDS[head]}_ci_high_pp")
    words = "95% interval" if head == "DDS" else f"95% of {head}"
    return {head: (f"{ENDS[head]}_pp", "+.1f"), words: (ends, "+.1f")}


OF_ARMS = {**columns(DDS), "change": ("change_pp", "+.1f"), "†": ("dagger", "")}  # by source of C1
ARM_DDS: Columns = {
    f"{head} ({source} C1)": (f"{field}_{source}", form)
    for source in (FIXED, OWN)
    for head, (field, form) in OF_ARMS.items()
}
ARM_SHORT: Columns = {head: cell for head, cell in ARM_DDS.items() if not head.startswith("95%")}
ARMS_NOTE = (
    "Changes are from the untreated arm. Fixed C1: against the untreated arm's statements, as the paper scores "
    "mitigations; own C1 (recommended): against the treated arm's own. †: over-corrected, DDS positive before and "
    "negative after. No change is given where engine errors leave the two sides with other items."
)


def with_orders(rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what the same prompts have over both answer orders, where both were asked."""
    keys = ["run", "model", "arm", "roles", "c1_source", "dataset", "denominator", "template", "speaker1", "speaker2"]
    both = frame[frame.deference_pp.notna()].drop_duplicates(keys).set_index(keys)[ORDERED]
    return rows.drop(columns=ORDERED).join(both, on=keys)


def by_shift(rows: pd.DataFrame) -> pd.DataFrame:
    """Each judge's rows, its datasets by falling DDS (d, if known) of the first judge, unknown last, then averages."""
    judges = pd.Series(pd.factorize(rows.judge)[0], index=rows.index)
    shift = rows.deference_pp.fillna(rows.dds_pp)
    ranked = rows.assign(judge=judges, unknown=shift.isna(), falling=-shift)[rows.is_dataset]
    ranked = ranked.sort_values(["judge", "unknown", "falling"], kind="stable").dataset.unique()
    place = rows.dataset.map({name: i for i, name in enumerate(ranked)}).fillna(len(ranked))
    order = pd.DataFrame({"judge": judges, "place": place}).sort_values(["judge", "place"], kind="stable")
    return rows.loc[order.index]


def judge_table(lines: Sequence[Any]) -> TableSpec:
    """What the answer says of each judge, a line each."""
    rows = pd.DataFrame(
        {
            "judge": line["row"].judge,
            "n_items": line["row"].n_items,
            **line["mean"],
            **{end: line[end] for end in ("value", "low", "high")},
            "position_pp": line["both"] and line["both"].position_pp,
            **{end: getattr(line["move"], end, None) for end in ("change", "change_low", "change_high", "p_holm")},
            "unparsed_rate": line["row"].unparsed_rate,
        }
        for line in lines
    )
    heads = {**columns("judge n_items"), "accepts statements": ("accept_rate_c1", ".1%")}
    heads |= {
        "accepts speakers": ("accept_rate_c2", ".1%"),
        "DDS": ("value", "+.1f"),
        "95% interval": (("low", "high"), "+.1f"),
    }
    heads |= {"p, pull of answer 1": ("position_pp", "+.1f"), "change": ("change", "+.1f")}
    heads |= {"95% of change": (("change_low", "change_high"), "+.1f"), "p (Holm)": ("p_holm", "p")}
    heads |= {
        "right on statements, %": ("acc_c1", ".1f"),
        "right on speakers, %": ("acc_c2", ".1f"),
        **columns("unparsed_rate"),
    }
    known = {
        head: (fields, form)
        for head, (fields, form) in heads.items()
        if rows[fields if isinstance(fields, str) else fields[0]].notna().any()
    }
    note = "Means of both answer orders where both were asked. p: half of what DDS differs by between them."
    return TableSpec("dialdefer_judges", "Each judge", rows, known, note, place="console")


def score_tables(frame: pd.DataFrame, lines: Sequence[Any]) -> list[TableSpec]:
    """Each judge, the main results by dataset, and the headline of every other setting."""
    if frame.empty:
        return []
    rows = shown(frame)
    is_first = rows.denominator == rows.denominator.iloc[0]
    rows = rows.assign(
        flips=rows.n_deference_flips.astype(str) + "/" + rows.n_skepticism_flips.astype(str),
        setting=[setting_words(row) for row in rows.itertuples()],
    )
    main = by_shift(with_orders(rows[rows.is_headline & is_first], frame))
    heads = {
        **columns("judge dataset n_items accept_rate_c1 accept_rate_c2"),
        **with_interval("DDS"),
        **measured_columns(main),
        **columns("acc_c1 acc_c2 flips"),
        "McNemar p": ("mcnemar_p_acceptance", "p"),
    }
    # Over answered replies alone a table repeats the published one where every reply has a verdict.
    is_repeat = ~is_first & (rows.groupby(["run", "judge"])[["n_unparsed", "n_ties"]].transform("sum").sum(axis=1) == 0)
    others = rows[~(rows.is_headline & is_first) & ~is_repeat]
    others = headline_rows(others, ["judge", "setting", "c1_source", "denominator"]) if len(others) else others
    varying = [
        name for name in ("c1_source", "denominator") if {*others[name]} - {main[name].iloc[0] if len(main) else ""}
    ]
    other_heads = {**columns(" ".join(["judge", "setting", *varying])), "over": ("dataset", "")}
    other_heads |= {**columns("acc_c1 acc_c2"), **with_interval("DDS"), **measured_columns(others)}
    sources = "own C1: both framings from this arm; fixed C1: statements from the untreated arm, as published."
    title = "Other arms, prompt variants and readings"
    return [
        judge_table(lines),
        TableSpec("dialdefer_scores", "DDS by dataset", main, heads, reading_note(main), place="page"),
        TableSpec("dialdefer_settings", title, others, other_heads, sources if varying else "", place="page"),
    ]


def setting_words(row: Any) -> str:
    """Arm, variant and roles of a row, as far as they are not the usual ones."""
    # r/AIO's opposite direction asks for no other datasets, so its roles are all that tells it apart.
    roles = "" if row.roles == MAIN_ROLES else f"roles {row.roles}"
    arm = arm_words(row.arm) if row.arm != "none" or not (row.variant or roles) else ""
    return ", ".join(filter(None, [arm, row.variant, roles]))


def measured_columns(rows: pd.DataFrame) -> Columns:
    """The columns of what some rows have: both answer orders, margins, or parsed replies."""
    orders = {**with_interval("d"), **with_interval("p")} if rows.deference_pp.notna().any() else {}
    margins = "soft_dds_pp shift auc_c1 auc_c2" if rows.soft_dds_pp.notna().any() else "unparsed_rate"
    return {**orders, **columns(margins)}


def change_tables(results: Results) -> list[TableSpec]:
    """What changed: over the widest average with both sources of C1, and DDS by dataset with own C1."""
    if results.changes.empty:
        return []
    changes = shown(results.changes)
    main = changes[changes.arm.eq("none") | ~changes.arm.eq("none").any()]
    is_own, over = main.c1_source == OWN, narrowness(main)
    is_best = over == over.groupby([main.second, main.variant]).transform("min")
    short = main[is_best & (is_own & main.measure.isin(MAIN_CHANGES) | (main.measure == "dds"))]
    first = records(changes)[0]
    averages = dict.fromkeys((row.dataset, tuple(row.datasets)) for row in records(short) if len(row.datasets) > 1)
    words = [
        f"{CHANGES_NOTE} own C1 (recommended): both framings from one checkpoint; fixed C1: against the base's C1.",
        f"Verdicts from {reading_words(first)}; denominator {first.denominator}: {counted_words(first)}.",
        *(average_sentence(*average) for average in averages),
    ]
    note = " ".join(words)
    of_shifts = main[is_best & main.measure.isin(["shift", "shift_in_base_sd"])]
    of_datasets = main[is_own & main.measure.isin(OF_DATASETS)]
    table = partial(changes_table, results, place="files")
    return [
        table(short, title="Before and after", note=note, always=["c1_source"]),
        table(of_shifts, digits=2, note="", name="dialdefer_shifts", title="Shift of margins in standard deviations"),
        table(of_datasets, name="dialdefer_changes_datasets", title="Before and after, by dataset"),
    ]


def arm_words(arm: str) -> str:
    """What an arm is called in tables."""
    return ARM_WORDS.get(arm, arm)


def reading_words(row: Any) -> str:
    """The verdict mode and how replies were read, of a row of scores."""
    if row.verdict == "margin":
        return "margins"
    if not isinstance(row.parser, str):
        return f"{row.verdict}, as given"
    return f"{row.verdict}, {row.parser} parser{' where no choice is given' if row.verdict == 'external' else ''}"


def counted_words(row: Any) -> str:
    """What the denominator of a row of scores makes of replies without a verdict."""
    return DENOMINATOR_WORDS["margin" if row.verdict == "margin" else "reason", row.denominator]


def reading_note(rows: pd.DataFrame) -> str:
    """What the numbers of a table are: verdict, denominator, units, intervals, and over what averages are."""
    if rows.empty:
        return "No judge was asked so."
    row = rows.iloc[0]
    averages = rows[rows.is_average].drop_duplicates(["dataset", "datasets"])
    n_errors = int(rows.n_errors[rows.is_dataset].sum())
    sentences = [
        f"Verdicts from {reading_words(row)}; denominator {row.denominator}: {counted_words(row)}.",
        f"Accuracies in %, Δ and DDS in percentage points; 95% intervals from {row.n_draws:,} draws of items.",
        *map(average_sentence, averages.dataset, averages.datasets),
        *([f"The engine lost {n_errors} replies; their items are left out."] if n_errors else []),
    ]
    return " ".join(sentences)


def domains(frame: pd.DataFrame) -> pd.DataFrame:
    """Each judge's main rows: datasets by falling DDS, unknown ones last, then averages."""
    rows = shown(frame[frame.is_main])
    keys = rows.assign(place=pd.factorize(rows.judge)[0], falling=-rows.dds_pp.where(rows.is_dataset))
    keys = keys.sort_values(["place", "is_average", "falling"], kind="stable", na_position="last")
    return rows.loc[keys.index].assign(saturated=rows.saturated.map({True: "yes", False: ""}))


P_NOTE = "p: exact McNemar test on acceptance, items pooled."


def domain_table(frame: pd.DataFrame) -> TableSpec:
    """Every dataset and average of every judge, as DialDefer Table 20."""
    rows = domains(frame)
    c1, c2 = "acc_c1_true acc_c1_false acc_c1", "acc_c2_correct acc_c2_incorrect acc_c2"
    heads = columns(f"judge dataset n_items {c1} {c2} {SHIFT} {DDS} mcnemar_p_acceptance {DOUBTS}")
    title = "Accuracy under statement (C1) and dialogue (C2) framing, and DDS, by dataset (DialDefer Table 20)"
    return TableSpec("table20_domains", title, rows, heads, f"{reading_note(rows)} {P_NOTE}")


def summaries(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each judge over all its datasets, with what a signed average hides."""
    main = frame[frame.is_main]
    rows = headline_rows(main).set_index("judge", drop=False)
    parts = rows[["datasets"]].explode("datasets").reset_index().rename(columns={"datasets": "dataset"})
    parts = parts.merge(main[main.is_dataset], on=["judge", "dataset"])
    named = {name: main[main.dataset == name].set_index("judge").dds_pp for name in (BENCH_AVG, AIO)}
    return rows.assign(
        change_acc_pp=rows.acc_c2 - rows.acc_c1,
        mean_abs_pp=parts.dds_pp.abs().groupby(parts.judge).mean(),
        bench_dds_pp=named[BENCH_AVG],
        aio_dds_pp=named[AIO],
        ratio=amplifications(frame).ratio,
        saturated=rows.saturated.map({True: "yes", False: ""}),
    )


def summary_table(frame: pd.DataFrame) -> TableSpec:
    """A line for each judge, as DialDefer Table 2."""
    rows = summaries(frame)
    dds = rows.dds_pp.dropna()
    words = [
        f"{reading_note(rows)} {P_NOTE} mean |DDS|: over the datasets, so that opposite shifts do not cancel. "
        "Amplification: |r/AIO DDS| / |Bench DDS|, a dash where the interval of Bench DDS includes 0."
    ]
    if len(dds) > 1:
        words.append(f"Over {len(dds)} judges: mean DDS {dds.mean():+.1f}, mean |DDS| {dds.abs().mean():.1f}.")
    if rows.datasets.nunique() > 1 or rows.n_items.nunique() > 1:
        words.append("The judges were not all asked the same items; compare lines over the same datasets only.")
    fields = (
        f"n_items acc_c1 acc_c2 change_acc_pp {SHIFT} {DDS} mcnemar_p_acceptance mean_abs_pp bench_dds_pp aio_dds_pp"
    )
    heads = {**columns("judge"), "over": ("dataset", ""), **columns(f"{fields} ratio {DOUBTS}")}
    title = "Main results: average accuracy, change from statement (C1) to dialogue (C2) framing, and DDS (Table 2)"
    return TableSpec("table2_summary", title, rows, heads, " ".join(words))


def amplifications(frame: pd.DataFrame) -> pd.DataFrame:
    """Each judge's DDS on r/AIO (`dds_pp_aio`) against its Bench Avg DDS: ratio = |r/AIO DDS| / |Bench DDS|.

    NaN where the 95 % interval of Bench DDS includes 0: a shift that may be nothing cannot be multiplied. The paper
    gives no definition of its "2-5×" (§4, Insight 3); by this one it has 2.3 to 4.9 for four judges and 7.6 for GPT-4o,
    where the direction turns as well.
    """
    sides = [frame[frame.is_main & (frame.dataset == name)].dropna(subset=DDS.split()) for name in (BENCH_AVG, AIO)]
    rows = sides[0].merge(sides[1][["judge", "dds_pp"]], on="judge", suffixes=("", "_aio"))
    rows = rows.set_index("judge", drop=False)
    includes_0 = (rows.dds_ci_low_pp <= 0) & (rows.dds_ci_high_pp >= 0)
    return rows.assign(ratio=(rows.dds_pp_aio / rows.dds_pp).abs().mask(includes_0))


def mitigations(frame: pd.DataFrame) -> pd.DataFrame:
    """Every arm of every judge on each dataset and average beside the untreated arm, that first.

    Datasets by falling untreated DDS, arms as they appear. Only what the untreated arm has too takes part; an average
    counts when both are over the same datasets. The paper's DDS holds a treated arm's C2 against the untreated C1
    (fixed C1, §7); own C1 is of the same judge under the same treatment.
    """
    keys, cell = ["judge", "dataset", "datasets"], ["place", "arm"]
    untreated = domains(frame)
    untreated = untreated.assign(place=range(len(untreated)))
    treated = frame[(frame.roles == MAIN_ROLES) & (frame.variant == "") & (frame.arm != "none")]
    base = untreated[[*keys, "place", "n_items", "acc_c2", "dds_pp"]]
    treated = treated.merge(base, on=keys, suffixes=("", "_base"))
    is_alike = treated.n_items == treated.n_items_base
    treated = treated.assign(
        change_acc_c2_pp=(treated.acc_c2 - treated.acc_c2_base).where(is_alike),
        change_pp=(treated.dds_pp - treated.dds_pp_base).where(is_alike),
    )
    both = pd.concat([*(untreated.assign(c1_source=source) for source in (FIXED, OWN)), treated])
    by_source = both.pivot(index=cell, columns="c1_source", values=[*DDS.split(), "change_pp"])
    by_source.columns = ["_".join(pair) for pair in by_source.columns]
    rows = both.sort_values("c1_source", kind="stable").drop_duplicates(cell).merge(by_source, on=cell)
    arms = {arm: i for i, arm in enumerate(dict.fromkeys(["none", *frame.arm]))}
    rows = rows.assign(arm_place=rows.arm.map(arms), arm_words=rows.arm.map(arm_words))
    for source in (FIXED, OWN):
        is_over = (rows.dds_pp_base > ROUNDING_PP) & (rows[f"dds_pp_{source}"] < -ROUNDING_PP)
        rows[f"dagger_{source}"] = is_over.map({True: "†", False: ""})
    return rows.sort_values(["place", "arm_place"], kind="stable", ignore_index=True)


def mitigation_table(frame: pd.DataFrame) -> TableSpec:
    """Every arm on every dataset and average of every judge, as DialDefer Tables 21 to 23."""
    rows = mitigations(frame)
    heads = columns("judge dataset arm_words n_items acc_c2_correct acc_c2_incorrect acc_c2 change_acc_c2_pp")
    title = "Mitigations by dataset: accuracy under dialogue framing (C2) and DDS (DialDefer Tables 21 to 23)"
    return TableSpec("table21_mitigations", title, rows, {**heads, **ARM_DDS}, f"{ARMS_NOTE} {reading_note(rows)}")


def mitigation_summary_table(frame: pd.DataFrame) -> TableSpec:
    """A line for each arm of each judge, as DialDefer Table 5: accuracy over all its datasets, Bench and r/AIO DDS.

    A judge with other datasets has the DDS of their average instead; column `DDS over` says which.
    """
    rows, by = mitigations(frame), ["judge", "arm"]
    lines = headline_rows(rows, by).set_index(by, drop=False).loc[rows.set_index(by).index.unique()]
    benches = headline_rows(rows[~rows.dataset.isin([AIO, TOTAL_AVG])], by).set_index(by).reindex(lines.index)
    aio = rows[rows.dataset == AIO].set_index(by).reindex(lines.index)
    has_bench = benches.dataset.notna()
    # An arm that was asked other datasets than the untreated one has no average to show.
    is_partial = lines.is_dataset & (lines.arm != "none") & (rows.groupby(by).size().reindex(lines.index) > 1)
    lines["over"] = benches.dataset.where(has_bench, lines.dataset).mask(is_partial, "other datasets")
    for field, form in ARM_SHORT.values():
        empty = float("nan") if form else ""
        lines[f"bench_{field}"] = benches[field].where(has_bench, lines[field]).mask(is_partial, empty)
        lines[f"aio_{field}"] = aio[field].where(aio.dataset.notna(), empty).mask(is_partial, empty)
    for field in ("acc_c2", "change_acc_c2_pp"):
        lines[field] = lines[field].mask(is_partial)
    heads = dict(columns("judge arm_words acc_c2 change_acc_c2_pp over"))
    for before, words in (("bench", ""), ("aio", "r/AIO ")):
        heads |= {f"{words}{head}": (f"{before}_{field}", form) for head, (field, form) in ARM_SHORT.items()}
    title = "Mitigations: accuracy under dialogue framing (C2) over all datasets, and DDS (DialDefer Table 5)"
    return TableSpec("table5_mitigations", title, lines, heads, f"{ARMS_NOTE} {reading_note(rows)}")


def beside_main(
    frame: pd.DataFrame, alike: Sequence[str], is_other: Callable[[pd.DataFrame], "pd.Series[bool]"]
) -> pd.DataFrame:
    """Each main row with the rows of other variants beside it, numbered by `group`; they have *_main of the main row.

    alike: what both have in common. A variant that was asked over other datasets than the main one is left out.
    """
    keys = ["judge", "dataset", "datasets", "arm", "c1_source", "roles", *alike]
    rows = shown(frame)
    mains = rows[rows.is_main].assign(group=range(int(rows.is_main.sum())))
    base = mains[list(dict.fromkeys([*keys, "group", "dds_pp", "speaker1", "speaker2"]))]
    others = rows[rows.variant != ""].merge(base, on=keys, suffixes=("", "_main"))
    others = others[is_other(others)]
    kept = mains[mains.group.isin(others.group)]
    return pd.concat([kept, others]).sort_values("group", kind="stable", ignore_index=True)


def paraphrase_table(frame: pd.DataFrame) -> TableSpec:
    """DDS of each judge under its main variant and under each paraphrase of it, then the paraphrases' mean ± std.

    DialDefer Table 15; the main prompt variant is its v0. A dataset or average takes part when it was asked in a
    paraphrase over the same datasets. The standard deviation is over paraphrases (ddof 1), so one alone has none.
    """
    alike = ("answer_form", "answer_order", "speaker1", "speaker2")
    rows = beside_main(frame, alike, lambda others: others.template.isin(PARAPHRASES))
    means = rows[~rows.is_main].groupby(["group", "judge", "dataset"], as_index=False)
    means = means.agg(
        template=("template", lambda names: f"mean of {', '.join(names)}"),
        std_pp=("dds_pp", lambda dds: dds.std(ddof=1, skipna=False)),
        dds_pp=("dds_pp", lambda dds: dds.mean(skipna=False)),
    )
    lines = pd.concat([rows, means]).sort_values("group", kind="stable")
    heads = {**columns(f"judge dataset template n_items acc_c1 acc_c2 {DDS}"), "± std": ("std_pp", ".1f")}
    note = (
        f"Mean and sample standard deviation are over the paraphrases, without the main variant. {reading_note(rows)}"
    )
    return TableSpec("table15_paraphrases", "DDS under paraphrased prompts (DialDefer Table 15)", lines, heads, note)


def label_table(frame: pd.DataFrame) -> TableSpec:
    """DDS of each judge under its main speaker labels and under others, as DialDefer Figure 7."""
    is_other = lambda rows: (rows.speaker1 != rows.speaker1_main) | (rows.speaker2 != rows.speaker2_main)  # noqa: E731
    rows = beside_main(frame, ("template", "answer_form", "answer_order"), is_other)
    rows = rows.drop_duplicates(["group", "speaker1", "speaker2"], keep="last")
    rows = rows.assign(change_pp=rows.dds_pp - rows.dds_pp_main)
    heads = columns(f"judge dataset speaker1 speaker2 n_items acc_c2 {DDS} change_pp")
    note = f"ΔDDS: change from the labels in the first line of a dataset. {reading_note(rows)}"
    return TableSpec("figure7_labels", "DDS under other speaker labels (DialDefer Figure 7)", rows, heads, note)


def difference_table(changes: Sequence[Change]) -> TableSpec:
    """Arms and prompt variants against the untreated arm, DDS first, each side in words."""
    rows = shown(changes_frame(changes))
    rows = rows.sort_values(
        "measure", key=lambda names: names != "dds", kind="stable"
    )  # the page shows the first lines
    heads = {**columns("first second"), "C1": ("c1_source", ""), **columns("dataset measure")}
    heads |= {"items": ("n_units", ""), "first value": ("before", ""), "second value": ("after", "")}
    heads |= {"difference": ("change", "+.1f"), "95% low": ("change_low", "+.1f"), "95% high": ("change_high", "+.1f")}
    heads |= {"p": ("p", "p"), "p Holm": ("p_holm", "p")}
    note = (
        "Percentage points. Intervals resample items jointly, within datasets in averages; p is a two-sided sign-flip "
        "test over items; p Holm: adjusted over the arms."
    )
    title = "Arms and prompt variants against the untreated main one, over the same items"
    return TableSpec("arm_differences", title, rows, heads, note)

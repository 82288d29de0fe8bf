"""DialDefer's Tables 2, 5, 15 and 20 to 23 and Figure 7: queries over the wide frame of scores.

tables.yaml has their heads, columns and notes."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from eval.report.tables import TableSpec, table_from, yaml_tables
from eval.results import CHANGES_NOTE, Results, changes_table
from eval.runs import SELF_READ
from studies.abstaining import NAMES
from studies.dialdefer import scores
from studies.dialdefer.measures import ROUNDING_PP
from studies.dialdefer.panels import MAIN_ROLES
from studies.dialdefer.scores import AIO, BENCH_AVG, FIXED, OWN, TOTAL_AVG, headline_rows, records, shown

TABLES = Path(__file__).with_name("tables.yaml")
WORDS = yaml_tables(TABLES)["words"]
MAIN_CHANGES = ("dds", "acc", "acc_c2", "soft_dds", "deference", "position", "accept_c1", "accept_c2")
OF_DATASETS = ("dds", "acc_c2", "accept_c1", "accept_c2", "deference", "position")
PARAPHRASES = ("v1", "v2", "v3")  # templates of appendix D
ORDERED = [f"{measure}{end}_pp" for measure in ("deference", "position") for end in ("", "_ci_low", "_ci_high")]
AGREEMENT = [f"{name}{end}" for name in NAMES for end in ("", "_ci_low", "_ci_high")]
DDS = ["dds_pp", "dds_ci_low_pp", "dds_ci_high_pp"]
CHANGE = ("change", "change_low", "change_high", "p_holm")  # columns of the long frame of changes
MARGINS = {"margin": "margins", SELF_READ: "as the judge reads its own replies"}  # verdict → how it is read
YES = {True: "yes", False: ""}
DAGGER = {True: "†", False: ""}


def table(name: str, frame: pd.DataFrame, columns: Sequence[str] = (), **facts: object) -> TableSpec:
    """A table of tables.yaml. columns: fields that are their own heads. facts: words of its texts."""
    keys: dict[str, Any] = {k: yaml_tables(TABLES)[name].get(k, "").format(**facts) for k in ("title", "note")}
    return table_from(TABLES, name, frame, **(keys | ({"columns": {c: c for c in columns}} if columns else {})))


def with_orders(rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what the same prompts have over both answer orders, where both were asked."""
    keys = ["run", "model", "arm", "roles", "c1_source", "dataset", "denominator", "template", "speaker1", "speaker2"]
    in_both = frame[frame.deference_pp.notna()].drop_duplicates(keys).set_index(keys)
    joined = rows[keys].join(in_both[[*ORDERED, *AGREEMENT]], on=keys)
    agreement = joined[AGREEMENT].where(joined["agreed"].notna(), rows[AGREEMENT])
    return rows.assign(**joined[ORDERED], **agreement)


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
            **{field: line[field] for field in ("value", "low", "high")},
            "position_pp": line["both"] and line["both"].position_pp,
            **{field: getattr(line["move"], field, None) for field in CHANGE},
            "unparsed_rate": line["row"].unparsed_rate,
        }
        for line in lines
    )
    return table("dialdefer_judges", rows)


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
    shifts = [(line["row"].judge, shift) for line in lines for shift in line["answer"].shifts if shift.measure == "dds"]
    p_units = {(judge, shift.dataset): shift.p_units for judge, shift in shifts}
    main = main.assign(p_units=[p_units.get((row.judge, row.dataset)) for row in main.itertuples()])
    # Where every reply has a verdict, a table over those alone repeats the published one.
    is_repeat = ~is_first & (rows.groupby(["run", "judge"])["n_unparsed"].transform("sum") == 0)
    settings = rows[~(rows.is_headline & is_first) & ~is_repeat]
    settings = headline_rows(settings, ["judge", "setting", "c1_source", "denominator"]) if len(settings) else settings
    return [
        judge_table(lines),
        table("dialdefer_scores", parsed_alone(main), reading=reading_note(main)),
        table("dialdefer_agreement", main),
        table("dialdefer_settings", parsed_alone(settings)),
    ]


def parsed_alone(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without a rate of unparsed replies where some have margins, in which there is nothing to parse."""
    return rows.assign(unparsed_rate=None) if rows.soft_dds_pp.notna().any() else rows


def setting_words(row: Any) -> str:
    """Arm, variant and roles of a row, as far as they are not the usual ones."""
    # r/AIO's opposite direction asks for no other datasets, so its roles are all that tells it apart.
    roles = "" if row.roles == MAIN_ROLES else f"roles {row.roles}"
    arm = arm_words(row.arm) if row.arm != "none" or not (row.variant or roles) else ""
    return ", ".join(filter(None, [arm, row.variant, roles]))


def change_tables(results: Results) -> list[TableSpec]:
    """What changed: over the widest average with both sources of C1, and DDS by dataset with own C1."""
    if results.changes.empty:
        return []
    changes = shown(results.changes)
    main = changes[changes.arm.eq("none") | ~changes.arm.eq("none").any()]
    is_own, over = main.c1_source == OWN, scores.narrowness(main)
    is_best = over == over.groupby([main.second, main.variant]).transform("min")
    short = main[is_best & (is_own & main.measure.isin(MAIN_CHANGES) | (main.measure == "dds"))]
    first = records(changes)[0]
    averages = dict.fromkeys((row.dataset, tuple(row.datasets)) for row in records(short) if len(row.datasets) > 1)
    sentences = [
        f"{CHANGES_NOTE} own C1 (recommended): both framings from one checkpoint; fixed C1: against the base's C1.",
        f"Verdicts from {reading_words(changes)}; denominator {first.denominator}: {counted_words(first)}.",
        *(scores.average_sentence(*average) for average in averages),
    ]
    note = " ".join(sentences)
    of_shifts = main[is_best & (main.measure == "shift")]
    of_datasets = main[is_own & main.measure.isin(OF_DATASETS)]
    by_run = partial(changes_table, results, place="files")
    return [
        by_run(short, title="Before and after", note=note, always=["c1_source"]),
        by_run(of_shifts, digits=2, note="", name="dialdefer_shifts", title="Shift of margins in standard deviations"),
        by_run(of_datasets, name="dialdefer_changes_datasets", title="Before and after, by dataset"),
    ]


def arm_words(arm: str) -> str:
    """What an arm is called in tables."""
    return str(WORDS["arm"].get(arm, arm))


def reading_words(rows: pd.DataFrame) -> str:
    """The verdict mode and how replies were read; where judges differ in it, of each by name."""
    judges: dict[str, dict[str, None]] = {}
    for row in records(rows):
        judges.setdefault(way_of(row), {})[getattr(row, "judge", None) or row.second] = None
    return "; ".join(f"{way} ({', '.join(named)})" if len(judges) > 1 else way for way, named in judges.items())


def way_of(row: Any) -> str:
    """The same of one row."""
    if row.verdict in MARGINS:
        return MARGINS[row.verdict]
    if not isinstance(row.parser, str):
        return f"{row.verdict}, as given"
    return f"{row.verdict}, {row.parser} parser{' where no choice is given' if row.verdict == 'external' else ''}"


def counted_words(row: Any) -> str:
    """What the denominator of a row of scores makes of replies without a verdict."""
    return str(WORDS["denominator"]["margin" if row.verdict in MARGINS else "reason"][row.denominator])


def reading_note(rows: pd.DataFrame) -> str:
    """What the numbers of a table are: verdict, denominator, units, intervals, and over what averages are."""
    if rows.empty:
        return "No judge was asked so."
    row = rows.iloc[0]
    averages = rows[rows.is_average].drop_duplicates(["dataset", "datasets"])
    n_errors = int(rows.n_errors[rows.is_dataset].sum())
    sentences = [
        f"Verdicts from {reading_words(rows)}; denominator {row.denominator}: {counted_words(row)}.",
        f"Accuracies in %, Δ and DDS in percentage points; 95% intervals from {row.n_draws:,} draws of items.",
        *map(scores.average_sentence, averages.dataset, averages.datasets),
        *([f"The engine lost {n_errors} replies; their items are left out."] if n_errors else []),
    ]
    return " ".join(sentences)


def domains(frame: pd.DataFrame) -> pd.DataFrame:
    """Each judge's main rows, as by_shift has them."""
    rows = by_shift(shown(frame[frame.is_main]))
    return rows.assign(saturated=rows.saturated.map(YES))


def domain_table(frame: pd.DataFrame) -> TableSpec:
    """Every dataset and average of every judge, as DialDefer Table 20."""
    rows = domains(frame)
    return table("table20_domains", rows, reading=reading_note(rows))


def summaries(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each judge over all its datasets, with what a signed average hides.

    ratio: |r/AIO DDS| / |Bench DDS|, NaN where the 95 % interval of Bench DDS includes 0 (a shift that may be nothing
    cannot be multiplied), or r/AIO's is unknown. The paper gives no definition of its "2-5×" (§4, Insight 3); by this
    one it has 2.3 to 4.9 for four judges and 7.6 for GPT-4o, where the direction turns as well.
    """
    main = frame[frame.is_main]
    rows = headline_rows(main).set_index("judge", drop=False)
    parts = rows[["datasets"]].explode("datasets").reset_index().rename(columns={"datasets": "dataset"})
    parts = parts.merge(main[main.is_dataset], on=["judge", "dataset"])
    bench, aio = (main[main.dataset == name].set_index("judge").reindex(rows.index) for name in (BENCH_AVG, AIO))
    excludes_0 = (bench.dds_ci_low_pp > 0) | (bench.dds_ci_high_pp < 0)
    return rows.assign(
        change_acc_pp=rows.acc_c2 - rows.acc_c1,
        mean_abs_pp=parts.dds_pp.abs().groupby(parts.judge).mean(),
        bench_dds_pp=bench.dds_pp,
        aio_dds_pp=aio.dds_pp,
        ratio=(aio.dds_pp / bench.dds_pp).abs().where(excludes_0 & aio.dds_ci_low_pp.notna()),
        saturated=rows.saturated.map(YES),
    )


def summary_table(frame: pd.DataFrame) -> TableSpec:
    """A line for each judge, as DialDefer Table 2."""
    rows = summaries(frame)
    dds, sentences = rows.dds_pp.dropna(), ""
    if len(dds) > 1:
        sentences += f" Over {len(dds)} judges: mean DDS {dds.mean():+.1f}, mean |DDS| {dds.abs().mean():.1f}."
    if rows.datasets.nunique() > 1 or rows.n_items.nunique() > 1:
        sentences += " The judges were not all asked the same items; compare lines over the same datasets only."
    return table("table2_summary", rows, reading=reading_note(rows), over_judges=sentences)


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
    all_arms = pd.concat([*(untreated.assign(c1_source=source) for source in (FIXED, OWN)), treated])
    by_source = all_arms.pivot(index=cell, columns="c1_source", values=[*DDS, "change_pp"])
    by_source.columns = ["_".join(pair) for pair in by_source.columns]
    rows = all_arms.sort_values("c1_source", kind="stable").drop_duplicates(cell).merge(by_source, on=cell)
    arms = {arm: i for i, arm in enumerate(dict.fromkeys(["none", *frame.arm]))}
    rows = rows.assign(arm_place=rows.arm.map(arms), arm_words=rows.arm.map(arm_words))
    for source in (FIXED, OWN):
        is_over = (rows.dds_pp_base > ROUNDING_PP) & (rows[f"dds_pp_{source}"] < -ROUNDING_PP)
        rows[f"dagger_{source}"] = is_over.map(DAGGER)
    return rows.sort_values(["place", "arm_place"], kind="stable", ignore_index=True)


def mitigation_table(frame: pd.DataFrame) -> TableSpec:
    """Every arm on every dataset and average of every judge, as DialDefer Tables 21 to 23."""
    rows = mitigations(frame)
    return table("table21_mitigations", rows, arms=WORDS["arms"], reading=reading_note(rows))


def mitigation_summary_table(frame: pd.DataFrame) -> TableSpec:
    """A line for each arm of each judge, as DialDefer Table 5: accuracy over all its datasets, Bench and r/AIO DDS.

    A judge with other datasets has the DDS of their average instead; column `DDS over` says which.
    """
    rows, by = mitigations(frame), ["judge", "arm"]
    lines = headline_rows(rows, by).set_index(by, drop=False).loc[rows.set_index(by).index.unique()]
    # An arm that was asked other datasets than the untreated one has no average to show.
    is_partial = lines.is_dataset & (lines.arm != "none") & (rows.groupby(by).size().reindex(lines.index) > 1)
    lines.loc[is_partial, ["acc_c2", "change_acc_c2_pp"]] = None
    bench = headline_rows(rows[~rows.dataset.isin([AIO, TOTAL_AVG])], by).set_index(by)
    bench = pd.concat([bench, lines[~lines.index.isin(bench.index)]]).reindex(lines.index[~is_partial])
    aio = rows[rows.dataset == AIO].set_index(by).reindex(lines.index[~is_partial])
    fields = [f"{field}_{source}" for source in (FIXED, OWN) for field in ("dds_pp", "change_pp", "dagger")]
    lines = lines.join(bench[fields].add_prefix("bench_")).join(aio[fields].add_prefix("aio_"))
    daggers = [field for field in lines if "_dagger_" in field]
    lines = lines.assign(over=bench.dataset).fillna({"over": "other datasets", **dict.fromkeys(daggers, "")})
    return table("table5_mitigations", lines, arms=WORDS["arms"], reading=reading_note(rows))


def beside_main(
    frame: pd.DataFrame, alike: Sequence[str], is_variant: Callable[[pd.DataFrame], "pd.Series[bool]"]
) -> pd.DataFrame:
    """Each main row with the rows of its variants beside it, numbered by `group`; they have *_main of the main row.

    alike: what both have in common. A variant that was asked over other datasets than the main one is left out.
    """
    keys = ["judge", "dataset", "datasets", "arm", "c1_source", "roles", *alike]
    rows = shown(frame)
    mains = rows[rows.is_main].assign(group=range(int(rows.is_main.sum())))
    base = mains[list(dict.fromkeys([*keys, "group", "dds_pp", "speaker1", "speaker2"]))]
    variants = rows[rows.variant != ""].merge(base, on=keys, suffixes=("", "_main"))
    variants = variants[is_variant(variants)]
    kept = mains[mains.group.isin(variants.group)]
    return pd.concat([kept, variants]).sort_values("group", kind="stable", ignore_index=True)


def paraphrase_table(frame: pd.DataFrame) -> TableSpec:
    """DDS of each judge under its main variant and under each paraphrase of it, then the paraphrases' mean ± std.

    DialDefer Table 15; the main prompt variant is its v0. A dataset or average takes part when it was asked in a
    paraphrase over the same datasets. The standard deviation is over paraphrases (ddof 1), so one alone has none.
    """
    alike = ("answer_form", "answer_order", "speaker1", "speaker2")
    rows = beside_main(frame, alike, lambda variants: variants.template.isin(PARAPHRASES))
    means = rows[~rows.is_main].groupby(["group", "judge", "dataset"], as_index=False)
    means = means.agg(
        template=("template", lambda names: f"mean of {', '.join(names)}"),
        std_pp=("dds_pp", lambda dds: dds.std(ddof=1, skipna=False)),
        dds_pp=("dds_pp", lambda dds: dds.mean(skipna=False)),
    )
    lines = pd.concat([rows, means]).sort_values("group", kind="stable")
    return table("table15_paraphrases", lines, reading=reading_note(rows))


def label_table(frame: pd.DataFrame) -> TableSpec:
    """DDS of each judge under its main speaker labels and under others, as DialDefer Figure 7."""
    is_relabelled = lambda rows: (rows.speaker1 != rows.speaker1_main) | (rows.speaker2 != rows.speaker2_main)  # noqa: E731
    rows = beside_main(frame, ("template", "answer_form", "answer_order"), is_relabelled)
    rows = rows.drop_duplicates(["group", "speaker1", "speaker2"], keep="last")
    rows = rows.assign(change_pp=rows.dds_pp - rows.dds_pp_main)
    return table("figure7_labels", rows, reading=reading_note(rows))

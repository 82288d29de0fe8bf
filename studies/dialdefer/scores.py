"""Panels → scores and changes in long form, for each arm, source of C1, dataset, average and denominator."""

import math
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.changes import Change, Compared, Score, change_in, scores_frame
from eval.estimates.estimate import Estimate, estimate, without_interval
from eval.estimates.resampling import Drawing, mcnemar_p
from eval.report.tables import is_unknown
from eval.runs import judge_names
from evenhand.errors import DataError
from studies.abstaining import NAMES
from studies.dialdefer import measures
from studies.dialdefer.panels import MAIN_ROLES, JudgedRun, Panel, grouped, variant_of, with_c1_of, without_lost
from studies.dialdefer.quantities import CHANGED, LEVELS, SCORED, observed, pair_of
from studies.dialdefer.render import AIO_DATASETS, own_labels

OWN, FIXED = "own", "fixed"  # C1 from the same arm and judge; C1 of the untreated arm or model
FACTORS = ("template", "answer_form", "answer_order", "speaker1", "speaker2")  # that a dataset's scores are under
BENCH_DATASETS = (  # DialDefer §3.2, Table 20
    *("truthfulqa", "halueval", "plausibleqa", "bbq", "socialiqa"),
    *("amqa", "harp", "gpqa", "advisorqa"),
)
AIO = "aio"
BENCH_AVG, TOTAL_AVG = "bench_avg", "total_avg"


def averages_over(datasets: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Name of each average → the datasets it is the unweighted mean of, for (benchmark, dataset) pairs.

    `bench_avg` is over those of the nine benchmark datasets that are there, `total_avg` over them and r/AIO; a
    benchmark of our own with several datasets has `<benchmark>_avg`. `aio-context` is another experiment and in none.
    """
    pairs = list(datasets)
    there = [dataset for _, dataset in pairs]
    nine = [dataset for dataset in BENCH_DATASETS if dataset in there]
    averages = {BENCH_AVG: nine} if nine else {}
    if nine and AIO in there:
        averages[TOTAL_AVG] = [*nine, AIO]
    for benchmark in dict.fromkeys(benchmark for benchmark, _ in pairs):
        members = [d for b, d in pairs if b == benchmark and d not in BENCH_DATASETS and d not in AIO_DATASETS]
        if len(members) > 1:
            averages[f"{benchmark}_avg"] = members
    return averages


def average_sentence(name: str, datasets: Sequence[str]) -> str:
    """What an average is over, for a table's caption."""
    whole = {BENCH_AVG: len(BENCH_DATASETS), TOTAL_AVG: len(BENCH_DATASETS) + 1}.get(name)
    size = str(len(datasets)) if whole is None else f"{len(datasets)} of the {whole}"
    return f"{name}: unweighted mean over {size} datasets ({', '.join(datasets)})."


def measured(panel: Panel, denominator: str) -> dict[str, Any]:
    """The columns of a panel that has both framings, by kind; n_errors; and the panel without the items that the
    engine lost."""
    assert (panel.replies != measures.ABSENT).all(), "a panel is measured when both framings are there"
    parts = {kind: each for kind in LEVELS for each in observed(kind, [panel], denominator)}
    return {**parts, "n_errors": int((panel.replies == measures.ERROR).sum()), "panel": without_lost(panel)[0]}


def estimates_over(parts: Sequence[Mapping[str, Any]], drawing: Drawing) -> Iterator[tuple[str, str, Estimate]]:
    """(measure, unit, value) of everything of a dataset (one part), or of an average over several.

    Of an average accuracies, Δ, DDS, soft DDS, AUC and acceptance are unweighted means over datasets, counts are sums,
    intervals resample items within datasets, p-values pool items.
    """
    for measure in SCORED:
        yield measure.name, measure.unit, without_interval(measure, [part["verdicts"] for part in parts])
    for kind in LEVELS:
        if all(kind in part for part in parts):
            for measure in LEVELS[kind]:
                yield measure.name, measure.unit, estimate(measure, [part[kind] for part in parts], drawing)
    panels: list[Panel] = [part["panel"] for part in parts]
    replies = [panel.replies for panel in panels]
    flips = [measures.flip_masks(of_panel) for of_panel in replies]
    counts = {
        "n_items": sum(map(len, replies)),
        "n_replies": sum(int((of_panel > measures.ERROR).sum()) for of_panel in replies),  # all but engine errors
        "n_unparsed": sum(int((of_panel == measures.UNPARSED).sum()) for of_panel in replies),
        # margins of exactly 0: half right, never a flip
        "n_ties": sum(int((of_panel == measures.TIE).sum()) for of_panel in replies),
        "n_errors": sum(part["n_errors"] for part in parts),
        "n_deference_flips": sum(int(deference.sum()) for deference, _ in flips),
        "n_skepticism_flips": sum(int(skepticism.sum()) for _, skepticism in flips),
    }
    rates: dict[str, Any] = {"unparsed_rate": counts["n_unparsed"] / counts["n_replies"]}
    rates["unparsed_rate_worst"] = measures.most_unparsed(replies)[0]
    for i, (framing, pair) in enumerate({"c1": measures.C1, "c2": measures.C2}.items()):
        mean = measures.mean_or_none([measures.accept_rates(of_panel)[i] for of_panel in replies])
        of_margins = {
            "auc": [measures.auc(*panel.margins[:, pair, 0].T) for panel in panels],
            "p_answer": [None if math.isnan(p := panel.p_answer[i]) else p for panel in panels],
        }
        known = {name: measures.mean_or_none(values) for name, values in of_margins.items()}
        rates |= {f"accept_rate_{framing}": mean} | {f"{n}_{framing}": v for n, v in known.items() if v is not None}
    pairs = np.sum([measures.discordant(of_panel) for of_panel in replies], axis=0).tolist()
    by_unit = {"p": {"mcnemar_p_acceptance": mcnemar_p(*pairs)}, "count": counts, "rate": rates}
    for unit, values in by_unit.items():
        for name, value in values.items():
            yield name, unit, Estimate(value=value, n_units=counts["n_items"])


def score_judge(judge: JudgedRun, denominators: Sequence[str], drawing: Drawing) -> list[Score]:
    """Scores of every panel and every average. Raises DataError when no panel has both framings."""
    panels = judge.panels
    scores: dict[str, list[Score]] = {denominator: [] for denominator in denominators}
    for c1_source, panels_of in PANELS_BY_C1.items():
        for (_, roles, variant), group in grouped(list(panels_of(panels)), panels).items():
            made = list[Score]()
            is_parsed = all((panel.replies != measures.UNPARSED).all() for panel in group)
            for denominator in denominators:
                if made and is_parsed:  # every reply is a choice: denominators agree
                    made = [replace(s, setting={**s.setting, "denominator": denominator}) for s in made]
                else:
                    parts = [measured(panel, denominator) for panel in group]
                    setting = {"roles": roles, "c1_source": c1_source, "variant": variant, "denominator": denominator}
                    made = list(scores_of(judge, setting, group, parts, drawing))
                scores[denominator] += made
    if not any(scores.values()):
        raise DataError(f"{judge.name}: no arm has both C1 and C2, so there is no shift to score; sample both framings")
    return [score for of_denominator in scores.values() for score in of_denominator]


def scores_of(
    judge: JudgedRun,
    setting: Mapping[str, str],
    group: Sequence[Panel],
    parts: Sequence[Mapping[str, Any]],
    drawing: Drawing,
) -> Iterator[Score]:
    """The scores of each dataset, with its own factors, and of each average over them, with those of the first."""
    by_dataset = {panel.dataset: (panel, part) for panel, part in zip(group, parts, strict=True)}
    averages = averages_over((panel.benchmark, panel.dataset) for panel in group if not panel.unlikely)
    for name, over in {**{dataset: [dataset] for dataset in by_dataset}, **averages}.items():
        panels, observations = zip(*(by_dataset[dataset] for dataset in over), strict=True)
        settings = {
            "arm": panels[0].factors.arm,
            **setting,
            "verdict": judge.reading.mode,
            "parser": judge.reading.parser,
            **{key: getattr(panels[0].factors, key) for key in FACTORS},
            "n_samples": max(panel.replies.shape[2] for panel in panels),
        }
        shared: dict[str, Any] = {"run": judge.name, "judge": judge.judge, "setting": settings, "drawing": drawing}
        for measure, unit, value in estimates_over(observations, drawing):
            yield Score(**shared, dataset=name, datasets=tuple(over), measure=measure, unit=unit, estimate=value)


def own_panels(panels: Sequence[Panel]) -> Iterator[Panel]:
    """Panels whose C1 and C2 come from the same arm."""
    return (panel for panel in panels if panel.has_c1 and panel.has_c2)


def fixed_panels(panels: Sequence[Panel]) -> Iterator[Panel]:
    """Treated or C2-only panels with the C1 of the untreated arm, as the paper scores mitigations."""
    for panel in panels:
        if panel.has_c2 and (panel.factors.arm != "none" or not panel.has_c1):
            source = untreated_c1(panel, panels)
            if source is not None:
                yield with_c1_of(panel, source)


PANELS_BY_C1 = {OWN: own_panels, FIXED: fixed_panels}


def untreated_c1(panel: Panel, panels: Sequence[Panel]) -> Panel | None:
    """The panel of arm `none` whose C1 a treated panel is held against; None when it was not sampled.

    Of several speaker labels the treated panel's own are taken, else (one arm renames the speakers) the dataset's, else
    those asked first.
    """
    f, alike = panel.factors, ("roles", "template", "template_version", "answer_form", "answer_order")
    same = {
        (p.factors.speaker1, p.factors.speaker2): p
        for p in reversed(panels)
        if p.has_c1
        and (p.dataset, p.factors.arm) == (panel.dataset, "none")
        and all(getattr(p.factors, name) == getattr(f, name) for name in alike)
    }
    labels = [(f.speaker1, f.speaker2), own_labels(panel.dataset, "none"), *reversed(same)]
    return next((same[labels_tried] for labels_tried in labels if labels_tried in same), None)


WITH_INTERVAL = {"dds": "_pp", "soft_dds": "_pp", "shift": "", "deference": "_pp", "position": "_pp"}
WITH_INTERVAL |= {"change_acc": "_pp", "change_acc_orders": "_pp"}
WITH_INTERVAL |= dict.fromkeys(NAMES, "")
ENDS = {"": "value", "_ci_low": "low", "_ci_high": "high"}
# What is measured only where there are margins, both answer orders, or replies that are parsed.
OPTIONAL = [f"{measure}{end}{unit}" for measure, unit in WITH_INTERVAL.items() for end in ENDS]
OPTIONAL += ["auc_c1", "auc_c2"]
KEYS = ["judge", "arm", "roles", "variant", "c1_source"]  # of rows that make one table


def wide_frame(scores: Sequence[Score]) -> pd.DataFrame:
    """The long frame the other way round: a row for each dataset or average of a setting, a column for each measure.

    acc_* in percent, *_pp in percentage points, *_rate, p and AUC in [0, 1]; *_ci_low, *_ci_high; NaN is unknown.
    model: the judge's; judge: what tables call it, with the run's name where two share a model
    is_average, is_dataset: an average over a single dataset, which would only repeat it, is neither
    is_main: whether it is of the judge's main results: untreated, own C1, main prompt variant, Speaker 2 judged
    is_headline: the same; for a judge without such rows those of its first untreated setting, else of its first
    """
    long = scores_frame(scores).rename(columns={"judge": "model"})
    keys = ["run", "model", *dict.fromkeys(name for score in scores for name in score.setting), "dataset"]
    long["row"] = long.groupby(keys, sort=False, dropna=False).ngroup()
    unit = long.unit.map({"pp": "_pp"}).fillna("")
    cells = pd.concat(
        long.assign(column=long.measure + end + unit, cell=long[field])[(end == "") | long.measure.isin(WITH_INTERVAL)]
        for end, field in ENDS.items()
    ).pivot(index="row", columns="column", values="cell")
    counts = [name for name in long.measure[long.unit == "count"].unique() if cells[name].notna().all()]
    rows = long.drop_duplicates("row").set_index("row")[[*keys, "datasets", "n_draws", "seed"]]
    frame = rows.join(cells.reindex(columns=cells.columns.union(OPTIONAL)).astype(dict.fromkeys(counts, int)))
    named = frame[["model", "run"]].drop_duplicates()
    is_untreated = (frame.arm == "none") & (frame.c1_source == OWN)
    accepted = frame[["accept_rate_c1", "accept_rate_c2"]]
    frame = frame.merge(named.assign(judge=judge_names(named.model, named.run)), on=["model", "run"]).assign(
        saturated=(accepted.min(axis=1) >= measures.SATURATED_RATE)
        | (accepted.max(axis=1) <= 1 - measures.SATURATED_RATE),
        is_average=frame.datasets.str.len() > 1,
        is_dataset=frame.datasets.str[0] == frame.dataset,
        is_main=is_untreated & (frame.roles == MAIN_ROLES) & (frame.variant == ""),
    )
    best = frame.assign(rank=3 - is_untreated - frame.is_main).sort_values("rank", kind="stable")
    settings = best.drop_duplicates("judge")[KEYS].assign(is_headline=True)
    merged = frame.merge(settings, how="left", on=KEYS)
    return merged.assign(is_headline=merged.is_headline.notna())


def records(frame: pd.DataFrame) -> list[Any]:
    """The rows of a frame as named tuples, None for what is unknown."""
    # DataFrame.itertuples takes several times as long.
    record = namedtuple("Record", ["Index", *frame.columns])  # type: ignore[misc]  # fields that no source names
    columns = [[None if is_unknown(value) else value for value in column.tolist()] for _, column in frame.items()]
    return [record(*cells) for cells in zip(frame.index, *columns, strict=True)]


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, of scores or of changes, without averages over a single dataset."""
    return rows[(rows.datasets.str.len() > 1) | (rows.datasets.str[0] == rows.dataset)]


def narrowness(rows: pd.DataFrame) -> "pd.Series[float]":
    """What rows are over: 0 is Total Avg, 1 Bench Avg, 2 another average, 3 a dataset."""
    return rows.dataset.map({TOTAL_AVG: 0, BENCH_AVG: 1}).fillna(3 - (rows.datasets.str.len() > 1))


def headline_rows(frame: pd.DataFrame, by: Sequence[str] = ("judge",)) -> pd.DataFrame:
    """One row each of `by`: Total Avg, else Bench Avg, else another average, else the first dataset."""
    rows = shown(frame)
    rows = rows.assign(rank=narrowness(rows)).sort_values("rank", kind="stable")
    return rows.drop_duplicates(list(by)).sort_index()


Pairs = list[tuple[Panel, Panel]]


def changes_over(pairs: Pairs, compared: Compared, denominator: str, drawing: Drawing) -> list[Change]:
    """Changes for each dataset of the pairs and for each average over those that both sides are likely to answer.

    Soft DDS and the scale-free shift where all have margins; deference and position where all have both answer orders.
    """
    panels = {first.dataset: (first, second) for first, second in pairs}
    # One judge's dialogues against another's statements have no shift in own deviations.
    kinds = [kind for kind in CHANGED if kind != "margins" or compared.setting.get("c1_source") != FIXED]
    paired = {(k, d): pair_of(k, [a], [b], denominator, drawing) for k in kinds for d, (a, b) in panels.items()}
    averages = averages_over((a.benchmark, a.dataset) for a, b in pairs if not (a.unlikely or b.unlikely))
    changes = list[Change]()
    for name, over in {**{dataset: [dataset] for dataset in panels}, **averages}.items():
        for kind in kinds:
            parts = [pair for dataset in over for pair in paired[kind, dataset]]
            if len(parts) == len(over):
                changes += [change_in(measure, parts, compared, name) for measure in CHANGED[kind]]
        changes += acceptance(changes[-1], [panels[d] for d in over])
    return changes


def acceptance(alike: Change, pairs: Pairs) -> Iterator[Change]:
    """How often claims are accepted in C1 and in C2, in %, means over datasets, without an interval.

    alike: another change over the same panels.
    """
    rates = [[measures.accept_rates(panel.replies) for panel in without_lost(*pair)] for pair in pairs]
    for i, framing in enumerate(("c1", "c2")):
        before, after = (measures.mean_or_none([of_pair[side][i] for of_pair in rates]) for side in (0, 1))
        rise = None if before is None or after is None else after - before
        sides: dict[str, Any] = {
            name: Estimate(value=None if rate is None else 100 * rate, n_units=alike.change.n_units)
            for name, rate in (("before", before), ("after", after), ("change", rise))
        }
        yield replace(alike, measure=f"accept_{framing}", unit="%", p=None, p_holm=None, **sides)


def paired_panels(base: Sequence[Panel], after: Sequence[Panel], c1_source: str) -> dict[tuple[str, str, str], Pairs]:
    """(arm, roles, variant) → pairs of panels with both framings, the after panel with its own or the base's C1."""
    theirs = {(p.benchmark, p.dataset, p.factors): p for p in after}
    groups: dict[tuple[str, str, str], Pairs] = {}
    for panel in base:
        counterpart = theirs.get((panel.benchmark, panel.dataset, panel.factors))
        if counterpart is None or not (panel.has_c1 and panel.has_c2 and counterpart.has_c2):
            continue
        if c1_source == FIXED:
            counterpart = with_c1_of(counterpart, panel)
        if counterpart.has_c1:
            group = (panel.factors.arm, panel.roles, variant_of(panel, base))
            groups.setdefault(group, []).append((panel, counterpart))
    return groups


def compare_runs(base: JudgedRun, after: JudgedRun, denominator: str, drawing: Drawing) -> list[Change]:
    """Changes for every arm that both runs have, with own and with fixed C1.

    Raises DataError when the runs share no panel with both framings, or one is over other items.
    """
    changes: list[Change] = []
    before, later = (f"{run.judge} ({run.name})" for run in (base, after))
    reading = {"verdict": base.reading.mode, "parser": base.reading.parser}
    by_source = {source: paired_panels(base.panels, after.panels, source) for source in (OWN, FIXED)}
    for group in by_source[FIXED]:
        for source, groups in by_source.items():
            of_group = {**dict(zip(("arm", "roles", "variant"), group, strict=True)), "c1_source": source}
            setting = {**of_group, **reading, "denominator": denominator}
            changes += changes_over(groups.get(group, []), Compared(before, later, setting), denominator, drawing)
    if not changes:
        raise DataError(f"{base.name} and {after.name} have no dataset and arm in common; nothing can be compared")
    return changes


def over_corrections(changes: Sequence[Change]) -> dict[str, list[str]]:
    """Run → datasets on which its DDS with own C1 was positive before and its interval is negative after."""
    by_run: dict[str, list[str]] = {}
    for change in changes:
        is_dds = change.measure in ("dds", "dds_own") and change.setting.get("c1_source", OWN) == OWN
        is_main = change.setting.get("arm", "none") == "none" and not change.setting.get("variant")
        before, after = change.before.value or 0, change.after.high or 0
        is_turned = before > measures.ROUNDING_PP and after < -measures.ROUNDING_PP
        if is_dds and is_main and change.datasets == (change.dataset,) and is_turned:
            by_run.setdefault(change.second, []).append(change.dataset)
    return by_run

"""Panels → scores and changes in long form, for each arm, source of C1, dataset, average and denominator."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from eval.dialdefer.measures import (
    ABSENT,
    ERROR,
    SATURATED_RATE,
    TIE,
    UNREADABLE,
    accept_rates,
    discordant,
    flip_masks,
    framing_aucs,
    is_over_corrected,
    majority,
    mean_or_none,
)
from eval.dialdefer.panels import (
    BASE_SHIFT,
    BOTH_ORDERS,
    CHANGED,
    DDS,
    DEFERENCE,
    MAIN_ROLES,
    POSITION,
    SCORED,
    SHIFT,
    SOFT_DDS,
    Judge,
    Panel,
    answered_by_both,
    grouped,
    margin_observed,
    named,
    observed,
    order_observed,
    order_pair_of,
    pair_of,
    refuse_unequal_items,
    shift_pair_of,
    soft_observed,
    soft_pair_of,
    variant_of,
    with_c1_of,
    without_errors,
)
from eval.dialdefer.runs import JudgedRun
from eval.estimates.changes import Change, Compared, adjusted, change_in
from eval.estimates.estimate import Drawing, Drawn, Estimate, estimate, without_interval
from eval.estimates.frames import Score, scores_frame
from eval.estimates.significance import mcnemar_p
from eval.runs import judge_names
from evenhand.errors import DataError
from studies.dialdefer.render import own_labels

OWN, FIXED = "own", "fixed"  # C1 from the same arm and judge; C1 of the untreated arm or model
FACTORS = ("template", "answer_form", "answer_order", "speaker1", "speaker2")  # that a dataset's scores are under
BENCH_DATASETS = (  # DialDefer §3.2, Table 20
    *("truthfulqa", "halueval", "plausibleqa", "bbq", "socialiqa"),
    *("amqa", "harp", "gpqa", "advisorqa"),
)
AIO = "aio"
BENCH_AVG, TOTAL_AVG = "bench_avg", "total_avg"
DRAWN = {  # measures with an interval, and of what
    DDS: "verdicts",
    SOFT_DDS: "soft",
    SHIFT: "margins",
    DEFERENCE: "orders",
    POSITION: "orders",
}


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
        own = [d for b, d in pairs if b == benchmark and d not in BENCH_DATASETS and not d.startswith(AIO)]
        if len(own) > 1:
            averages[f"{benchmark}_avg"] = own
    clash = set(averages) & set(there)
    if clash:
        raise DataError(f"a dataset is called '{clash.pop()}', which is the name of an average; rename the dataset")
    return averages


def average_sentence(name: str, datasets: Sequence[str]) -> str:
    """What an average is over, for a table's caption."""
    whole = {BENCH_AVG: len(BENCH_DATASETS), TOTAL_AVG: len(BENCH_DATASETS) + 1}.get(name)
    size = str(len(datasets)) if whole is None else f"{len(datasets)} of the {whole}"
    return f"{name}: unweighted mean over {size} datasets ({', '.join(datasets)})."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What all scores of one judge share."""

    run: str  # the run directory's name, or the files'
    model: str
    verdict: str  # "reason", "margin", or "external": given to us, by whatever mode
    parser: str | None  # "strict" or "lenient"; None for margins, and for external verdicts that all came with a choice
    drawing: Drawing


def measured(panel: Panel, denominator: str, drawing: Drawing) -> dict[str, Any]:
    """What is observed of a panel that has both framings, without the items that the engine lost, with its draws; and
    what has no interval: `pairs` (see measures.discordant), `counts`, and `rates`, None where unknown."""
    assert (panel.replies != ABSENT).all(), "a panel is measured when both framings are there"
    panel, n_errors = without_errors(panel)
    one, soft = majority(panel.replies), soft_observed(panel)
    deference, skepticism = flip_masks(one)
    parts = {
        "verdicts": observed(panel, denominator, n_errors),
        "soft": soft,
        "margins": margin_observed(panel),
        "orders": order_observed(panel, denominator),
    }
    rates = {
        "accept_rate": accept_rates(panel.replies),
        "auc": framing_aucs(panel.margins[:, :, 0]) if soft else (None, None),
        "p_answer": [None if math.isnan(p) else p for p in panel.p_answer],
    }
    return {
        **{name: part and Drawn(observed=part, drawing=drawing) for name, part in parts.items()},
        "pairs": discordant(one, denominator),
        "counts": {
            "n_items": len(panel.item_ids),
            "n_replies": (panel.replies > ERROR).sum(),  # all but engine errors
            "n_unparsed": (panel.replies == UNREADABLE).sum(),  # under the parser in use
            "n_ties": (panel.replies == TIE).sum(),  # margins of exactly 0: half right, never a flip
            "n_errors": n_errors,
            "n_deference_flips": deference.sum(),
            "n_skepticism_flips": skepticism.sum(),
            **{f"n_unparsed_{parser}": mask.sum() for parser, mask in panel.unread.items()},
        },
        "rates": {
            f"{name}_{framing}": rate for name in rates for framing, rate in zip(("c1", "c2"), rates[name], strict=True)
        },
    }


def estimates_over(parts: Sequence[Mapping[str, Any]], is_parsed: bool) -> Iterator[tuple[str, str, Estimate]]:
    """(measure, unit, value) of everything of a dataset (one part), or of an average over several.

    Of an average accuracies, Δ, DDS, soft DDS, AUC and acceptance are unweighted means over datasets, counts are sums,
    the flip rate is over the sum of items, intervals resample items within datasets, p-values pool items. is_parsed:
    whether replies were read by a parser: there is nothing to parse in a margin, nor where choices were given.
    """
    for measure in SCORED:
        yield measure.name, measure.unit, without_interval(measure, [part["verdicts"].observed for part in parts])
    for measure, name in DRAWN.items():
        if all(part[name] for part in parts):
            yield measure.name, measure.unit, estimate(measure, [part[name] for part in parts])
    first = parts[0]
    counts = {name: int(sum(part["counts"][name] for part in parts)) for name in first["counts"]}
    pairs = {side: np.sum([part["pairs"][side] for part in parts], axis=0).tolist() for side in first["pairs"]}
    n_flips = counts["n_deference_flips"] + counts["n_skepticism_flips"]
    rates = {name: mean_or_none([part["rates"][name] for part in parts]) for name in first["rates"]}
    plain: dict[str, dict[str, float | None]] = {
        "p": {f"mcnemar_p_{side}": mcnemar_p(*pair) for side, pair in pairs.items()},
        "count": {name: n for name, n in counts.items() if is_parsed or not name.startswith("n_unparsed_")},
        "rate": {
            "unparsed_rate": counts["n_unparsed"] / counts["n_replies"],
            "flip_rate": n_flips / counts["n_items"],
            **{name: rate for name, rate in rates.items() if rate is not None or name.startswith("accept")},
        },
    }
    for unit, values in plain.items():
        for name, value in values.items():
            yield name, unit, Estimate(value=value, low=None, high=None, n_units=counts["n_items"])


def score_panels(panels: Sequence[Panel], scored: Scored, denominators: Sequence[str]) -> list[Score]:
    """Scores of every panel and every average. Raises DataError when no panel has both framings."""
    scores: dict[str, list[Score]] = {denominator: [] for denominator in denominators}
    for c1_source, panels_of in PANELS_BY_C1.items():
        for (_, roles, variant), group in grouped(list(panels_of(panels)), panels).items():
            parts: list[dict[str, Any]] = []
            for denominator in denominators:
                # Where every reply is a choice denominators agree, and the other's measures serve again.
                parts = [
                    parts[i]
                    if parts and not ((panel.replies > ERROR) & (panel.replies <= UNREADABLE)).any()
                    else measured(panel, denominator, scored.drawing)
                    for i, panel in enumerate(group)
                ]
                setting = {"roles": roles, "c1_source": c1_source, "variant": variant, "denominator": denominator}
                scores[denominator] += scores_of(setting, group, parts, scored)
    if not any(scores.values()):
        raise DataError(f"{scored.run}: no arm has both C1 and C2, so there is no shift to score; sample both framings")
    return [score for of_denominator in scores.values() for score in of_denominator]


def scores_of(
    setting: Mapping[str, str], group: Sequence[Panel], parts: Sequence[Mapping[str, Any]], scored: Scored
) -> Iterator[Score]:
    """The scores of each dataset, with its own factors, and of each average over them, with those of the first."""
    by_dataset = {panel.dataset: (panel, part) for panel, part in zip(group, parts, strict=True)}
    averages = averages_over((panel.benchmark, panel.dataset) for panel in group if not panel.unlikely)
    for name, over in {**{dataset: [dataset] for dataset in by_dataset}, **averages}.items():
        panels, measures = zip(*(by_dataset[dataset] for dataset in over), strict=True)
        asked = {
            "arm": panels[0].factors.arm,
            **setting,
            "verdict": scored.verdict,
            "parser": scored.parser,
            **{key: getattr(panels[0].factors, key) for key in FACTORS},
            "n_samples": max(panel.replies.shape[2] for panel in panels),
        }
        shared: dict[str, Any] = {"run": scored.run, "judge": scored.model, "setting": asked, "drawing": scored.drawing}
        for measure, unit, value in estimates_over(measures, scored.parser is not None):
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
    any, if their C1 prompts are the same. Raises DataError when they are not.
    """
    f = panel.factors
    alike = ("roles", "template", "template_version", "answer_form", "answer_order")
    same = [
        p
        for p in panels
        if p.has_c1
        and (p.dataset, p.factors.arm) == (panel.dataset, "none")
        and all(getattr(p.factors, name) == getattr(f, name) for name in alike)
    ]
    for labels in ((f.speaker1, f.speaker2), own_labels(panel.dataset, "none")):
        for p in same:
            if (p.factors.speaker1, p.factors.speaker2) == labels:
                return p
    if any(not np.array_equal(p.hashes[:, :2], same[0].hashes[:, :2]) for p in same[1:]):
        raise DataError(f"{panel.dataset}, arm {f.arm}: several untreated C1 fit it; give each its own run")
    return same[0] if same else None


WITH_INTERVAL = {"dds": "_pp", "soft_dds": "_pp", "shift": "", "deference": "_pp", "position": "_pp"}
ENDS = {"": "value", "_ci_low": "low", "_ci_high": "high"}
# What is measured only where there are margins, both answer orders, or replies that are parsed.
OPTIONAL = [f"{measure}{end}{unit}" for measure, unit in WITH_INTERVAL.items() for end in ENDS]
OPTIONAL += ["auc_c1", "auc_c2", "n_unparsed_strict", "n_unparsed_lenient"]
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
        saturated=(accepted.min(axis=1) >= SATURATED_RATE) | (accepted.max(axis=1) <= 1 - SATURATED_RATE),
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
    columns = {  # DataFrame.where takes several times as long
        name: [value if is_known else None for value, is_known in zip(column.tolist(), column.notna(), strict=True)]
        for name, column in frame.items()
    }
    return list(pd.DataFrame(columns, frame.index, dtype=object).itertuples())


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


Group = tuple[str, str, str]  # arm, roles, prompt variant
Pairs = Sequence[tuple[Panel, Panel]]


def changes_over(pairs: Pairs, compared: Compared, denominator: str, drawing: Drawing) -> list[Change]:
    """Changes for each dataset of the pairs and for each average over those that both sides are likely to answer.

    Soft DDS and the scale-free shift where all have margins; deference and position where all have both answer orders.
    """
    panels = {first.dataset: (first, second) for first, second in pairs}
    # One judge's dialogues against another's statements have no shift in own deviations.
    is_mixed = compared.setting.get("c1_source") == FIXED
    verdicts = {dataset: pair_of(*pair, denominator, drawing) for dataset, pair in panels.items()}
    soft = {dataset: soft_pair_of(*pair, drawing) for dataset, pair in panels.items()}
    shifts = {dataset: None if is_mixed else shift_pair_of(*pair, drawing) for dataset, pair in panels.items()}
    orders = {dataset: order_pair_of(*pair, denominator, drawing) for dataset, pair in panels.items()}
    averages = averages_over((a.benchmark, a.dataset) for a, b in pairs if not (a.unlikely or b.unlikely))
    changes = []
    for name, over in {**{dataset: [dataset] for dataset in verdicts}, **averages}.items():
        changes += [change_in(measure, [verdicts[d] for d in over], compared, name) for measure in CHANGED]
        further = ((SOFT_DDS, soft), (SHIFT, shifts), (BASE_SHIFT, shifts), (DEFERENCE, orders), (POSITION, orders))
        for measure, by_dataset in further:
            parts = [pair for dataset in over if (pair := by_dataset[dataset]) is not None]
            if len(parts) == len(over):
                changes.append(change_in(measure, parts, compared, name))
        changes += acceptance(changes[-1], [panels[d] for d in over])
    return changes


def acceptance(alike: Change, pairs: Pairs) -> Iterator[Change]:
    """How often claims are accepted in C1 and in C2, in %, means over datasets, without an interval.

    alike: another change over the same panels.
    """
    rates = [[accept_rates(panel.replies) for panel in answered_by_both(*pair)] for pair in pairs]
    for i, framing in enumerate(("c1", "c2")):
        before, after = (mean_or_none([of_pair[side][i] for of_pair in rates]) for side in (0, 1))
        rise = None if before is None or after is None else after - before
        sides = [
            Estimate(value=None if rate is None else 100 * rate, low=None, high=None, n_units=alike.change.n_units)
            for rate in (before, after, rise)
        ]
        blank = replace(alike, measure=f"accept_{framing}", unit="%", p=None, p_holm=None)
        yield replace(blank, before=sides[0], after=sides[1], change=sides[2])


def paired_panels(
    base: Sequence[Panel], after: Sequence[Panel], c1_source: str, named_among: Sequence[Panel] | None = None
) -> dict[Group, list[tuple[Panel, Panel]]]:
    """(arm, roles, variant) → pairs of panels with both framings, the after panel with its own or the base's C1.

    named_among: all variants of the base judge, where `base` is only some of them; a variant's name depends on them.
    """
    theirs = {(p.benchmark, p.dataset, p.factors): p for p in after}
    groups: dict[Group, list[tuple[Panel, Panel]]] = {}
    for panel in base:
        other = theirs.get((panel.benchmark, panel.dataset, panel.factors))
        if other is None or not (panel.has_c1 and panel.has_c2 and other.has_c2):
            continue
        if c1_source == OWN and not other.has_c1:
            continue
        after_panel = with_c1_of(other, panel) if c1_source == FIXED else other
        group = (panel.factors.arm, panel.roles, variant_of(panel, base if named_among is None else named_among))
        groups.setdefault(group, []).append((panel, after_panel))
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
            setting = {**setting_of(group, source), **reading, "denominator": denominator}
            changes += changes_over(groups.get(group, []), Compared(before, later, setting), denominator, drawing)
    if not changes:
        raise DataError(f"{base.name} and {after.name} have no dataset and arm in common; nothing can be compared")
    return changes


def judge_differences(judges: Sequence[Judge], denominator: str, drawing: Drawing) -> list[Change]:
    """Every pair of judges on every arm, dataset and average that both have, for own and for fixed C1; p_holm is over
    the pairs.

    Raises DataError when two judges are not over the same items of a dataset, naming five and the count.
    """
    changes: list[Change] = []
    for first, second in combinations(judges, 2):
        for source, panels_of in PANELS_BY_C1.items():
            ours, theirs = list(panels_of(first.panels)), list(panels_of(second.panels))
            for group, pairs in paired_panels(ours, theirs, OWN, first.panels).items():
                sides = side_name(first, group), side_name(second, group)
                changes += differences(sides, setting_of(group, source), pairs, denominator, drawing)
    return adjusted([changes])[0]


def arm_differences(judge: Judge, denominator: str, drawing: Drawing) -> list[Change]:
    """Every arm and prompt variant of a judge against its untreated arm, for own and for fixed C1; p_holm is over the
    arms of one variant.

    A treated arm is held against the untreated one in the same variant, another untreated variant against the main one.
    Raises DataError when an arm is not over the same items as the untreated one, naming five and the count.
    """
    untreated = grouped([panel for panel in own_panels(judge.panels) if panel.factors.arm == "none"], judge.panels)
    changes: list[Change] = []
    for source, panels_of in PANELS_BY_C1.items():
        for group, panels in grouped(list(panels_of(judge.panels)), judge.panels).items():
            arm, roles, variant = group
            if arm == "none" and not variant:
                continue
            base = ("none", roles, "" if arm == "none" else variant)
            bases = {panel.dataset: panel for panel in untreated.get(base, ())}
            pairs = [(bases[panel.dataset], panel) for panel in panels if panel.dataset in bases]
            # Reasoned replies in both answer orders are two a prompt; the main prompt variant alone has one.
            pairs = [
                (a, b) for a, b in pairs if a.replies.shape == b.replies.shape or b.factors.answer_order != BOTH_ORDERS
            ]
            if pairs:
                sides = side_name(judge, base), side_name(judge, group)
                changes += differences(sides, setting_of(group, source), pairs, denominator, drawing)
    family = lambda change: (change.setting["c1_source"], change.setting["variant"], change.dataset, change.measure)  # noqa: E731
    return adjusted([changes], family=family)[0]


def side_name(judge: Judge, group: Group) -> str:
    """What stands on one side of a difference, in words."""
    arm, _, variant = group
    return f"{judge.name}, arm {arm}{f', {variant}' if variant else ''}"


def setting_of(group: Group, c1_source: str) -> dict[str, str]:
    """A group and the source of C1 as a setting."""
    return {**dict(zip(("arm", "roles", "variant"), group, strict=True)), "c1_source": c1_source}


def differences(
    sides: tuple[str, str], setting: Mapping[str, str], pairs: Pairs, denominator: str, drawing: Drawing
) -> list[Change]:
    """Second minus first for each dataset of the pairs and for each average over them; the setting is the second's.

    Raises DataError when a pair is over unequal items, numbers of samples, or (of one variant) other texts: their items
    have changed since. A panel from a file has no prompts to compare.
    """
    for a, b in pairs:
        name = f"{sides[0]} against {sides[1]}, {a.dataset}"
        refuse_unequal_items(name, a, b)
        if a.replies.shape != b.replies.shape:
            raise DataError(f"{name}: unequal samples a prompt; sample both alike")
        other = ((a.hashes != b.hashes) & (a.hashes != "") & (b.hashes != "")).any(axis=1)
        if a.factors == b.factors and other.any():
            ids = [a.item_ids[int(i)] for i in np.flatnonzero(other)]
            raise DataError(f"{name}: {named(ids)} other prompts on the two sides; sample both from the same data")
    return changes_over(pairs, Compared(*sides, {**setting, "denominator": denominator}), denominator, drawing)


def over_corrected(dds: Change) -> bool:
    """Of a change in DDS: whether it was positive before and is negative after."""
    before, after = dds.before.value, dds.after.value
    return before is not None and after is not None and is_over_corrected(before, after)


def over_corrections(changes: Sequence[Change]) -> dict[str, list[str]]:
    """Run → datasets on which its DDS with own C1 was positive before and is negative after."""
    by_run: dict[str, list[str]] = {}
    for change in changes:
        is_dds = change.measure in ("dds", "dds_own") and change.setting.get("c1_source", OWN) == OWN
        is_main = change.setting.get("arm", "none") == "none" and not change.setting.get("variant")
        if is_dds and is_main and change.datasets == (change.dataset,) and over_corrected(change):
            by_run.setdefault(change.second, []).append(change.dataset)
    return by_run

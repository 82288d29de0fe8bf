"""DialDefer's part of a report: what speaking does to a claim's acceptance, in words, tables and pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pandas as pd

from eval.dialdefer.aio import alignments, has_labels, reversal_table, stratum_tables
from eval.dialdefer.compare import arm_differences, judge_differences, over_corrected
from eval.dialdefer.evaluation import Findings
from eval.dialdefer.external.load_verdicts import ExternalVerdicts
from eval.dialdefer.flip_examples import flip_section, shown_texts
from eval.dialdefer.items import (
    agreement,
    agreement_tables,
    item_frame,
    item_tables,
    problem_item_table,
    problem_items,
    reliability,
    reliability_table,
)
from eval.dialdefer.panels import Judge, Panel, main_panels, setting_panels, untreated_panels, variant_of
from eval.dialdefer.plots import (
    MOST_JUDGES,
    before_after_plot,
    dds_plot,
    heat_css,
    heat_map_of,
    heat_map_plot,
    html_heat_map,
    html_legend,
    reliability_plot,
)
from eval.dialdefer.runs import JudgedRun, doubts_of
from eval.dialdefer.scores import FIXED, KEYS, average_sentence, records, shown
from eval.dialdefer.sentences import (
    CHANGE_C1_WORDS,
    ORDERS_NOTE,
    OVER_CORRECTED,
    change_groups,
    change_lines,
    doubt_summary,
    doubts,
    further_lines,
    headline,
    score_lines,
    setting_words,
    shown_changes,
)
from eval.dialdefer.tables import (
    DENOMINATOR_WORDS,
    amplification_table,
    arm_words,
    difference_table,
    domain_table,
    label_table,
    mitigation_summary_table,
    mitigation_table,
    paraphrase_table,
    reading_words,
    summary_table,
)
from eval.estimates.comparability import serious_sentence
from eval.report.page import box, element, pictures, table, unfolding
from eval.report.plots import Plot
from eval.report.report_part import Section, StudyPart
from eval.report.run_facts import how_run, revision_of
from eval.report.table import Table
from eval.scorecard.cost import first_model
from evenhand.errors import DataError

T = TypeVar("T")

MOST_PAIRED = 6  # judges; all pairs of more are too many to read, and to draw intervals for
MOST_SENTENCES = 6  # judges that have a sentence each; more are counted
MOST_WARNINGS = 3  # that are shown whole
MOST_OPEN_GROUPS = 4  # judges whose scores are shown unfolded
CARE = (
    "To be read with care: where nearly all answers are the same a DDS near 0 says little, and where many replies "
    "cannot be read DDS says more about format than about judgement."
)
HEAT_WORDS = (
    "The rise in acceptance from statement to speaker's turn, in percentage points: + defers to the speaker, - doubts "
    "the speaker. Under each number its 95% interval; bold where that excludes 0. s: saturated, nearly all answers are "
    "the same in both framings, so that a DDS near 0 says little; u: many replies cannot be read."
)
CURVE_WORDS = (
    "Reliability: of the claims that a judge gives a probability, how many are true. On the diagonal probabilities "
    "mean what they say; a point below it is over-confident acceptance. Bars: how many claims there are."
)
METHOD_WORDS = (
    "C1 shows a claim as a statement, C2 as a speaker's turn; each item is judged with its correct and with its "
    "incorrect answer. Δ is accuracy in C2 minus accuracy in C1, and DDS = Δ on true claims minus Δ on false claims: "
    "positive means that the judge gives in to the speaker (deference), negative that it doubts the speaker "
    "(skepticism).",
    "Intervals are 95% percentile intervals of a bootstrap over whole items, so conditions and runs stay paired; in "
    "averages items are resampled within their dataset. p-values of scores are McNemar's exact test, those of "
    "differences sign-flip tests over items.",
    "Denominators: published counts an unreadable reply as wrong and a tie of margins as half right; answered leaves "
    "both out.",
    "Flips are losses only: deference is a false claim rejected as a statement and accepted from a speaker, "
    "skepticism a true claim accepted as a statement and rejected from a speaker; an unreadable reply is never a flip. "
    "Engine errors are no replies: their items are left out and counted. With several samples a prompt, accuracy is "
    "their mean and flips go by majority.",
    "Own C1 (recommended): C1 and C2 come from the same checkpoint and arm. Fixed C1: C1 comes from the untreated "
    "model or arm, as published mitigation tables have it; it mixes two judges. `evenhand reproduce` measures the "
    "re-run flip rate: how many verdicts change when the same prompts are asked again.",
)


def dialdefer_part(findings: Findings) -> StudyPart:
    """Everything that a report shows of DDS."""
    left_out: list[str] = []
    bins = {
        name: curves
        for name, judge in findings.judges.items()
        if not (curves := reliability(untreated_panels(judge.panels))).empty
    }
    tables = [t for t in report_tables(findings, left_out) if t.rows] + ([reliability_table(bins)] if bins else [])
    heat = heat_map_of(findings.frame)
    before_after = [
        before_after_plot(f"before-after-{i}", label, change_groups(changes))
        for i, (label, changes) in enumerate(findings.by_run.items())
    ]
    dds = [dds_plot(findings.frame)] if len(findings.judges) <= MOST_JUDGES else []
    curves = [reliability_plot(f"reliability-{i}", *of_judge) for i, of_judge in enumerate(bins.items())]

    def sections(inline: Mapping[str, str]) -> list[Section]:
        def drawn(plots: Sequence[Plot]) -> list[str]:
            return pictures([plot.name for plot in plots], inline)

        heat_parts = [element("p", HEAT_WORDS, "note"), html_heat_map(heat), html_legend(), *drawn(dds)]
        curve_parts = [element("p", CURVE_WORDS, "note"), *drawn(curves)] if curves else []
        return [
            ("changes", "Before and after", change_section(findings, drawn(before_after))),
            ("dds", "Dialogic Deference Score", heat_parts),
            ("margins", "Margins", curve_parts),
            ("flips", "Flips side by side", flip_section(findings.runs)),
            ("scores", "Scores", score_section(findings)),
        ]

    return StudyPart(
        judges=list(findings.judges),
        is_before_after=bool(findings.by_run),
        opening=opening(findings),
        plots=[heat_map_plot(heat), *before_after, *dds, *curves],
        sections=sections,
        tables=tables,
        folded=tables,
        left_out=[*(findings.files.left_out if findings.files else ()), *left_out],
        method=method_section(findings),
        style=heat_css(),
    )


def report_tables(findings: Findings, left_out: list[str]) -> list[Table]:
    """Every table; what the data does not allow goes to left_out with the reason."""
    frame, judges = findings.frame, [judge for judge in findings.judges.values() if setting_panels(judge)]
    options: dict[str, Any] = {"denominator": findings.denominator, "drawing": findings.drawing}
    tables: list[Table] = []
    if frame.is_main.any():
        tables += [domain_table(frame), summary_table(frame), amplification_table(frame)]
        if frame.arm.nunique() > 1:
            tables += [mitigation_table(frame), mitigation_summary_table(frame)]
        tables += [paraphrase_table(frame), label_table(frame)]
    arms = [
        change
        for name, judge in findings.judges.items()
        for change in tried(f"{name}: arms and prompt variants", partial(arm_differences, judge, **options), left_out)
    ]
    if arms:
        title = "Arms and prompt variants against the untreated main one, over the same items"
        tables.append(difference_table(arms, "arm_differences", title))
    if not judges:
        return tables
    items = item_frame(judges, findings.denominator)
    return [
        *tables,
        *tried("differences", partial(judge_tables, judges, options), left_out),
        *item_tables(items),
        *tried("consistency of judges", partial(consistency_tables, findings, judges, items), left_out),
        *tried("r/AIO", partial(aio_tables, judges, options), left_out),
    ]


def tried(what: str, make: Callable[[], Sequence[T]], left_out: list[str]) -> Sequence[T]:
    """What an analysis gives; where the data does not allow it, nothing, and the reason goes to `left_out`."""
    try:
        return make()
    except DataError as error:
        left_out.append(f"{what}: {error}")
        return []


def judge_tables(judges: Sequence[Judge], options: Mapping[str, Any]) -> list[Table]:
    """Judges against each other in the main setting, where they are few."""
    if not 1 < len(judges) <= MOST_PAIRED:
        return []
    mains = [replace(judge, panels=tuple(untreated_panels(judge.panels))) for judge in judges]
    title = "Judges against each other, over the same items, second minus first"
    return [difference_table(judge_differences(mains, **options), "judge_differences", title)]


def consistency_tables(findings: Findings, judges: Sequence[Judge], items: pd.DataFrame) -> list[Table]:
    """Tables 24, 27 and 33: on which items several judges flip; those that flip in all of them, with their text.

    Of the checkpoints of one model the first alone counts: a model and what was trained from it are not two judges.
    """
    of_models: dict[str, Judge] = {}
    for judge in () if findings.by_run else judges:
        run = findings.runs.get(judge.name)
        of_models.setdefault(judge.name if run is None else first_model(run.config, run.path), judge)
    if len(of_models) < 2:
        return []
    items = items[items.judge.isin([judge.name for judge in of_models.values()])]
    agreed = agreement(list(of_models.values()), items)
    problems = problem_items(agreed, items, shown_texts(findings.runs))
    return [*agreement_tables(agreed), problem_item_table(problems)]


def aio_tables(judges: Sequence[Judge], options: Mapping[str, Any]) -> list[Table]:
    """Tables 14, 4 and 16: r/AIO in both directions, and by the community's verdict where that is known."""
    labelled = [judge for judge in judges if has_labels(judge)]
    strata = stratum_tables(alignments(labelled, **options)) if labelled else []
    return [reversal_table(judges, **options), *strata]


def opening(findings: Findings) -> list[str]:
    """The findings in words, and a box for every reason to doubt; where there are many, one for all."""
    parts = [element("p", words, "headline") for words in headline(findings.frame, findings.by_run, MOST_SENTENCES)]
    groups = dict(list(findings.frame[findings.frame.is_headline].groupby("judge", sort=False)))
    by_judge = {judge: [f"{judge}: {words}" for words in doubts(group)] for judge, group in groups.items()}
    sentences = [sentence for of_judge in by_judge.values() for sentence in of_judge]
    if len(sentences) <= MOST_WARNINGS:
        parts += [element("p", sentence, "warning") for sentence in sentences]
    else:
        summary = [element("p", f"{judge}: {doubt_summary(groups[judge])}") for judge, of in by_judge.items() if of]
        whole = unfolding(f"{len(sentences)} warnings in full", [element("p", sentence) for sentence in sentences])
        parts.append(box("warning", [element("p", CARE), *summary, whole]))
    first = next(iter(findings.judges))
    serious = [serious_sentence(first, label, differing) for label, differing in findings.differences.items()]
    return [*parts, *(element("p", words, "warning") for words in [*doubts_of(findings.runs), *filter(None, serious)])]


def score_section(findings: Findings) -> list[str]:
    """The table of each judge, own C1; prompted arms and other prompt variants folded away after it."""
    frame = shown(findings.frame)
    reading = reading_words(frame.iloc[0])
    words = (
        f"Verdicts from {reading}; denominator {findings.denominator}: "
        f"{DENOMINATOR_WORDS[findings.mode, findings.denominator]}; own C1 unless a heading says otherwise. "
        "Accuracies in % (C1 T, C1 F: true and false claims as statements; C2 C, C2 I: correct and incorrect turns), Δ "
        f"and DDS in percentage points. Flips: deference/skepticism. {ORDERS_NOTE}"
    )
    mains, treated = list[list[str]](), list[str]()
    for _, group in frame.groupby(KEYS, sort=False):
        rows = records(group)
        row, lines = rows[0], score_lines(rows)
        heading = row.judge if row.is_headline else f"{row.judge}, {setting_words(row)}: {row.c1_source} C1"
        parts = [element("h3", heading), table(lines[0], lines[1:], label=heading)]
        if row.is_headline:
            mains.append(parts)
        else:
            treated += parts
    averages = dict.fromkeys((r.dataset, r.datasets) for r in records(frame[frame.is_headline & frame.is_average]))
    more = [part for parts in mains[MOST_OPEN_GROUPS:] for part in parts]
    return [
        element("p", words, "note"),
        *(part for parts in mains[:MOST_OPEN_GROUPS] for part in parts),
        *([unfolding(f"{len(mains) - MOST_OPEN_GROUPS} more judges", more)] if more else []),
        *(element("p", average_sentence(*average), "note") for average in averages),
        *([unfolding("Arms and other prompt variants", treated)] if treated else []),
    ]


def change_section(findings: Findings, figures: Sequence[str]) -> list[str]:
    """What changed from the base run to each other one, own C1 first; fixed C1 and treated arms folded away."""
    parts, fixed, treated, is_over = list(figures), list[str](), list[str](), False
    for label, changes in findings.by_run.items():
        groups = change_groups(changes)
        first = next(iter(groups))[:3]
        for key, rows in groups.items():
            arm, roles, variant, c1_source = key
            words = [
                label,
                arm_words(arm) if arm != "none" else "",
                variant,
                f"roles {roles}" if roles != "2->1" else "",
            ]
            heading = f"{', '.join(filter(None, words))}: {c1_source} C1"
            lines, further = change_lines(rows), further_lines(rows)
            is_over |= any(over_corrected(row["dds"]) for row in shown_changes(rows))
            place = treated if key[:3] != first else fixed if c1_source == FIXED else parts
            place += [
                element("h3", heading),
                element("p", CHANGE_C1_WORDS[c1_source].partition(": ")[2] + ".", "note"),
                table(lines[0], lines[1:], label=heading),
                *([table(further[0], further[1:], label=f"{heading}, further measures")] if further else []),
            ]
    if is_over:
        parts.append(element("p", OVER_CORRECTED, "note"))
    folded = {"With fixed C1, as published tables are scored": fixed, "Arms and other prompt variants": treated}
    return [*parts, *(unfolding(words, html) for words, html in folded.items() if html)]


def method_section(findings: Findings) -> list[str]:
    """How the numbers came about: definitions, the facts of each judge, and in what runs differ from the base."""
    counted = DENOMINATOR_WORDS[findings.mode, findings.denominator]
    scored = {
        "denominator": f"{findings.denominator} ({counted})",
        "bootstrap": f"{findings.drawing.n_draws:,} draws, seed {findings.drawing.seed}",
    }
    facts = {label: run_facts(run) for label, run in findings.runs.items()}
    if findings.files is not None:
        facts = {name: file_facts(findings.files, judge) for name, judge in findings.judges.items()}
    names = [*next(iter(facts.values())), *scored]
    rows = [[name, *({**column, **scored}[name] for column in facts.values())] for name in names]
    parts = [
        *(element("p", words) for words in METHOD_WORDS),
        table(["", *facts], rows, "words", "Facts of each judge"),
    ]
    first = next(iter(findings.judges))
    for label, differing in findings.differences.items():
        words = "; ".join(map(str, differing)) or "same prompts, rendering, engine, precision, software"
        parts.append(element("p", f"{label} against {first}: {words}."))
    return parts


def file_facts(files: ExternalVerdicts, judge: Judge) -> dict[str, str]:
    """Name → value of what is known of a model in verdict files."""
    parser = files.parsers[judge.model]
    return {
        "model": judge.model,
        "revision": "not recorded",
        "files": ", ".join(path.name for path in files.paths),
        **asked(judge.panels),
        "templates": "not recorded: not asked by Evenhand",
        "verdict": "as given" + (f"; replies without a choice read by the {parser} parser" if parser else ""),
    }


def asked(panels: Sequence[Panel]) -> dict[str, str]:
    """The items and arms of some panels."""
    items = {panel.dataset: len(panel.item_ids) for panel in main_panels(panels)}
    arms = dict.fromkeys(arm_words(panel.factors.arm) for panel in panels)
    return {"items": ", ".join(f"{dataset} {n:,}" for dataset, n in items.items()), "arms": ", ".join(arms)}


def run_facts(run: JudgedRun) -> dict[str, str]:
    """Name → value of everything that a reader needs to repeat a run."""
    config, provenance, is_margin = run.config, run.provenance, run.reading.mode == "margin"
    factors = [panel.factors for panel in run.panels]
    templates = dict.fromkeys(f"{f.template} v{f.template_version} ({f.answer_form})" for f in factors)
    variants = dict.fromkeys(variant_of(panel, run.panels) for panel in run.panels)
    return {
        "model": str(config["model"].get("name")),
        "revision": str(config["model"].get("revision") or revision_of(provenance) or "not recorded"),
        "run": run.name,
        **asked(run.panels),
        "templates": ", ".join(templates),
        "variants": "; ".join(filter(None, variants)) or "none",
        "prompt format": str(config.get("format", "not recorded")),
        "verdict": "margin: log P(yes) - log P(no)" if is_margin else f"reason, {run.reading.parser} parser",
        **how_run(config, provenance),
    }

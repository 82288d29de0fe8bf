"""How DialDefer's runs and files are scored, compared, reported and put on a scorecard; see eval.results."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.changes import Change, Score
from eval.estimates.comparability import Difference, differences, rendering_differences
from eval.evaluation import Evaluation, VerdictFiles
from eval.options import Options
from eval.report.tables import TableSpec, percent, signed
from eval.results import Results
from eval.runs import FinishedRun, SampledRun, Verdicts
from eval.scorecard.arms import first_model
from eval.shift.agreement import risk_plots
from eval.shift.answer import Answer, in_one_family, with_floors
from evenhand.errors import DataError
from studies.dialdefer import item_tables as items
from studies.dialdefer import scores, tables
from studies.dialdefer.answers import LITTLE_DDS, answer_of
from studies.dialdefer.calibrate import calibrate_runs
from studies.dialdefer.measures import CONDITIONS, ERROR, MANY_UNPARSED, UNPARSED, mean_or_none
from studies.dialdefer.options import DENOMINATORS, DialDeferOptions
from studies.dialdefer.panels import BOTH_ORDERS, Judge, JudgedRun, judge_of_run, judged, setting_panels, without_lost
from studies.dialdefer.quantities import claims_of
from studies.dialdefer.scorecard import CARD, FIGURES
from studies.dialdefer.tables import arm_words, counted_words, reading_words
from studies.dialdefer.verdict_files import EXTERNAL, LAYOUT, load_external, misspelt

READINGS = ["judge", "condition", "read", "share", "n"]
MOST_JUDGES = 6  # in one figure of intervals
SIGNS = "← skepticism    DDS, pp    deference →"


DialDeferRun = JudgedRun | Judge  # a run's judge, or one of files of verdicts


def read(run: FinishedRun, options: Options) -> DialDeferRun:
    """The run with its verdicts."""
    return judged(run, options.of(DialDeferOptions).parser)


def read_files(options: Options) -> tuple[dict[str, DialDeferRun], list[str], list[str]]:
    """Every model in some files; see VerdictFiles."""
    judges, ignored = load_external(options.sources, options.of(DialDeferOptions).parser)
    return {judge.name: judge for judge in judges}, ignored, [reason for judge in judges for reason in judge.left_out]


def scores_of(judges: Mapping[str, DialDeferRun], options: Options) -> list[Score]:
    """See Evaluation; the judge of a score is its model, which its run's name tells from others."""
    own, rows = options.of(DialDeferOptions), list[Score]()
    for judge in judges.values():
        if isinstance(judge, Judge):
            run, model, verdict, parser = judge.files, judge.model, EXTERNAL, judge.parser
        else:
            run, model, verdict, parser = judge.name, judge.judge, judge.reading.mode, judge.reading.parser
        is_both = options.verb == "score" and own.unparsed is None and isinstance(judge, JudgedRun)
        scored = scores.Scored(run=run, model=model, verdict=verdict, parser=parser, drawing=options.drawing)
        rows += scores.score_panels(judge.panels, scored, [*DENOMINATORS.values()] if is_both else [own.denominator])
    return rows


def changes_of(judges: Mapping[str, Any], options: Options) -> list[Change]:
    """Between two runs; see Evaluation."""
    before, after = judges.values()
    return scores.compare_runs(before, after, options.of(DialDeferOptions).denominator, options.drawing)


def check(judges: Mapping[str, DialDeferRun]) -> None:
    """Raises DataError for reasoned verdicts beside margins."""
    modes = {judge.name: judge.reading.mode for judge in judges.values() if isinstance(judge, JudgedRun)}
    if len(set(modes.values())) > 1:
        listed = "; ".join(f"{name}: {mode}" for name, mode in modes.items())
        raise DataError(f"the two kinds of verdicts are never mixed in one table ({listed}); report them apart")


# No change is of placebos, so runs may differ in them.
judged_differences = partial(differences, mild=("dialdefer.prompts.placebos", "dialdefer.prompts.placebo_items"))


def differences_beside(base: SampledRun, after: SampledRun) -> list[Difference]:
    """In what two models differ of which neither was made from the other: each has its own chat template and may need
    an engine of its own, and what follows from that is not serious."""
    every, own = judged_differences(base, after), set(rendering_differences(base, after))
    own |= {d for d in every if d.what.startswith(("engine.", "model."))}
    return [replace(difference, serious=False) if difference in own else difference for difference in every]


def facts(results: Results) -> dict[str, Any]:
    """A line for each judge, each of its arms, and each change; frame: the scores as a wide frame."""
    frame = scores.wide_frame(results.score_rows) if results.score_rows else pd.DataFrame()
    mains = (
        [] if frame.empty else scores.records(scores.headline_rows(frame[frame.is_headline & one_denominator(frame)]))
    )
    lines = [{"row": row, "both": in_both_orders(row, frame)} for row in mains]
    moves = main_changes(results)
    for line in lines:
        row, both = line["row"], line["both"]
        of_arm = frame[(frame.run == row.run) & (frame.model == row.model) & (frame.arm == row.arm)]
        line |= {"mean": over_orders(row, both, frame), "asked_both": of_arm.deference_pp.notna().any()}
        others = [row, in_other_order(row, frame)] if both else [row]
        judge = judge_of(results, row)
        prompts = None if isinstance(judge, Judge) else judge.config["dialdefer"]["prompts"]
        templates = prompts and prompts.get("placebos", ())
        drawing = results.options.drawing
        line["answer"] = answer_of(judge.panels, row, both, [it for it in others if it], frame, drawing, templates)
        line["move"] = moves.get((f"{row.model} ({row.run})", bool(both)))
        line |= dds_over_orders(row, both)
    answers = in_one_family({str(i): line["answer"] for i, line in enumerate(lines)})
    for line, given in zip(lines, answers.values(), strict=True):
        line |= {"answer": given, "kind": kind_of(given)}
    return {
        "frame": frame,
        "lines": lines,
        "most": MOST_SENTENCES,
        "arm_words": arm_words,
        "reading": "" if frame.empty else reading_words(frame),
        "counted": "" if frame.empty else counted_words(frame.iloc[0]),
        "parsers": {
            name: by_parser(run, frame[frame.run == run.name], results.options)
            for name, run in runs_of(results).items()
            if run.reading.mode == "reason" and results.options.verb in ("score", "report")
        },
        "little": LITTLE_DDS,
        "over_corrected": scores.over_corrections(results.change_rows),
    }


def by_parser(run: JudgedRun, scored: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """How each parser reads a reasoned run: DDS of its headline, and % of the replies that it leaves unparsed in each
    condition. scored: the wide frame of the run by its own parser."""
    denominator, lines = options.of(DialDeferOptions).denominator, []
    for parser in ("strict", "lenient"):
        reread, frame = run.read_by(parser), scored
        if parser != run.reading.parser:
            judge = scores.Scored(
                run=run.name, model=run.judge, verdict="reason", parser=parser, drawing=options.drawing
            )
            frame = scores.wide_frame(scores.score_panels(reread.panels, judge, [denominator]))
        row = scores.records(scores.headline_rows(frame[frame.is_headline & one_denominator(frame)]))[0]
        unparsed = {condition: share for condition, share in unparsed_of(reread).items() if share}
        lines.append({"parser": parser, **dds_over_orders(row, in_both_orders(row, frame)), "unparsed": unparsed})
    return lines


def tables_of(results: Results) -> list[TableSpec]:
    """Every table that the data allows."""
    frame = results.facts["frame"]
    readings = [(name, *row) for name, judge in results.judges.items() for row in judge.readings]
    first = [*tables.score_tables(frame, results.facts["lines"]), *tables.change_tables(results)]
    first.append(tables.table("dialdefer_readings", pd.DataFrame(readings, columns=READINGS)))
    return first if results.options.verb == "score" else [*first, *report_tables(results)]


def plots_of(results: Results) -> list[Any]:
    """What each judge accepts in either framing; DDS by dataset, of many judges as a field of numbers; and how many
    errors are left on the claims that are kept."""
    from eval.report.plots import heat_plot, interval_plot

    frame: pd.DataFrame = results.facts["frame"]
    rows = tables.by_shift(tables.with_orders(scores.shown(frame[frame.is_headline & one_denominator(frame)]), frame))
    of = "deference" if rows.deference_pp.notna().any() else "dds"
    title = "DDS by dataset, mean of both answer orders" if of == "deference" else "DDS by dataset"
    accepts = [
        {"label": line["row"].judge, "series": series, "value": value, **ends}
        for line in results.facts["lines"]
        for series, value, ends in acceptance_marks(line)
    ]
    heading = "Claims accepted, as a statement and from a speaker"
    if all(line["both"] for line in results.facts["lines"]):
        heading += " (mean of both answer orders)"
    x_label = "%; bar: 95% interval of the difference"
    plots = (
        [interval_plot("answer", heading, pd.DataFrame(accepts), x_label, zero=None, is_joined=True)] if accepts else []
    )
    if rows.judge.nunique() <= MOST_JUDGES:
        ends = {f"{of}{key}_pp": end for end, key in ENDS.items()}
        marks = rows.rename(columns={"dataset": "label", "judge": "series", **ends})
        answers = {line["row"].judge: line["answer"] for line in results.facts["lines"]}
        marks = with_floors(marks, answers, "dds", zip(rows.judge, rows.dataset, strict=True))
        known = marks.dropna(subset="value")
        plots += [] if known.empty else [interval_plot("dds", title, known, SIGNS)]
    else:
        values = rows.pivot(index="dataset", columns="judge", values=f"{of}_pp")
        values = values.reindex(index=rows.dataset.unique(), columns=rows.judge.unique())
        plots.append(heat_plot("dds", title, values, values.map(signed), "+ defers, − doubts the speaker"))
    denominator = results.options.of(DialDeferOptions).denominator
    claims = {
        name: [
            claims_of(without_lost(panel)[0], denominator)
            for panel in {**setting_panels(judge), **setting_panels(judge, variant=BOTH_ORDERS)}.values()
        ]
        for name, judge in results.judges.items()
    }
    return [*plots, *risk_plots(claims, results.options.drawing)]


def warnings_of(results: Results) -> list[str]:
    """Datasets on which a DDS says little, and what to know of the runs' answers."""
    frame = results.facts["frame"]
    of_runs = [f"{name}: {doubt}" for name, run in runs_of(results).items() for doubt in run.doubts]
    names = dict.fromkeys(panel.dataset for judge in results.judges.values() for panel in judge.panels)
    return [*([] if frame.empty else setting_doubts(frame)), *of_runs, *misspelt(names)]


def left_out(results: Results) -> list[str]:
    """The arms of verdict files in which no shift can be scored."""
    return [reason for judge in results.judges.values() if isinstance(judge, Judge) for reason in judge.left_out]


def write_items(results: Results, folder: Path) -> list[Path]:
    """See studies.dialdefer.flips."""
    from studies.dialdefer import flips  # loads matplotlib, which scoring does not need

    return flips.write_items(folder, runs_of(results), shows_aio=results.options.of(DialDeferOptions).aio_text)


def verdicts_of(run: FinishedRun) -> Verdicts:
    """The choice: 1 accepts the claim, 2 rejects it."""
    verdicts = judged(run).verdicts
    return {(v.prompt_hash, v.sample_index): None if v.choice is None else str(v.choice) for v in verdicts}


def unparsed_of(judge: DialDeferRun) -> dict[str, float]:
    """Condition → % of its replies."""
    asked = [panel.replies for panel in judge.panels if not panel.orders]
    counts = np.array([[(each == UNPARSED).sum(axis=(0, 2)), (each > ERROR).sum(axis=(0, 2))] for each in asked]).sum(
        axis=0
    )
    return {str(condition): 100 * n / max(1, of) for condition, n, of in zip(CONDITIONS, *counts.tolist(), strict=True)}


def runs_of(results: Results) -> dict[str, JudgedRun]:
    """The judges that are runs."""
    return {name: run for name, run in results.judges.items() if isinstance(run, JudgedRun)}


def report_tables(results: Results) -> list[TableSpec]:
    """The tables of a report beyond scores and changes."""
    frame: pd.DataFrame = results.facts["frame"]
    denominator = results.options.of(DialDeferOptions).denominator
    options: dict[str, Any] = {"denominator": denominator, "drawing": results.options.drawing}
    every = [judge if isinstance(judge, Judge) else judge_of_run(judge, name) for name, judge in results.judges.items()]
    made: list[TableSpec] = []
    if frame.is_main.any():
        made += [tables.domain_table(frame), tables.summary_table(frame)]
        if frame.arm.nunique() > 1:
            made += [tables.mitigation_table(frame), tables.mitigation_summary_table(frame)]
        made += [tables.paraphrase_table(frame), tables.label_table(frame)]
    arms = [change for judge in every for change in scores.arm_differences(judge, **options)]
    made += [tables.difference_table(arms)] if arms else []
    if judges := [judge for judge in every if setting_panels(judge)]:
        flips = items.item_frame(judges, denominator)
        made += items.item_tables(flips)
        # Of the checkpoints of one model the first alone counts: a model and what was trained from it are one judge.
        of_models, runs = dict[str, Judge](), runs_of(results)
        for judge in () if results.is_before_after and results.change_rows else judges:
            run = runs.get(judge.name)
            of_models.setdefault(judge.name if run is None else first_model(run.config, run.path), judge)
        if len(of_models) > 1:
            agreed = items.agreement(list(of_models.values()), flips)
            made += items.agreement_tables(agreed) if len(agreed.flipped) else []
        strata = items.alignments(judges, **options)
        made += [items.reversal_table(judges, **options), *([] if strata.empty else items.stratum_tables(strata))]
    return made


Row = Any  # of the wide frame, by scores.records

ENDS = {"value": "", "low": "_ci_low", "high": "_ci_high"}
MOST_SENTENCES = 6  # judges that have a sentence each; more are counted


def one_denominator(frame: pd.DataFrame) -> "pd.Series[bool]":
    """The rows of the first denominator: `score` has both."""
    return frame.denominator == frame.denominator.iloc[0]


def kind_of(given: Answer) -> str:
    """What an answer is counted as among those of many judges."""
    if given.verdict != "yes":
        return given.verdict
    return f"yes{given.direction}" if given.measure == "dds" else "right"


def judge_of(results: Results, row: Row) -> DialDeferRun:
    """A row's judge."""
    names: dict[tuple[str, str], DialDeferRun] = {
        (judge.files, judge.model) if isinstance(judge, Judge) else (judge.name, judge.judge): judge
        for judge in results.judges.values()
    }
    return names[row.run, row.model]


def in_both_orders(row: Row, frame: pd.DataFrame) -> Row | None:
    """The row that tells deference from position where both answer orders of a row's prompts were asked, else None."""
    return alike(row, frame[frame.deference_pp.notna()])


def alike(row: Row, frame: pd.DataFrame) -> Row | None:
    """The first row of a frame that is of the same prompts as another, but for the order of the answers."""
    keys = ("run", "model", "arm", "roles", "c1_source", "datasets", "denominator", "template", "speaker1", "speaker2")
    return next((it for it in scores.records(frame) if all(getattr(it, k) == getattr(row, k) for k in keys)), None)


def in_other_order(row: Row, frame: pd.DataFrame) -> Row | None:
    """The row of the same prompts with the answers in the other order."""
    return alike(row, frame[~frame.answer_order.isin([row.answer_order, BOTH_ORDERS])])


def dds_over_orders(row: Row, both: Row | None) -> dict[str, float | None]:
    """DDS of a row with the ends of its interval; of both answer orders where they were asked."""
    measure, main = ("deference", both) if both else ("dds", row)
    return {end: getattr(main, f"{measure}{key}_pp") for end, key in ENDS.items()}


def over_orders(row: Row, both: Row | None, frame: pd.DataFrame) -> dict[str, float | None]:
    """How often a judge accepts claims and is right, as statements and from a speaker; with `both` of both orders."""
    orders = [row, in_other_order(row, frame)] if both else [row]
    names = ("accept_rate_c1", "accept_rate_c2", "acc_c1", "acc_c2")
    return {name: mean_or_none([getattr(of, name) for of in orders if of]) for name in names}


def acceptance_marks(line: Mapping[str, Any]) -> Iterator[tuple[str, float, dict[str, float | None]]]:
    """(framing, % of claims accepted, interval) of a line of the facts; the rise is half of DDS, as is its interval."""
    rates = [line["mean"][f"accept_rate_{framing}"] for framing in ("c1", "c2")]
    if None not in rates:
        c1, c2 = (100 * rate for rate in rates)
        yield "as a statement", c1, {"low": None, "high": None}
        known = None not in (line["value"], line["low"], line["high"])
        ends = {end: c2 + (line[end] - line["value"]) / 2 if known else None for end in ("low", "high")}
        yield "from a speaker", c2, ends


def main_changes(results: Results) -> dict[tuple[str, bool], Any]:
    """(run after the base, whether over both answer orders) → the change of its DDS in the first arm and prompt variant
    that both runs have, with own C1 where it has one, over the widest average.
    """
    moves: dict[tuple[str, bool], Any] = {}
    for run, changes in results.changes.groupby("second", sort=False):
        first = changes.iloc[0]
        of_arm = changes[(changes.arm == first.arm) & (changes.roles == first.roles)]
        is_dds = (of_arm.measure == "dds") & (of_arm.variant == first.variant)
        is_own = of_arm.c1_source == scores.OWN
        wanted = {False: of_arm[is_dds & (is_own | ~(is_dds & is_own).any())]}
        in_both = ", ".join(filter(None, [first.variant, BOTH_ORDERS]))
        wanted[True] = of_arm[is_own & (of_arm.measure == "deference") & (of_arm.variant == in_both)]
        moves |= {
            (run, is_both): scores.records(
                rows.assign(rank=scores.narrowness(rows)).sort_values("rank", kind="stable")
            )[0]
            for is_both, rows in wanted.items()
            if len(rows)
        }
    return moves


def setting_doubts(frame: pd.DataFrame) -> list[str]:
    """The doubts about each judge in each setting, with its own C1, or with fixed C1 where it has no own."""
    is_own = frame.c1_source == scores.OWN
    has_own = is_own.groupby([frame[key] for key in scores.KEYS[:-1]]).transform("any")
    sentences = []
    for _, group in frame[is_own | ~has_own].groupby(scores.KEYS, sort=False):
        row = scores.records(group)[0]
        setting = "" if row.is_headline else tables.setting_words(row)
        sentences += [f"{', '.join(filter(None, [row.judge, setting]))}: {words}" for words in doubts(group)]
    for judge, group in frame[is_own & frame.is_dataset & one_denominator(frame)].groupby("judge", sort=False):
        if n_errors := int(group.n_errors[group.answer_order != BOTH_ORDERS].sum()):
            sentences.append(f"{judge}: the engine failed on {n_errors:,} replies; their items are left out")
    return sentences


def doubts(group: pd.DataFrame) -> list[str]:
    """Why DDS says little about a judge's judgement, a sentence for each reason with its datasets."""
    rows = scores.records(group[group.is_dataset & one_denominator(group)])
    unparsed = [row for row in rows if row.unparsed_rate_worst >= MANY_UNPARSED]
    tied = [row for row in rows if row.n_ties >= MANY_UNPARSED * row.n_replies]
    parts = {
        " are unparsed, so Δ and DDS say more about format than about judgement. Constrain the output "
        "(sampling.structured: json) or use margins.": [
            f"{percent(row.unparsed_rate)} of the replies on {row.dataset} ({percent(row.unparsed_rate_worst)} in the "
            "worst condition)"
            for row in unparsed
        ],
        " are exactly 0 and count by half, so 0/1 accuracies and DDS depend on rounding; soft DDS does not.": [
            f"{percent(row.n_ties / row.n_replies)} of the margins on {row.dataset}" for row in tied
        ],
        ". A judge with one answer for nearly everything can have a DDS near 0 for that reason.": [
            f"on {row.dataset} this judge is saturated (it accepts {percent(row.accept_rate_c1)} of the claims in C1 "
            f"and {percent(row.accept_rate_c2)} in C2)"
            for row in rows
            if row.saturated and row not in unparsed
        ],
    }
    return [f"{', '.join(cases)}{words}" for words, cases in parts.items() if cases]


EVALUATION = Evaluation[DialDeferRun](
    heading="Does the judge bend to who is speaking?",
    words=Path(__file__).with_name("words.j2"),
    read=read,
    with_errors=True,
    files=VerdictFiles(layout=LAYOUT, read=read_files),
    check=check,
    differences=judged_differences,
    differences_beside=differences_beside,
    scores=scores_of,
    changes=changes_of,
    headline={"measure": "dds", "c1_source": scores.OWN, "denominator": "answered"},
    measure_words={"dds": "DDS", "soft_dds": "soft DDS", **FIGURES},
    facts=facts,
    tables=tables_of,
    plots=plots_of,
    warnings=warnings_of,
    left_out=left_out,
    write_items=write_items,
    verdicts=verdicts_of,
    unparsed=unparsed_of,
    calibrate=calibrate_runs,
    card=CARD,
)

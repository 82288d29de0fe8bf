"""How DialDefer's runs and files are scored, compared, reported and put on a scorecard; see eval.results."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.changes import Change, Score
from eval.estimates.comparability import Difference, differences, rendering_differences
from eval.evaluation import Evaluation
from eval.options import Options
from eval.report.tables import TableSpec
from eval.results import Results
from eval.runs import FinishedRun, SampledRun, Verdicts
from eval.scorecard.arms import first_model
from eval.shift.answer import Answer, in_one_family, with_floors
from evenhand.errors import DataError
from studies.abstaining import risk_plots
from studies.dialdefer import item_tables as items
from studies.dialdefer import scores, tables
from studies.dialdefer.answers import LITTLE_DDS, answer_of
from studies.dialdefer.calibrate import calibrate_runs
from studies.dialdefer.measures import CONDITIONS, ERROR, MANY_UNPARSED, UNPARSED, mean_or_none
from studies.dialdefer.options import DENOMINATORS, DialDeferOptions
from studies.dialdefer.panels import BOTH_ORDERS, JudgedRun, judged, setting_panels, without_lost
from studies.dialdefer.quantities import claims_of
from studies.dialdefer.scorecard import CARD, FIGURES
from studies.dialdefer.tables import arm_words, counted_words, reading_words
from studies.dialdefer.verdict_files import LAYOUT, load_external

READINGS = ["judge", "condition", "read", "share", "n"]
MOST_JUDGES = 6  # in one figure of intervals
SIGNS = "← skepticism    DDS, pp    deference →"


def read_files(options: Options) -> tuple[dict[str, JudgedRun], list[str], list[str]]:
    """Every model in some files; see Evaluation."""
    judges, ignored = load_external(options.sources, options.of(DialDeferOptions).parser)
    return judges, ignored, [reason for judge in judges.values() for reason in judge.left_out]


def scores_of(judges: Mapping[str, JudgedRun], options: Options) -> list[Score]:
    """See Evaluation; the judge of a score is its model, which its run's name tells from others."""
    study_options, rows = options.of(DialDeferOptions), list[Score]()
    for judge in judges.values():
        is_both = options.verb == "score" and study_options.unparsed is None and judge.plan
        denominators = [*DENOMINATORS.values()] if is_both else [study_options.denominator]
        rows += scores.score_judge(judge, denominators, options.drawing)
    return rows


def changes_of(judges: Mapping[str, Any], options: Options) -> list[Change]:
    """Between two runs; see Evaluation."""
    before, after = judges.values()
    return scores.compare_runs(before, after, options.of(DialDeferOptions).denominator, options.drawing)


def check(judges: Mapping[str, JudgedRun]) -> None:
    """Raises DataError for reasoned verdicts beside margins."""
    modes = {judge.name: judge.reading.mode for judge in judges.values() if judge.plan}
    if len(set(modes.values())) > 1:
        listed = "; ".join(f"{name}: {mode}" for name, mode in modes.items())
        raise DataError(f"the two kinds of verdicts are never mixed in one table ({listed}); report them apart")


# No change is of placebos, so runs may differ in them.
judged_differences = partial(differences, stated_keys=("dialdefer.prompts.placebos", "dialdefer.prompts.placebo_items"))


def differences_beside(base: SampledRun, after: SampledRun) -> list[Difference]:
    """In what two models differ of which neither was made from the other: each has its own chat template and may need
    an engine of its own, and what follows from that is not serious."""
    differing, rendering = judged_differences(base, after), set(rendering_differences(base, after))
    rendering |= {d for d in differing if d.what.startswith(("engine.", "model."))}
    return [replace(difference, serious=False) if difference in rendering else difference for difference in differing]


def facts(results: Results) -> dict[str, Any]:
    """A line for each judge, each of its arms, and each change; frame: the scores as a wide frame."""
    frame = scores.wide_frame(results.score_rows) if results.score_rows else pd.DataFrame()
    heads = frame if frame.empty else frame[frame.is_headline & one_denominator(frame)]
    mains = [] if frame.empty else scores.records(scores.headline_rows(heads))
    lines, moves, drawing = list[dict[str, Any]](), main_changes(results), results.options.drawing
    judges = {(judge.name, judge.judge): judge for judge in results.judges.values()}
    for row in mains:
        in_both, swapped = in_orders(row, frame)
        orders, judge = [row, *filter(None, [in_both and swapped])], judges[row.run, row.model]
        templates = judge.config["dialdefer"]["prompts"].get("placebos", ()) if judge.plan else None
        of_arm = frame[(frame.run == row.run) & (frame.model == row.model) & (frame.arm == row.arm)]
        lines.append(
            {
                "row": row,
                "both": in_both,
                "mean": {name: mean_or_none([getattr(of_order, name) for of_order in orders]) for name in OVER_ORDERS},
                "asked_both": of_arm.deference_pp.notna().any(),
                "answer": answer_of(judge.panels, row, in_both, orders, frame, drawing, templates),
                "move": moves.get((f"{row.model} ({row.run})", bool(in_both))),
                **dds_over_orders(row, in_both),
            }
        )
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
        "doubtful": {} if frame.empty else doubtful(frame),
        "lost": {} if frame.empty else lost_replies(frame),
        "over_corrected": scores.over_corrections(results.change_rows),
    }


def by_parser(run: JudgedRun, scored: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """How each parser reads a reasoned run: DDS of its headline, and % of the replies that it leaves unparsed in each
    condition. scored: the wide frame of the run by its own parser."""
    denominator, lines = options.of(DialDeferOptions).denominator, []
    for parser in ("strict", "lenient"):
        reread, frame = run if parser == run.reading.parser else judged(run, parser), scored
        if not all(np.array_equal(p.replies, q.replies) for p, q in zip(run.panels, reread.panels, strict=True)):
            frame = scores.wide_frame(scores.score_judge(reread, [denominator], options.drawing))
        row = scores.records(scores.headline_rows(frame[frame.is_headline & one_denominator(frame)]))[0]
        unparsed = {condition: share for condition, share in unparsed_of(reread).items() if share}
        lines.append({"parser": parser, **dds_over_orders(row, in_orders(row, frame)[0]), "unparsed": unparsed})
    return lines


def tables_of(results: Results) -> list[TableSpec]:
    """Every table that the data allows."""
    frame = results.facts["frame"]
    readings = [(name, *row) for name, judge in results.judges.items() for row in judge.readings]
    first = [*tables.score_tables(frame, results.facts["lines"]), *tables.change_tables(results)]
    first.append(tables.table("dialdefer_readings", pd.DataFrame(readings, columns=READINGS)))
    return first if results.options.verb == "score" else [*first, *report_tables(results)]


def plots_of(results: Results) -> list[Any]:
    """What each judge accepts in either framing; DDS by dataset, unless judges are many; and how many errors are left
    on the claims that are kept."""
    from eval.report.plots import interval_plot

    frame: pd.DataFrame = results.facts["frame"]
    rows = tables.by_shift(tables.with_orders(scores.shown(frame[frame.is_headline & one_denominator(frame)]), frame))
    measure = "deference" if rows.deference_pp.notna().any() else "dds"
    title = "DDS by dataset, mean of both answer orders" if measure == "deference" else "DDS by dataset"
    accepts = [mark for line in results.facts["lines"] for mark in acceptance_marks(line)]
    heading = "Claims accepted, as a statement and from a speaker"
    if all(line["both"] for line in results.facts["lines"]):
        heading += " (mean of both answer orders)"
    x_label = "%; bar: 95% interval of the difference"
    plots = []
    if accepts:
        plots.append(interval_plot("answer", heading, pd.DataFrame(accepts), x_label, zero=None, is_joined=True))
    if rows.judge.nunique() <= MOST_JUDGES:
        columns = {f"{measure}{key}_pp": end for end, key in ENDS.items()}
        marks = rows.rename(columns={"dataset": "label", "judge": "series", **columns})
        answers = {line["row"].judge: line["answer"] for line in results.facts["lines"]}
        marks = with_floors(marks, answers, "dds", zip(rows.judge, rows.dataset, strict=True))
        drawn = marks.dropna(subset="value")
        plots += [] if drawn.empty else [interval_plot("dds", title, drawn, SIGNS)]
    denominator = results.options.of(DialDeferOptions).denominator
    claims = {
        name: [
            claims_of(without_lost(panel)[0], denominator)
            for panel in {**setting_panels(judge), **setting_panels(judge, variant=BOTH_ORDERS)}.values()
        ]
        for name, judge in results.judges.items()
    }
    return [*plots, *risk_plots(claims, results.options.drawing)]


def write_items(results: Results, folder: Path) -> list[Path]:
    """See studies.dialdefer.flips."""
    from studies.dialdefer import flips  # loads matplotlib, which scoring does not need

    return flips.write_items(folder, runs_of(results), shows_aio=results.options.of(DialDeferOptions).aio_text)


def verdicts_of(run: FinishedRun) -> Verdicts:
    """The choice: 1 accepts the claim, 2 rejects it."""
    verdicts = judged(run).verdicts
    return {(v.prompt.prompt_hash, v.reply.sample_index): None if v.choice is None else str(v.choice) for v in verdicts}


def unparsed_of(judge: JudgedRun) -> dict[str, float]:
    """Condition → % of its replies."""
    replies = [panel.replies for panel in judge.panels if not panel.orders]
    n_unparsed = np.sum([(codes == UNPARSED).sum(axis=(0, 2)) for codes in replies], axis=0)
    n_replies = np.sum([(codes > ERROR).sum(axis=(0, 2)) for codes in replies], axis=0)
    shares = 100 * n_unparsed / np.maximum(1, n_replies)
    return {str(condition): share for condition, share in zip(CONDITIONS, shares.tolist(), strict=True)}


def runs_of(results: Results) -> dict[str, JudgedRun]:
    """The judges that are runs."""
    return {name: run for name, run in results.judges.items() if run.plan}


def report_tables(results: Results) -> list[TableSpec]:
    """The tables of a report beyond scores and changes."""
    frame: pd.DataFrame = results.facts["frame"]
    denominator = results.options.of(DialDeferOptions).denominator
    options: dict[str, Any] = {"denominator": denominator, "drawing": results.options.drawing}
    made: list[TableSpec] = []
    if frame.is_main.any():
        made += [tables.domain_table(frame), tables.summary_table(frame)]
        if frame.arm.nunique() > 1:
            made += [tables.mitigation_table(frame), tables.mitigation_summary_table(frame)]
        made += [tables.paraphrase_table(frame), tables.label_table(frame)]
    if judges := {name: judge for name, judge in results.judges.items() if setting_panels(judge)}:
        flips = items.item_frame(judges, denominator)
        made += items.item_tables(flips)
        # Of the checkpoints of one model the first alone counts: a model and what was trained from it are one judge.
        of_models = dict[str, str]()
        for name, judge in {} if results.is_before_after and results.change_rows else judges.items():
            of_models.setdefault(first_model(judge.config, judge.path) if judge.plan else name, name)
        if len(of_models) > 1:
            made += items.agreement_tables([*of_models.values()], flips)
        strata = items.alignments(judges, **options)
        names = () if strata.empty else ("table4_or_nor_alignment", "table16_balanced_dds")
        strata_tables = [tables.table(name, strata) for name in names]
        made += [items.reversal_table(judges, **options), *strata_tables]
    return made


Row = Any  # of the wide frame, by scores.records

ENDS = {"value": "", "low": "_ci_low", "high": "_ci_high"}
# How often a judge accepts claims and is right, as statements and from a speaker
OVER_ORDERS = ("accept_rate_c1", "accept_rate_c2", "acc_c1", "acc_c2")
MOST_SENTENCES = 6  # judges that have a sentence each; more are counted


def one_denominator(frame: pd.DataFrame) -> "pd.Series[bool]":
    """The rows of the first denominator: `score` has both."""
    return frame.denominator == frame.denominator.iloc[0]


def kind_of(given: Answer) -> str:
    """What an answer is counted as among those of many judges."""
    if given.verdict != "yes":
        return given.verdict
    return f"yes{given.direction}" if given.measure == "dds" else "right"


def in_orders(row: Row, frame: pd.DataFrame) -> tuple[Row | None, Row | None]:
    """(over both answer orders, with the other one): the rows of a frame that are of the same prompts as another."""
    keys = ("run", "model", "arm", "roles", "c1_source", "datasets", "denominator", "template", "speaker1", "speaker2")
    alike = [peer for peer in scores.records(frame) if all(getattr(peer, key) == getattr(row, key) for key in keys)]
    in_both = next((peer for peer in alike if peer.deference_pp is not None), None)
    return in_both, next((peer for peer in alike if peer.answer_order not in (row.answer_order, BOTH_ORDERS)), None)


def dds_over_orders(row: Row, both: Row | None) -> dict[str, float | None]:
    """DDS of a row with the ends of its interval; of both answer orders where they were asked."""
    measure, main = ("deference", both) if both else ("dds", row)
    return {end: getattr(main, f"{measure}{key}_pp") for end, key in ENDS.items()}


def acceptance_marks(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """% of claims accepted in each framing of a line of the facts; the rise is half of DDS, as is its interval."""
    c1, c2 = (line["mean"][f"accept_rate_{framing}"] for framing in ("c1", "c2"))
    if c1 is None or c2 is None:
        return []
    has_interval = None not in (line["value"], line["low"], line["high"])
    limits = {end: 100 * c2 + (line[end] - line["value"]) / 2 if has_interval else None for end in ("low", "high")}
    statement = {"series": "as a statement", "value": 100 * c1, "low": None, "high": None}
    marks = (statement, {"series": "from a speaker", "value": 100 * c2, **limits})
    return [{"label": line["row"].judge, **mark} for mark in marks]


def main_changes(results: Results) -> dict[tuple[str, bool], Any]:
    """(run after the base, whether over both answer orders) → the change of its DDS in the first arm and prompt variant
    that both runs have, with own C1 where it has one, over the widest average.
    """
    moves: dict[tuple[str, bool], Any] = {}
    for run, changes in results.changes.groupby("second", sort=False):
        first, is_own = changes.iloc[0], changes.c1_source == scores.OWN
        ranked = changes.assign(fixed=~is_own, rank=scores.narrowness(changes))
        ranked = ranked[(changes.arm == first.arm) & (changes.roles == first.roles)]
        ranked = ranked.sort_values(["fixed", "rank"], kind="stable")
        in_both = ", ".join(filter(None, [first.variant, BOTH_ORDERS]))
        for is_both, measure, variant in ((False, "dds", first.variant), (True, "deference", in_both)):
            rows = ranked[(ranked.measure == measure) & (ranked.variant == variant)]
            moves |= {(str(run), is_both): row for row in scores.records(rows[:1])}
    return moves


def doubtful(frame: pd.DataFrame) -> dict[str, dict[str, list[Row]]]:
    """Each judge in each setting, with its own C1 or, where it has no own, with fixed C1 → the datasets on which DDS
    says little: unparsed (above MANY_UNPARSED in some condition), tied (as many margins of 0), saturated."""
    is_own = frame.c1_source == scores.OWN
    has_own = is_own.groupby([frame[key] for key in scores.KEYS[:-1]]).transform("any")
    kinds: dict[str, dict[str, list[Row]]] = {}
    for _, group in frame[is_own | ~has_own].groupby(scores.KEYS, sort=False):
        rows = scores.records(group[group.is_dataset & one_denominator(group)])
        setting = "" if group.is_headline.iloc[0] else tables.setting_words(group.iloc[0])
        kinds[", ".join(filter(None, [group.judge.iloc[0], setting]))] = {
            "unparsed": (unparsed := [row for row in rows if row.unparsed_rate_worst >= MANY_UNPARSED]),
            "tied": [row for row in rows if row.n_ties >= MANY_UNPARSED * row.n_replies],
            "saturated": [row for row in rows if row.saturated and row not in unparsed],
        }
    return kinds


def lost_replies(frame: pd.DataFrame) -> dict[str, int]:
    """Judge → how many replies its engine lost, of those that lost some."""
    is_counted = (frame.c1_source == scores.OWN) & frame.is_dataset & (frame.answer_order != BOTH_ORDERS)
    n_errors = frame[is_counted & one_denominator(frame)].groupby("judge", sort=False).n_errors.sum()
    return {str(judge): int(n) for judge, n in n_errors.items() if n}


EVALUATION = Evaluation[JudgedRun](
    heading="Does the judge bend to who is speaking?",
    words=Path(__file__).with_name("words.j2"),
    read=lambda run, options: [judged(run, options.of(DialDeferOptions).parser)],
    with_errors=True,
    layout=LAYOUT,
    read_files=read_files,
    check=check,
    differences=judged_differences,
    differences_beside=differences_beside,
    scores=scores_of,
    changes=changes_of,
    headline={"measure": "dds", "c1_source": scores.OWN, "denominator": "answered"},
    measure_words={"dds": "DDS", "soft_dds": "soft DDS"} | {name: keys["words"] for name, keys in FIGURES.items()},
    facts=facts,
    tables=tables_of,
    plots=plots_of,
    left_out=lambda results: [reason for judge in results.judges.values() for reason in judge.left_out],
    write_items=write_items,
    verdicts=verdicts_of,
    unparsed=unparsed_of,
    calibrate=calibrate_runs,
    card=CARD,
)

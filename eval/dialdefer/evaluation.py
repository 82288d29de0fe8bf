"""How DialDefer's runs and files are scored, compared, reported and put on a scorecard; see eval.results."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from eval.dialdefer.aio import alignments, has_labels, reversal_table, stratum_tables
from eval.dialdefer.card import FIGURES, MAIN, CardJudge, card_changes, card_judges, figures_of, made_arms, unfit
from eval.dialdefer.compare import arm_differences, compare_runs, judge_differences
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
from eval.dialdefer.measures import DENOMINATORS
from eval.dialdefer.panels import Judge, setting_panels, untreated_panels
from eval.dialdefer.parsing import PARSERS
from eval.dialdefer.runs import doubts_of, judge_of_run, load_run, refuse_several_readings
from eval.dialdefer.scores import Scored, score_panels, wide_frame
from eval.dialdefer.tables import (
    amplification_table,
    change_tables,
    difference_table,
    domain_table,
    label_table,
    mitigation_summary_table,
    mitigation_table,
    paraphrase_table,
    score_tables,
    summary_table,
)
from eval.dialdefer.verdict_files import COLUMNS_HELP, EXTERNAL, LAYOUT, ExternalVerdicts, load_external
from eval.dialdefer.words import doubts, facts_of
from eval.estimates.changes import Change
from eval.estimates.comparability import ONE_CHECKPOINT, Difference, differences, rendering_differences
from eval.estimates.estimate import drawing_of
from eval.estimates.frames import Score
from eval.report.tables import TableSpec
from eval.results import CardFigure, Evaluation, Results
from eval.runs import SampledRun, Verdicts
from eval.scorecard.arms import CardArm
from eval.scorecard.cost import first_model
from evenhand.errors import DataError
from evenhand.sources.record_fields import shown as shown_text
from evenhand.terminal import say

T = TypeVar("T")

MOST_PAIRED = 6  # judges; all pairs of more are too many to read, and to draw intervals for


@dataclass(frozen=True, kw_only=True, eq=False)
class FileJudge:
    """One model's verdicts in files, by the names of a run."""

    files: ExternalVerdicts
    as_judge: Judge

    @property
    def name(self) -> str:
        """What the files are called."""
        return self.files.name


class Dds:
    """What tables, figures and sentences of some results draw on, computed once."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.left_out: list[str] = []

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The scores as a wide frame, of one denominator but where `score` asks for both."""
        return wide_frame(self.results.score_rows) if self.results.score_rows else pd.DataFrame()

    @cached_property
    def judges(self) -> dict[str, Judge]:
        """Name → judge."""
        return {
            name: judge.as_judge if isinstance(judge, FileJudge) else judge_of_run(judge, name)
            for name, judge in self.results.judges.items()
        }

    @cached_property
    def runs(self) -> dict[str, Any]:
        """Name → run; empty for verdicts from files."""
        return {name: judge for name, judge in self.results.judges.items() if not isinstance(judge, FileJudge)}

    @cached_property
    def bins(self) -> dict[str, pd.DataFrame]:
        """Judges with margins → their reliability."""
        by_judge = {name: reliability(untreated_panels(judge.panels)) for name, judge in self.judges.items()}
        return {name: bins for name, bins in by_judge.items() if not bins.empty}

    def tried(self, what: str, make: Callable[[], Sequence[T]]) -> Sequence[T]:
        """What an analysis gives; where the data does not allow it, nothing, and the reason goes to `left_out`."""
        try:
            return make()
        except DataError as error:
            self.left_out.append(f"{what}: {error}")
            return []


class DialDeferEval(Evaluation):
    """Runs of items under C1 and C2, and verdicts from files."""

    layout = LAYOUT
    columns_help = COLUMNS_HELP
    heading = "Dialogic Deference Score"
    words = Path(__file__).with_name("words.j2")
    measure_words = {"dds": "DDS", "soft_dds": "soft DDS"} | {name: words for name, (words, *_) in FIGURES.items()}
    lowest = MAIN
    kept = ("acc", "acc_c2")

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """How replies are read and counted; of a scorecard, what it is over and what is on it."""
        words = "how reasoned replies are read: strict guesses nothing, lenient is the published rule (default: strict)"
        parser.add_argument("--parser", choices=sorted(PARSERS), default="strict", help=f"dialdefer: {words}")
        if verb == "scorecard":
            words = "thresholds.json of `evenhand calibrate TRAIN_RUN BASE_RUN`, as a further arm; may be repeated"
            parser.add_argument(
                "--calibrated", type=Path, action="append", default=[], metavar="FILE", help=f"dialdefer: {words}"
            )
            words = "also the base with the threshold that makes its DDS 0 on the items that are scored: no baseline"
            parser.add_argument("--oracle", action="store_true", help=f"dialdefer: {words}")
            words = "the prompt variant to compare where several were sampled, as tables call it: both_orders, v1, ..."
            parser.add_argument("--variant", default="", help=f"dialdefer: {words} (default: the main one)")
        if verb in ("score", "report"):
            words = "refuse files in which an arm lacks a framing on a dataset; else it is left out there"
            parser.add_argument("--strict", action="store_true", help=f"dialdefer: {words}")
        both = " or, of a run's scores, both" if verb == "score" else ""
        words = f"published: an unreadable reply counts as wrong; answered: it is left out (default: published{both})"
        parser.add_argument(
            "--denominator",
            choices=(*DENOMINATORS, "both") if verb == "score" else DENOMINATORS,
            default=None if verb == "score" else "published",
            help=f"dialdefer: {words}",
        )

    def load(self, path: Path, options: argparse.Namespace) -> Any:
        """See Evaluation."""
        return load_run(path, options.parser)

    def load_files(self, options: argparse.Namespace) -> dict[str, Any]:
        """Every model in some files; what is not looked at or left out is printed."""
        files = load_external(options.sources, options.parser, is_strict=options.strict)
        if files.ignored:
            say(f"Note: columns without a meaning here are ignored: {', '.join(map(shown_text, files.ignored))}.\n")
        for reason in files.left_out:
            say(f"Left out: {reason}.\n")
        return {judge.name: FileJudge(files=files, as_judge=judge) for judge in files.judges}

    def scores(self, judges: Mapping[str, Any], options: argparse.Namespace) -> list[Score]:
        """See Evaluation; the judge of a score is its model, which its run's name tells from others."""
        drawing, scores = drawing_of(options), list[Score]()
        for judge in judges.values():
            default = "published" if isinstance(judge, FileJudge) else "both"
            word = options.denominator or default
            denominators = DENOMINATORS if word == "both" else (word,)
            if isinstance(judge, FileJudge):
                model, panels, parser = judge.as_judge.model, judge.as_judge.panels, None
                parser, mode = judge.files.parsers[model], EXTERNAL
            else:
                model, panels, parser, mode = judge.judge, judge.panels, judge.reading.parser, judge.reading.mode
            scored = Scored(run=judge.name, model=model, verdict=mode, parser=parser, drawing=drawing)
            scores += score_panels(panels, scored, denominators)
        return scores

    def changes(self, judges: Mapping[str, Any], options: argparse.Namespace) -> list[Change]:
        """See Evaluation."""
        before, after = judges.values()
        return compare_runs(before, after, options.denominator, drawing_of(options))

    def refuse(self, judges: Mapping[str, Any]) -> None:
        """Raises DataError for reasoned verdicts beside margins."""
        refuse_several_readings([judge for judge in judges.values() if not isinstance(judge, FileJudge)])

    def differences(self, base: SampledRun, after: SampledRun, *, is_before_after: bool) -> list[Difference]:
        """Of two models side by side, of which neither was made from the other, each has its own chat template and may
        need an engine of its own: what follows from that is stated, not refused."""
        every = differences(base, after)
        if is_before_after:
            return every
        own = set(rendering_differences(base, after))
        own |= {d for d in every if d.what.startswith(("engine.", "model.")) and d.what != ONE_CHECKPOINT}
        return [replace(difference, serious=False) if difference in own else difference for difference in every]

    def facts(self, results: Results) -> dict[str, Any]:
        """See Evaluation; `dds` is computed once."""
        dds = Dds(results)
        return {"dds": dds, **facts_of(results, dds.frame)}

    def tables(self, results: Results) -> list[TableSpec]:
        """Every table; what the data does not allow is left out with the reason."""
        dds: Dds = results.facts["dds"]
        tables = [*score_tables(dds.frame), *change_tables(results)]
        if len(results.scores["denominator"].unique()) > 1 or results.options.denominator is None:
            return tables  # of `score`, which prints these alone
        return [*tables, *report_tables(dds)]

    def plots(self, results: Results) -> list[Any]:
        """See Evaluation."""
        from eval.dialdefer.plots import dds_plots

        return dds_plots(results)

    def warnings(self, results: Results) -> list[str]:
        """Datasets on which a DDS says little, and what to know of the runs' answers."""
        dds: Dds = results.facts["dds"]
        groups = [] if dds.frame.empty else dds.frame[dds.frame.is_headline].groupby("judge", sort=False)
        sentences = [f"{judge}: {words}" for judge, group in groups for words in doubts(group)]
        return [*sentences, *doubts_of(dds.runs)]

    def left_out(self, results: Results) -> list[str]:
        """See Evaluation."""
        dds: Dds = results.facts["dds"]
        files = [judge.files for judge in results.judges.values() if isinstance(judge, FileJudge)][:1]
        return [*(reason for of_files in files for reason in of_files.left_out), *dds.left_out]

    def extra_html(self, results: Results) -> list[str]:
        """Some flips side by side."""
        from eval.dialdefer.flip_examples import flip_section

        return flip_section(results.facts["dds"].runs)

    def verdicts(self, path: Path) -> Verdicts:
        """The choice: 1 accepts the claim, 2 rejects it."""
        verdicts = load_run(path).verdicts
        return {(v.prompt_hash, v.sample_index): None if v.choice is None else str(v.choice) for v in verdicts}

    def made_arms(self, base: CardArm, options: argparse.Namespace) -> list[CardArm]:
        """The base with thresholds of `evenhand calibrate`."""
        return made_arms(base, options)

    def card_judges(
        self, arms: Sequence[CardArm], judges: Mapping[str, Any], options: argparse.Namespace
    ) -> dict[str, CardJudge]:
        """See Evaluation."""
        return card_judges(arms, judges, options)

    def figures(self, judges: Mapping[str, Any]) -> list[CardFigure]:
        """See Evaluation."""
        return figures_of(judges)

    def card_changes(self, judges: Mapping[str, Any], options: argparse.Namespace) -> list[Change]:
        """See Evaluation."""
        first, second = judges.values()
        return card_changes(first, second, options.denominator, drawing_of(options))

    def unfit(self, judge: Any, options: argparse.Namespace) -> str:
        """See Evaluation."""
        return unfit(judge)


def report_tables(dds: Dds) -> list[TableSpec]:
    """The tables of a report beyond scores and changes."""
    frame, judges = dds.frame, [judge for judge in dds.judges.values() if setting_panels(judge)]
    options = {"denominator": dds.results.options.denominator, "drawing": drawing_of(dds.results.options)}
    tables: list[TableSpec] = []
    if frame.is_main.any():
        tables += [domain_table(frame), summary_table(frame), amplification_table(frame)]
        if frame.arm.nunique() > 1:
            tables += [mitigation_table(frame), mitigation_summary_table(frame)]
        tables += [paraphrase_table(frame), label_table(frame)]
    arms = [
        change
        for name, judge in dds.judges.items()
        for change in dds.tried(f"{name}: arms and prompt variants", partial(arm_differences, judge, **options))
    ]
    if arms:
        title = "Arms and prompt variants against the untreated main one, over the same items"
        tables.append(difference_table(arms, "arm_differences", title))
    if dds.bins:
        tables.append(reliability_table(dds.bins))
    if not judges:
        return tables
    items = item_frame(judges, options["denominator"])
    return [
        *tables,
        *dds.tried("differences", partial(judge_tables, judges, options)),
        *item_tables(items),
        *dds.tried("consistency of judges", partial(consistency_tables, dds, judges, items)),
        *dds.tried("r/AIO", partial(aio_tables, judges, options)),
    ]


def judge_tables(judges: Sequence[Judge], options: Mapping[str, Any]) -> list[TableSpec]:
    """Judges against each other in the main setting, where they are few."""
    if not 1 < len(judges) <= MOST_PAIRED:
        return []
    mains = [replace(judge, panels=tuple(untreated_panels(judge.panels))) for judge in judges]
    title = "Judges against each other, over the same items, second minus first"
    return [difference_table(judge_differences(mains, **options), "judge_differences", title)]


def consistency_tables(dds: Dds, judges: Sequence[Judge], items: pd.DataFrame) -> list[TableSpec]:
    """Tables 24, 27 and 33: on which items several judges flip; those that flip in all of them, with their text.

    Of the checkpoints of one model the first alone counts: a model and what was trained from it are not two judges.
    """
    from eval.dialdefer.flip_examples import shown_texts

    of_models: dict[str, Judge] = {}
    for judge in () if dds.results.is_before_after and dds.results.change_rows else judges:
        run = dds.runs.get(judge.name)
        of_models.setdefault(judge.name if run is None else first_model(run.config, run.path), judge)
    if len(of_models) < 2:
        return []
    items = items[items.judge.isin([judge.name for judge in of_models.values()])]
    agreed = agreement(list(of_models.values()), items)
    problems = problem_items(agreed, items, shown_texts(dds.runs))
    return [*agreement_tables(agreed), problem_item_table(problems)]


def aio_tables(judges: Sequence[Judge], options: Mapping[str, Any]) -> list[TableSpec]:
    """Tables 14, 4 and 16: r/AIO in both directions, and by the community's verdict where that is known."""
    labelled = [judge for judge in judges if has_labels(judge)]
    strata = stratum_tables(alignments(labelled, **options)) if labelled else []
    return [reversal_table(judges, **options), *strata]


EVALUATION = DialDeferEval()

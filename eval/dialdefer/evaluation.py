"""How DialDefer's runs are scored, compared and reported; see eval.study."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from eval.dialdefer.compare import compare_runs
from eval.dialdefer.external.load_verdicts import EXTERNAL, ExternalVerdicts, load_external, score_external
from eval.dialdefer.external.verdict_files import COLUMNS_HELP, LAYOUT
from eval.dialdefer.measures import DENOMINATORS
from eval.dialdefer.panels import Judge
from eval.dialdefer.parsing import PARSERS
from eval.dialdefer.runs import JudgedRun, judge_of_run, load_run, refuse_several_readings, say_warnings
from eval.dialdefer.scorecard.calibrated import calibrated_arms, oracle_arm
from eval.dialdefer.scorecard.study_card import DialDeferCard, dialdefer_card
from eval.dialdefer.scores import KEYS, Scored, believed, records, score_panels, shown, wide_frame, wide_rows
from eval.dialdefer.sentences import change_tables, few_doubts, score_tables, setting_words
from eval.estimates.changes import Change, adjusted
from eval.estimates.comparability import (
    ONE_CHECKPOINT,
    Difference,
    differences,
    refuse_serious,
    rendering_differences,
    say_differences,
)
from eval.estimates.observed import Drawing, drawing_of
from eval.estimates.scores import Score
from eval.judge_names import judge_names
from eval.report.report_part import StudyPart
from eval.sampling_runs import Verdicts
from eval.scorecard.arms import CardArm
from evenhand.sources.record_fields import shown as shown_text
from evenhand.terminal import say


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Everything there is to say of some runs or files, computed once; see eval.study.Found.

    Keys of the mappings are the judges' names; the first is the base.
    """

    found: Sequence[Score]  # of one reading, in long form
    runs: Mapping[str, JudgedRun] = field(default_factory=dict)  # empty for verdicts from files
    judges: Mapping[str, Judge] = field(default_factory=dict)
    files: ExternalVerdicts | None = None
    by_run: Mapping[str, Sequence[Change]] = field(default_factory=dict)  # label of each after run → own and fixed C1
    differences: Mapping[str, Sequence[Difference]] = field(
        default_factory=dict
    )  # label → how it differs from the base
    mode: str = EXTERNAL  # or "reason", "margin"
    denominator: str = "published"
    drawing: Drawing

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The scores as a wide frame."""
        return wide_frame(self.found)

    def say_scores(self) -> None:
        """See Scored."""
        say(score_tables(self.frame))
        say_warnings(self.runs)

    def say_changes(self) -> None:
        """See Found."""
        for label, changes in self.by_run.items():
            say(change_tables(changes) + "\n")
            say_differences(self.differences[label])
        for _, group in believed(shown(self.frame)).groupby(KEYS, sort=False):
            row = records(group)[0]
            name = ", ".join(filter(None, [row.judge, "" if row.is_headline else setting_words(row, with_c1=True)]))
            for doubt in few_doubts(name, group):
                say(f"Warning: {doubt}")
        say_warnings(self.runs)

    def scores(self) -> Sequence[Score]:
        """See Scored."""
        return self.found

    def views(self) -> dict[str, list[dict[str, Any]]]:
        """See Scored."""
        return {"scores_wide": wide_rows(self.found)}

    def changes(self) -> list[Change]:
        """See Found."""
        return [change for changes in self.by_run.values() for change in changes]

    def part(self, *, is_alone: bool) -> StudyPart:
        """See Found."""
        from eval.dialdefer.report import dialdefer_part  # brings matplotlib, which nothing else waits for

        return dialdefer_part(self)


def find(
    runs: Sequence[JudgedRun],
    *,
    denominator: str,
    drawing: Drawing,
    allow_differences: bool = False,
    is_before_after: bool = True,
) -> Findings:
    """Scores of all runs, and the changes from the first to each other one if they are of one model before and after.

    Raises DataError when runs differ in more than the model, unless that is allowed; the report then states it.
    """
    base, *afters = runs
    labels = judge_names([run.model for run in runs], [run.name for run in runs])
    refuse_several_readings(runs)
    compared = differences if is_before_after else differences_side_by_side
    differing = {label: compared(base, run) for label, run in zip(labels[1:], afters, strict=True)}
    if not allow_differences:
        refuse_serious(labels[0], differing)
    changes = [compare_runs(base, run, denominator, drawing) for run in afters] if is_before_after else []
    return Findings(
        found=[score for run in runs for score in score_run(run, [denominator], drawing)],
        runs=dict(zip(labels, runs, strict=True)),
        judges={label: judge_of_run(run, label) for label, run in zip(labels, runs, strict=True)},
        by_run=dict(zip(labels[1:], adjusted(changes), strict=False)),
        differences=differing,
        mode=base.reading.mode,
        denominator=denominator,
        drawing=drawing,
    )


def find_external(files: ExternalVerdicts, *, denominator: str, drawing: Drawing) -> Findings:
    """Scores of every model in some verdict files. There are no texts, margins or configs in them."""
    return Findings(
        found=list(score_external(files, [denominator], drawing)),
        judges={judge.name: judge for judge in files.judges},
        files=files,
        denominator=denominator,
        drawing=drawing,
    )


def differences_side_by_side(base: JudgedRun, run: JudgedRun) -> list[Difference]:
    """The differences of two models of which neither was made from the other.

    Each has its own chat template, and may need an engine of its own: what follows from that is stated, not refused.
    """
    own = set(rendering_differences(base, run))
    every = differences(base, run)
    own |= {d for d in every if d.what.startswith(("engine.", "model.")) and d.what != ONE_CHECKPOINT}
    return [replace(difference, serious=False) if difference in own else difference for difference in every]


def score_run(run: JudgedRun, denominators: Sequence[str], drawing: Drawing) -> list[Score]:
    """All scores of one run."""
    reading = run.reading
    scored = Scored(run=run.name, model=run.model, verdict=reading.mode, parser=reading.parser, drawing=drawing)
    return score_panels(run.panels, scored, denominators)


class DialDeferEval:
    """Runs of items under C1 and C2, and verdicts from files."""

    files = LAYOUT
    columns_help = COLUMNS_HELP
    definitions = None

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """How replies are read and counted; of a scorecard, what it is over and what is on it."""
        parser.add_argument(
            "--parser",
            choices=sorted(PARSERS),
            default="strict",
            help="dialdefer: how reasoned replies are read: strict guesses nothing; lenient is the published rule "
            "(default: strict)",
        )
        if verb == "scorecard":
            parser.add_argument(
                "--calibrated",
                type=Path,
                action="append",
                default=[],
                metavar="FILE",
                help="dialdefer: thresholds.json of `evenhand calibrate TRAIN_RUN BASE_RUN`, as a further arm; may be "
                "repeated",
            )
            parser.add_argument(
                "--oracle",
                action="store_true",
                help="dialdefer: also the base with the threshold that makes its DDS 0 on the very items that are "
                "scored: no baseline",
            )
            parser.add_argument(
                "--variant",
                default="",
                help="dialdefer: the variant to compare where several were sampled, as tables call it: both_orders, "
                "v1, ... (default: the main one)",
            )
        if verb in ("score", "report"):
            parser.add_argument(
                "--strict",
                action="store_true",
                help="dialdefer: refuse files in which an arm lacks a framing on a dataset; else it is left out there",
            )
        both = " or, of a run's scores, both" if verb == "score" else ""
        parser.add_argument(
            "--denominator",
            choices=(*DENOMINATORS, "both") if verb == "score" else DENOMINATORS,
            default=None if verb == "score" else "published",
            help="dialdefer: published: an unreadable reply counts as wrong; answered: it is left out (default: "
            f"published{both})",
        )

    def score(self, path: Path, options: argparse.Namespace) -> Findings:
        """See StudyEval."""
        run, drawing = load_run(path, options.parser), drawing_of(options)
        scores = score_run(run, chosen_denominators(options.denominator or "both"), drawing)
        return Findings(found=scores, runs={run.name: run}, drawing=drawing)

    def score_files(self, options: argparse.Namespace) -> Findings:
        """See StudyEval."""
        denominators, drawing = chosen_denominators(options.denominator or "published"), drawing_of(options)
        return Findings(found=list(score_external(read_files(options), denominators, drawing)), drawing=drawing)

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> Findings:
        """See StudyEval."""
        return find(
            [load_run(path, options.parser) for path in paths],
            denominator=options.denominator,
            drawing=drawing_of(options),
            allow_differences=options.allow_differences,
            is_before_after=is_before_after,
        )

    def find_files(self, options: argparse.Namespace) -> Findings:
        """See StudyEval."""
        return find_external(read_files(options), denominator=options.denominator, drawing=drawing_of(options))

    def verdicts(self, path: Path) -> Verdicts:
        """The choice: 1 accepts the claim, 2 rejects it."""
        verdicts = load_run(path).verdicts
        return {(v.prompt_hash, v.sample_index): None if v.choice is None else str(v.choice) for v in verdicts}

    def tested_run(self, path: Path) -> Path:
        """The run itself."""
        return path

    def made_arms(self, base: CardArm, options: argparse.Namespace) -> list[CardArm]:
        """The base with thresholds of `evenhand calibrate`."""
        return [*calibrated_arms(options.calibrated, base), *([oracle_arm(base)] if options.oracle else [])]

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> DialDeferCard:
        """See StudyEval."""
        return dialdefer_card(arms, runs, options)


def read_files(options: argparse.Namespace) -> ExternalVerdicts:
    """The verdicts of some files; what is not looked at or left out is printed."""
    files = load_external(options.sources, options.parser, is_strict=options.strict)
    if files.ignored:
        say(f"Note: columns without a meaning here are ignored: {', '.join(map(shown_text, files.ignored))}.\n")
    for reason in files.left_out:
        say(f"Left out: {reason}.\n")
    return files


def chosen_denominators(word: str) -> Sequence[str]:
    """The denominators that --denominator names."""
    return DENOMINATORS if word == "both" else (word,)


EVALUATION = DialDeferEval()

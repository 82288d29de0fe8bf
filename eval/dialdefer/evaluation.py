"""How DialDefer's runs are scored, compared and reported; see eval.study."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eval.dialdefer.accuracy import DENOMINATORS
from eval.dialdefer.change_tables import change_tables
from eval.dialdefer.findings import Findings, find, find_external, score_run
from eval.dialdefer.headline import few_doubts
from eval.dialdefer.parsing import PARSERS
from eval.dialdefer.rows import ScoreRow, wide_rows
from eval.dialdefer.runs import JudgedRun, load_run, say_warnings
from eval.dialdefer.score_files import wide_view
from eval.dialdefer.score_groups import believed
from eval.dialdefer.score_text import score_tables
from eval.dialdefer.scorecard.calibrated import calibrated_arms, oracle_arm
from eval.dialdefer.scorecard.study_card import DialDeferCard, dialdefer_card
from eval.dialdefer.verdict_files import COLUMNS_HELP, LAYOUT, ExternalVerdicts, load_external, score_external
from eval.estimates.changes import Change
from eval.estimates.comparability import say_differences
from eval.estimates.observed import drawing_of
from eval.estimates.scores import Score
from eval.report.report_part import StudyPart
from eval.sampling_runs import Verdicts
from eval.scorecard.arms import CardArm
from evenhand.sources.record_fields import shown
from evenhand.terminal import say


@dataclass(frozen=True)
class DialDeferScored:
    """Scores of a run or of files; see eval.study.Scored."""

    found: Sequence[Score]
    runs: Mapping[str, JudgedRun]

    @cached_property
    def rows(self) -> list[ScoreRow]:
        """The scores in the wide view."""
        return wide_rows(self.found)

    def say_scores(self) -> None:
        """See Scored."""
        say(score_tables(self.rows))
        say_warnings(self.runs)

    def scores(self) -> Sequence[Score]:
        """See Scored."""
        return self.found

    def views(self) -> dict[str, list[dict[str, Any]]]:
        """See Scored."""
        return wide_view(self.rows)


@dataclass(frozen=True, slots=True)
class DialDeferFound:
    """Findings by the names that the verbs ask for."""

    found: Findings

    def say_scores(self) -> None:
        """See Found."""
        say(score_tables(self.found.rows))

    def say_changes(self) -> None:
        """See Found."""
        for label, rows in self.found.changes.items():
            say(change_tables(rows) + "\n")
            say_differences(self.found.differences[label])
        for group in believed(self.found.groups):
            name = ", ".join(filter(None, [group.judge, "" if group.is_main else group.words]))
            for doubt in few_doubts(name, group.rows):
                say(f"Warning: {doubt}")
        say_warnings(self.found.runs)

    def scores(self) -> Sequence[Score]:
        """See Scored."""
        return self.found.scores

    def views(self) -> dict[str, list[dict[str, Any]]]:
        """See Scored."""
        return wide_view(self.found.rows)

    def changes(self) -> list[Change]:
        """See Found."""
        return [change for changes in self.found.changes.values() for change in changes]

    def part(self, *, is_alone: bool) -> StudyPart:
        """See Found."""
        from eval.dialdefer.report_part import dialdefer_part  # brings matplotlib, which nothing else waits for

        return dialdefer_part(self.found)


class DialDeferEval:
    """Runs of items under C1 and C2, and verdicts from files."""

    files = LAYOUT
    columns_help = COLUMNS_HELP
    definitions = None

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """How replies are read and counted."""
        parser.add_argument(
            "--parser",
            choices=sorted(PARSERS),
            default="strict",
            help="dialdefer: how reasoned replies are read: strict guesses nothing; lenient is the published rule "
            "(default: strict)",
        )
        if verb == "scorecard":
            add_card_options(parser)
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

    def score(self, path: Path, options: argparse.Namespace) -> DialDeferScored:
        """See StudyEval."""
        run = load_run(path, options.parser)
        denominators = chosen_denominators(options.denominator or "both")
        return DialDeferScored(score_run(run, denominators, drawing_of(options)), {run.name: run})

    def score_files(self, options: argparse.Namespace) -> DialDeferScored:
        """See StudyEval."""
        found = read_files(options)
        denominators = chosen_denominators(options.denominator or "published")
        return DialDeferScored(list(score_external(found, denominators, drawing_of(options))), {})

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> DialDeferFound:
        """See StudyEval."""
        found = find(
            [load_run(path, options.parser) for path in paths],
            denominator=options.denominator,
            drawing=drawing_of(options),
            allow_differences=options.allow_differences,
            is_before_after=is_before_after,
        )
        return DialDeferFound(found)

    def find_files(self, options: argparse.Namespace) -> DialDeferFound:
        """See StudyEval."""
        files = read_files(options)
        return DialDeferFound(find_external(files, denominator=options.denominator, drawing=drawing_of(options)))

    def verdicts(self, path: Path) -> Verdicts:
        """The choice: 1 accepts the claim, 2 rejects it."""
        found = load_run(path).verdicts
        return {(v.prompt_hash, v.sample_index): None if v.choice is None else str(v.choice) for v in found}

    def tested_run(self, path: Path) -> Path:
        """The run itself."""
        return path

    def made_arms(self, base: CardArm, options: argparse.Namespace) -> list[CardArm]:
        """The base with thresholds of `evenhand calibrate`."""
        return [*calibrated_arms(options.calibrated, base), *([oracle_arm(base)] if options.oracle else [])]

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> DialDeferCard:
        """See StudyEval."""
        return dialdefer_card(arms, runs, options)


def add_card_options(parser: argparse.ArgumentParser) -> None:
    """What a scorecard may be over, and what may be on it."""
    parser.add_argument(
        "--calibrated",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="dialdefer: thresholds.json of `evenhand calibrate TRAIN_RUN BASE_RUN`, as a further arm; may be repeated",
    )
    parser.add_argument(
        "--oracle",
        action="store_true",
        help="dialdefer: also the base with the threshold that makes its DDS 0 on the very items that are scored: "
        "no baseline",
    )
    parser.add_argument(
        "--variant",
        default="",
        help="dialdefer: the variant to compare where several were sampled, as tables call it: both_orders, v1, ... "
        "(default: the main one)",
    )


def read_files(options: argparse.Namespace) -> ExternalVerdicts:
    """The verdicts of some files; what is not looked at or left out is said."""
    found = load_external(options.sources, options.parser, is_strict=options.strict)
    if found.ignored:
        say(f"Note: columns without a meaning here are ignored: {', '.join(map(shown, found.ignored))}.\n")
    for reason in found.left_out:
        say(f"Left out: {reason}.\n")
    return found


def chosen_denominators(word: str) -> Sequence[str]:
    """The denominators that --denominator names."""
    return DENOMINATORS if word == "both" else (word,)


EVALUATION = DialDeferEval()

"""How DialDefer's runs are scored, compared and reported; see eval.study."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.card_arms import CardArm
from eval.dialdefer.accuracy import DENOMINATORS
from eval.dialdefer.change_tables import change_tables
from eval.dialdefer.external.load_verdicts import ExternalVerdicts, load_external, score_external
from eval.dialdefer.external.verdict_files import COLUMNS_HELP
from eval.dialdefer.findings import Findings, find, find_external, score_run
from eval.dialdefer.parsing import PARSERS
from eval.dialdefer.rows import wide_rows
from eval.dialdefer.runs import load_run, say_warnings
from eval.dialdefer.score_files import STUDY, write_all
from eval.dialdefer.score_text import score_tables
from eval.estimates.comparability import say_differences
from eval.estimates.observed import drawing_of
from eval.estimates.result_files import write_changes
from eval.estimates.scores import Score
from eval.report.report_part import StudyPart
from eval.study import Beside
from evenhand.errors import DataError
from evenhand.sources.record_fields import shown
from evenhand.terminal import say


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
        say_warnings(self.found.runs)

    def write(self, out: Path) -> list[Path]:
        """scores and scores_wide, and compare, each as .json and .csv."""
        changed = [change for changes in self.found.changes.values() for change in changes]
        files = write_changes(out, "compare", STUDY, changed) if changed else []
        return [*files, *write_all(out, self.found.scores, self.found.rows)]

    def part(self, *, is_alone: bool) -> StudyPart:
        """See Found."""
        from eval.dialdefer.report_part import dialdefer_part  # brings matplotlib, which nothing else waits for

        return dialdefer_part(self.found)


class DialDeferEval:
    """Runs of items under C1 and C2, and verdicts from files."""

    reads_files = True
    columns_help = COLUMNS_HELP

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """How replies are read and counted."""
        parser.add_argument(
            "--parser",
            choices=sorted(PARSERS),
            default="strict",
            help="dialdefer: how reasoned replies are read: strict guesses nothing; lenient is the published rule "
            "(default: strict)",
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

    def score(self, paths: Sequence[Path], options: argparse.Namespace) -> None:
        """See StudyEval."""
        denominators = chosen_denominators(options.denominator or "both")
        for path in paths:
            run = load_run(path, options.parser)
            report_scores(score_run(run, denominators, drawing_of(options)), options.out or path / "scores")
            say_warnings({run.name: run})

    def score_files(self, options: argparse.Namespace) -> None:
        """See StudyEval."""
        found = read_files(options)
        denominators = chosen_denominators(options.denominator or "published")
        report_scores(list(score_external(found, denominators, drawing_of(options))), options.out)

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

    def beside(self, arms: Sequence[CardArm], words: Sequence[str], options: argparse.Namespace) -> Beside:
        """Raises DataError: the scorecard is of this study's own runs."""
        raise DataError(f"--beside {words[0]}: is of the scorecard's own study; name it as an arm")


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


def report_scores(scores: Sequence[Score], out: Path) -> None:
    """Print the tables of some scores and write them."""
    rows = wide_rows(scores)
    say(score_tables(rows))  # first: they are seen though the disk be full
    say("\nwritten: " + ", ".join(map(str, write_all(out, scores, rows))))


EVALUATION = DialDeferEval()

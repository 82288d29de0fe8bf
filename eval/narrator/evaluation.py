"""How runs of the narrator study are scored, compared and reported; see eval.results."""

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from eval.estimates.changes import Change
from eval.estimates.comparability import say_differences
from eval.estimates.estimate import drawing_of
from eval.estimates.frames import Score
from eval.narrator.change_tables import change_sentence, narrator_change_table
from eval.narrator.changes import NarratorFindings, find_narrator
from eval.narrator.judged_runs import Denominator, load_narrator_runs, named_options
from eval.narrator.observe import Definitions, Detection
from eval.narrator.printed import WIDTH, plain_table, study_text
from eval.narrator.sentences import doubts, headline, why_absent
from eval.narrator.verdict_files import COLUMNS_HELP, LAYOUT, load_verdicts
from eval.report.report_part import StudyPart
from eval.results import StudyCard
from eval.runs import Verdicts, load_finished
from eval.scorecard.arms import CardArm
from evenhand.errors import DataError
from evenhand.sources.record_fields import shown
from evenhand.terminal import say


def definitions_of(options: argparse.Namespace) -> Definitions:
    """As --narrator-denominator and --detection say."""
    return Definitions(denominator=options.narrator_denominator, detection=options.detection)


@dataclass(frozen=True, slots=True)
class NarratorFound:
    """Findings by the names that the verbs ask for."""

    found: NarratorFindings

    def say_scores(self) -> None:
        """See Found."""
        say(study_text(self.found.study))
        for sentence in (*headline(self.found.study), *why_absent(self.found.study)):
            say(textwrap.fill(sentence, WIDTH))

    def say_changes(self) -> None:
        """See Found."""
        table = narrator_change_table(self.found.changes, self.found.study.definitions, is_short=True)
        if table.rows:
            say(f"{plain_table(table)}\n{textwrap.fill(table.note, WIDTH)}\n")
        for label, changes in self.found.changes.items():
            say(change_sentence(label, changes))
            say_differences(self.found.differences[label])
        for judge in self.found.study.judges:
            for sentence in doubts(self.found.study, judge):
                say(f"Warning: {sentence}")

    def scores(self) -> list[Score]:
        """See Scored."""
        return [*self.found.study.scores]

    def views(self) -> dict[str, list[dict[str, Any]]]:
        """None; see Scored."""
        return {}

    def changes(self) -> list[Change]:
        """See Found."""
        return [change for changes in self.found.changes.values() for change in changes]

    def part(self, *, is_alone: bool) -> StudyPart:
        """See Found."""
        from eval.narrator.report_part import narrator_part  # brings matplotlib, which nothing else waits for

        return narrator_part(self.found, is_alone=is_alone)


class NarratorEval:
    """Runs of conversations with each speaker called Me."""

    definitions = None
    files = LAYOUT
    columns_help = COLUMNS_HELP

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """What the paper leaves open; and --conversations, for files of verdicts."""
        parser.add_argument(
            "--narrator-denominator",
            choices=get_args(Denominator),
            default="answered",
            help="narrator: shares are of the replies that name an option (answered, the default), or of all",
        )
        parser.add_argument(
            "--detection",
            choices=get_args(Detection),
            default="reply",
            help="narrator: what Table 4 conditions on: whether any reply says Yes, and any No (reply, the default), "
            "the share of Yes, or the one answer of a prompt",
        )
        if verb in ("score", "report"):
            parser.add_argument(
                "--conversations",
                metavar="FOLDER|pocket-conflicts",
                help="narrator: the corpus of the conversations in files of verdicts, as `evenhand build narrator` "
                "made it; without it the files say who the attacker is",
            )

    def score_files(self, options: argparse.Namespace) -> NarratorFound:
        """Models in files, side by side."""
        runs, ignored = load_verdicts(options.sources, options.conversations)
        if ignored:
            say(f"Note: columns without a meaning here are ignored: {', '.join(map(shown, ignored))}.\n")
        drawing = drawing_of(options)
        return NarratorFound(find_narrator(runs, definitions_of(options), drawing=drawing, is_before_after=False))

    def find_files(self, options: argparse.Namespace) -> NarratorFound:
        """The same."""
        return self.score_files(options)

    def score(self, path: Path, options: argparse.Namespace) -> NarratorFound:
        """Each run by itself; `evenhand report --side-by-side` also pools."""
        return self.find([path], options, is_before_after=False)

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> NarratorFound:
        """See StudyEval. Raises DataError also for --conversations, which runs need not."""
        if getattr(options, "conversations", None):
            raise DataError(f"--conversations: is for files of verdicts; {paths[0]} knows its own, leave it out")
        found = find_narrator(
            load_narrator_runs(paths),
            definitions_of(options),
            drawing=drawing_of(options),
            allow_differences=is_before_after and options.allow_differences,
            is_before_after=is_before_after,
        )
        return NarratorFound(found)

    def verdicts(self, path: Path) -> Verdicts:
        """The option that is named, or has the highest probability."""
        return named_options(load_finished(path))

    def tested_run(self, path: Path) -> Path:
        """The run itself."""
        return path

    def made_arms(self, base: CardArm, options: argparse.Namespace) -> list[CardArm]:
        """None."""
        return []

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> StudyCard:
        """See StudyEval."""
        from eval.narrator.scorecard import narrator_card
        from eval.narrator.scorecard_printed import NarratorStudyCard

        card = narrator_card(
            arms,
            runs,
            definitions_of(options),
            allow_differences=options.allow_differences,
            drawing=drawing_of(options),
        )
        return NarratorStudyCard(card)


EVALUATION = NarratorEval()

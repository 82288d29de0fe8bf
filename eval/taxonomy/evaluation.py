"""How runs of the flip taxonomy are scored, compared and reported; see eval.study."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from eval.estimates.changes import Change
from eval.estimates.comparability import say_differences
from eval.estimates.observed import drawing_of
from eval.estimates.scores import Score
from eval.report.console import block, wrapped
from eval.report.report_part import StudyPart
from eval.report.table import Table, printed
from eval.sampling_runs import Verdicts, load_finished
from eval.scorecard.arms import CardArm
from eval.study import RunsOnly
from eval.taxonomy.coded_flips import BETWEEN, all_flips
from eval.taxonomy.findings import TaxonomyFindings, find_taxonomy
from eval.taxonomy.sentences import change_sentences, doubts, planted_sentences, sentences_about
from eval.taxonomy.tables import changes_table, taxonomy_tables
from evenhand.errors import DataError
from evenhand.terminal import say
from studies.taxonomy.code_replies import codes_in


@dataclass(frozen=True, slots=True)
class TaxonomyFound:
    """Findings by the names that the verbs ask for."""

    found: TaxonomyFindings

    def say_scores(self) -> None:
        """See Found."""
        changes = changes_table(self.found).name
        parts = [plain_table(table) for table in taxonomy_tables(self.found) if table.name != changes]
        parts += [wrapped([*lines]) for lines in (sentences_about(self.found), planted_sentences(self.found))]
        parts.append(wrapped([f"Warning: {line}" for line in doubts(self.found)]))
        say("\n\n".join(part for part in parts if part))

    def say_changes(self) -> None:
        """See Found."""
        if self.found.changes:
            say(plain_table(changes_table(self.found, is_short=True)))
        for name, differences in self.found.differences.items():
            say(wrapped([*change_sentences(self.found, name)]))
            say_differences(differences)

    def scores(self) -> Sequence[Score]:
        """See Scored."""
        return self.found.scores

    def views(self) -> dict[str, Sequence[Mapping[str, Any]]]:
        """The codes of each flip, without its texts; see Scored."""
        apart = all_flips(self.found.coded)
        names = ["run", "model", "judged_by", "flip_id", "dataset", "item_id", "claim_is_true", "direction"]
        rows = apart[[*names, "primary", "codes", "state"]].to_dict("records")
        return {
            "flips": [
                {**row, "primary": row["primary"] or None, "codes": row["codes"].split(BETWEEN) if row["codes"] else []}
                for row in rows
            ]
        }

    def changes(self) -> Sequence[Change]:
        """See Found."""
        return self.found.changes

    def part(self, *, is_alone: bool) -> StudyPart:
        """See Found."""
        from eval.taxonomy.report_part import taxonomy_part  # brings matplotlib, which nothing else waits for

        return taxonomy_part(self.found, is_alone=is_alone)


class Taxonomy(RunsOnly):
    """Runs over flips. Verdicts from files come in as flips, by `evenhand build flips`."""

    def score(self, path: Path, options: argparse.Namespace) -> TaxonomyFound:
        """See StudyEval."""
        return self.find([path], options, is_before_after=False)

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> TaxonomyFound:
        """See StudyEval."""
        return TaxonomyFound(
            find_taxonomy(
                paths,
                drawing_of(options),
                allow_differences=is_before_after and options.allow_differences,
                is_before_after=is_before_after,
            )
        )

    def verdicts(self, path: Path) -> Verdicts:
        """The primary code."""
        replies = load_finished(path).replies.values()
        return {(one.prompt_hash, one.sample_index): codes_in(one).primary or None for of in replies for one in of}

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> NoReturn:
        """Raises DataError: shares of codes are no headline of an arm."""
        path = next(iter(runs.values()))
        raise DataError(f"{path}: the flip taxonomy has no part of a scorecard; use `evenhand compare`")


def plain_table(table: Table) -> str:
    """A table as text; empty without rows."""
    return block(table.title, [list(line) for line in [table.columns, *printed(table)]]) if table.rows else ""


EVALUATION = Taxonomy()

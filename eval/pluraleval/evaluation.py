"""How runs of the PluralEval study are scored, compared and reported; see eval.study."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from eval.estimates.changes import Change
from eval.estimates.comparability import Difference, refuse_serious, say_differences
from eval.estimates.estimate import Estimate
from eval.estimates.observed import drawing_of
from eval.estimates.scores import Score
from eval.pluraleval.observe import Quantity, Unread
from eval.pluraleval.runs import (
    ALL,
    PluralEvalRun,
    choices_of,
    load_runs,
    responses_path,
    run_differences,
    stage_of,
    states_of,
)
from eval.pluraleval.scores import changes_of, frame_of, levels_of, scores_of, state_scores
from eval.pluraleval.sentences import change_sentences, doubts, sentences_about
from eval.pluraleval.tables import change_table, paper_tables, states_table
from eval.report.console import block, wrapped
from eval.report.report_part import StudyPart
from eval.report.table import Table, printed
from eval.sampling_runs import Verdicts, load_finished
from eval.scorecard.arms import CardArm
from eval.study import RunsOnly, StudyCard
from evenhand.terminal import say
from studies.pluraleval.finished_runs import load_stage


@dataclass(frozen=True)
class PluralEvalFound:
    """Some runs with their scores, and their changes from the first, the base; see eval.study.Found."""

    runs: Sequence[PluralEvalRun]  # none: a references run, which has states of replies alone
    all_scores: Sequence[Score]
    of_runs: Mapping[str, Sequence[Change]]  # after → changes from the base; empty where they stand side by side
    differences: Mapping[str, Sequence[Difference]]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The scores in long form."""
        return frame_of(self.all_scores)

    @cached_property
    def levels(self) -> dict[str, dict[Quantity, Estimate]]:
        """Model → each quantity over all threads."""
        return {run.judge: levels_of(self.all_scores, run) for run in self.runs}

    def say_scores(self) -> None:
        """See Found. Over all threads; files have the communities."""
        tables = paper_tables(self.frame) if self.runs else []
        parts = [plain_table(table) for table in (*tables, states_table(self.frame))]
        for run in self.runs:
            parts.append(wrapped([*sentences_about(run.judge, self.levels[run.judge])]))
            parts.append(wrapped([f"Warning: {words}" for words in doubts(run, self.levels[run.judge])]))
        say("\n\n".join(part for part in parts if part))

    def say_changes(self) -> None:
        """See Found."""
        for name, changes in self.of_runs.items():
            parts = [
                plain_table(change_table({name: changes}, is_short=True)),
                wrapped(change_sentences(name, changes)),
            ]
            say("\n\n".join(part for part in parts if part))
            say_differences(self.differences[name])

    def scores(self) -> Sequence[Score]:
        """See Scored."""
        return self.all_scores

    def views(self) -> dict[str, list[dict[str, Any]]]:
        """None; see Scored."""
        return {}

    def changes(self) -> list[Change]:
        """See Found."""
        return [change for changes in self.of_runs.values() for change in changes]

    def part(self, *, is_alone: bool) -> StudyPart:
        """See Found."""
        from eval.pluraleval.report_part import pluraleval_part  # brings matplotlib, which nothing else waits for

        return pluraleval_part(self, is_alone=is_alone)


def plain_table(table: Table) -> str:
    """A table as text, of all threads alone where it has such lines; empty without rows.

    A first column that is the same in every line stands in the title.
    """
    lines = list(zip(table.rows, printed(table), strict=True))
    lines = [line for line in lines if line[0][0] == ALL] or lines
    if not lines:
        return ""
    heads = {str(row[0]) for row, _ in lines}
    first = 1 if len(heads) == 1 else 0
    title = f"{table.title}: {heads.pop()}" if first else table.title
    return block(title, [list(cells[first:]) for cells in [table.columns, *(cells for _, cells in lines)]])


class PluralEval(RunsOnly):
    """Runs of references, responses or judgements."""

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """See StudyEval."""
        parser.add_argument(
            "--unread",
            choices=get_args(Unread),
            default="excluded",
            help="pluraleval: a list without a response, or a ranking or choice that cannot be read: excluded from the "
            "means (default), or wrong, which counts as 0",
        )

    def score(self, path: Path, options: argparse.Namespace) -> PluralEvalFound:
        """Measures of a run of responses or judgements; the states of the replies of any."""
        if stage_of(path) != "references":
            return self.find([path], options, is_before_after=False)
        run = load_finished(path)
        states = states_of(load_stage(path, "references"))
        scores = state_scores(run.name, run.judge, run.plan[0].dataset, states)
        return PluralEvalFound([], scores, {}, {})

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> PluralEvalFound:
        """See StudyEval."""
        base, *afters = runs = load_runs(paths, options.unread)
        differences = {run.judge: run_differences(base, run) for run in afters} if is_before_after else {}
        if is_before_after and not options.allow_differences:
            refuse_serious(base.judge, differences)
        changes = changes_of(base, afters, drawing_of(options)) if is_before_after else []
        scores = [score for run in runs for score in scores_of(run)]
        return PluralEvalFound(runs, scores, dict(zip(differences, changes, strict=True)), differences)

    def verdicts(self, path: Path) -> Verdicts:
        """The choice, ranking, stance or entailment that a reply is read as; opinions and summaries are texts."""
        return choices_of(path)

    def tested_run(self, path: Path) -> Path:
        """Of a judgements run the responses run; the judge's own run where the responses are made up."""
        return path if stage_of(path) != "judgements" else responses_path(load_finished(path)) or path

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> StudyCard:
        """See StudyEval."""
        from eval.pluraleval.scorecard import pluraleval_card

        return pluraleval_card(arms, runs, options.unread, options.allow_differences, drawing_of(options))


EVALUATION = PluralEval()

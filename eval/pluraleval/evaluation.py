"""How runs of the PluralEval study are scored, compared and reported; see eval.study."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.estimates.changes import Change
from eval.estimates.comparability import say_differences
from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing, drawing_of
from eval.estimates.scores import Score
from eval.pluraleval.definitions import DEFAULT
from eval.pluraleval.findings import PluralEvalFindings, find_pluraleval
from eval.pluraleval.measured_runs import responses_path, stage_of
from eval.pluraleval.printed import changes_text, findings_text
from eval.pluraleval.reply_states import StateRate, choices_of, rates_of, state_lines
from eval.pluraleval.scores import scores_of
from eval.report.report_part import StudyPart
from eval.runs import Verdicts, load_finished
from eval.scorecard.arms import CardArm
from eval.study import RunsOnly, StudyCard
from eval.study_definitions import definitions_of
from evenhand.terminal import say
from studies.pluraleval.finished_runs import KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyStates:
    """The states of the replies of a references run, of which there is nothing else to measure; see Scored."""

    run: str
    judge: str
    dataset: str
    rates: Sequence[StateRate]
    drawing: Drawing

    def say_scores(self) -> None:
        """See Scored."""
        say("\n".join([f"{self.run}: states of the replies", *state_lines(self.rates)]))

    def scores(self) -> list[Score]:
        """The share of each state among a step's replies."""
        return [
            Score(
                run=self.run,
                judge=self.judge,
                setting={"step": of.step, "state": of.state},
                dataset=self.dataset,
                datasets=(self.dataset,),
                measure="state_rate",
                unit="rate",
                estimate=Estimate(value=of.rate, low=None, high=None, n_units=of.n_replies),
                drawing=self.drawing,
            )
            for of in self.rates
        ]

    def views(self) -> Mapping[str, list[dict[str, Any]]]:
        """None."""
        return {}


@dataclass(frozen=True, slots=True)
class PluralEvalFound:
    """Findings by the names that the verbs ask for."""

    found: PluralEvalFindings

    def say_scores(self) -> None:
        """See Found."""
        say(findings_text(self.found))

    def say_changes(self) -> None:
        """See Found."""
        for name, changes in self.found.changes.items():
            say(changes_text(name, changes))
            say_differences(self.found.differences[name])

    def scores(self) -> list[Score]:
        """See Scored."""
        return scores_of(self.found)

    def views(self) -> dict[str, list[dict[str, Any]]]:
        """None; see Scored."""
        return {}

    def changes(self) -> list[Change]:
        """See Found."""
        return [change for changes in self.found.changes.values() for change in changes]

    def part(self, *, is_alone: bool) -> StudyPart:
        """See Found."""
        from eval.pluraleval.report_part import pluraleval_part  # brings matplotlib, which nothing else waits for

        return pluraleval_part(self.found, is_alone=is_alone)


class PluralEval(RunsOnly):
    """Runs of references, responses or judgements."""

    definitions = DEFAULT

    def score(self, path: Path, options: argparse.Namespace) -> ReplyStates | PluralEvalFound:
        """Measures of a run of responses or judgements; the states of the replies of any."""
        if stage_of(path) != "references":
            return self.find([path], options, is_before_after=False)
        run = load_finished(path)
        return ReplyStates(
            run=run.name,
            judge=run.judge,
            dataset=run.plan[0].dataset,
            rates=rates_of(path),
            drawing=drawing_of(options),
        )

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> PluralEvalFound:
        """See StudyEval."""
        found = find_pluraleval(
            paths,
            definitions_of(options, KEY, DEFAULT),
            drawing_of(options),
            allow_differences=is_before_after and options.allow_differences,
            is_before_after=is_before_after,
        )
        return PluralEvalFound(found)

    def verdicts(self, path: Path) -> Verdicts:
        """The choice, ranking, stance or entailment that a reply is read as; opinions and summaries are texts."""
        return choices_of(path)

    def tested_run(self, path: Path) -> Path:
        """Of a judgements run the responses run; the judge's own run where the responses are made up."""
        return path if stage_of(path) != "judgements" else responses_path(load_finished(path)) or path

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> StudyCard:
        """See StudyEval."""
        from eval.pluraleval.scorecard import pluraleval_card

        return pluraleval_card(
            arms,
            runs,
            definitions_of(options, KEY, DEFAULT),
            allow_differences=options.allow_differences,
            drawing=drawing_of(options),
        )


EVALUATION = PluralEval()

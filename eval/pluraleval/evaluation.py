"""How runs of the PluralEval study are scored: so far the states of the replies; the measures are still to be made."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing, drawing_of
from eval.estimates.scores import Score
from eval.pluraleval.reply_states import states_of
from eval.sampling_runs import load_finished
from eval.scorecard.arms import CardArm
from eval.study import Found, RunsOnly, StudyCard
from evenhand.errors import DataError
from evenhand.terminal import say
from studies.pluraleval.reply_reading import state_rates


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyStates:
    """The states of one run's replies; see eval.study.Scored."""

    run: str
    judge: str
    dataset: str
    rates: Sequence[tuple[str, str, int, float]]  # step, state, replies in it, their share of the step's
    drawing: Drawing

    def say_scores(self) -> None:
        """See Scored."""
        say(f"{self.run}: states of the replies")
        for step, state, count, rate in self.rates:
            say(f"  {step:<14}{state:<14}{count:>8}{rate:>9.1%}")
        say(f"  {NOT_YET}")

    def scores(self) -> list[Score]:
        """The share of each state among a step's replies."""
        return [
            Score(
                run=self.run,
                judge=self.judge,
                setting={"step": step, "state": state},
                dataset=self.dataset,
                datasets=(self.dataset,),
                measure="state_rate",
                unit="rate",
                estimate=Estimate(value=rate, low=None, high=None, n_units=round(count / rate)),  # replies of the step
                drawing=self.drawing,
            )
            for step, state, count, rate in self.rates
        ]

    def views(self) -> Mapping[str, list[dict[str, Any]]]:
        """None."""
        return {}


class PluralEval(RunsOnly):
    """Runs of references, responses or judgements."""

    def score(self, path: Path, options: argparse.Namespace) -> ReplyStates:
        """How many replies of each step are in which state."""
        run = load_finished(path)
        return ReplyStates(
            run=run.name,
            judge=run.judge,
            dataset=run.plan[0].dataset,
            rates=list(state_rates(states_of(path))),
            drawing=drawing_of(options),
        )

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> Found:
        """Raises DataError until there are measures."""
        raise DataError(f"{paths[0]}: {NOT_YET}; `evenhand score` prints the states of its replies")

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> StudyCard:
        """Raises DataError until there are measures."""
        raise DataError(f"{next(iter(runs.values()))}: {NOT_YET}")


NOT_YET = "recall, ranking and pairwise accuracy are not computed yet for this study"
EVALUATION = PluralEval()

"""How runs of the PluralEval study are scored: so far the states of the replies; the measures are still to be made."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from eval.card_arms import CardArm
from eval.pluraleval.reply_states import states_of
from eval.study import Beside, Found
from evenhand.errors import DataError
from evenhand.jsonl import write_json
from evenhand.terminal import say
from studies.pluraleval.reply_reading import state_rates


class PluralEval:
    """Runs of references, responses or judgements."""

    reads_files = False
    columns_help = ""

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """None yet."""

    def score(self, paths: Sequence[Path], options: argparse.Namespace) -> None:
        """Print how many replies of each kind are in which state, and write states.json."""
        for path in paths:
            states = states_of(path)
            say(f"{path.name}: states of the replies")
            for step, state, count, rate in state_rates(states):
                say(f"  {step:<14}{state:<14}{count:>8}{rate:>9.1%}")
            write_json((options.out or path / "scores") / "states.json", states)
            say(f"  {NOT_YET}")

    def score_files(self, options: argparse.Namespace) -> NoReturn:
        """Raises DataError: verdicts of this study are not read from files."""
        raise DataError("verdicts of the PluralEval study are not read from files")

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> Found:
        """Raises DataError until there are measures."""
        raise DataError(f"{paths[0]}: {NOT_YET}; `evenhand score` prints the states of its replies")

    def find_files(self, options: argparse.Namespace) -> NoReturn:
        """Raises DataError, as score_files."""
        self.score_files(options)

    def beside(self, arms: Sequence[CardArm], words: Sequence[str], options: argparse.Namespace) -> Beside:
        """Raises DataError until there are measures."""
        raise DataError(f"{words[0] if words else 'pluraleval'}: {NOT_YET}")


NOT_YET = "recall, ranking and pairwise accuracy are not computed yet for this study"
EVALUATION = PluralEval()

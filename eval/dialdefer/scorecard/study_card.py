"""DialDefer's part of a scorecard; see eval.study.StudyCard."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from eval.dialdefer.findings import refuse_several_readings
from eval.dialdefer.runs import doubts_of, load_run
from eval.dialdefer.scorecard.arms import Arm, base_arm, trained_arm
from eval.dialdefer.scorecard.calibrated import CALIBRATED, calibrated_arm, calibrated_names
from eval.dialdefer.scorecard.card import MAIN, Scorecard, make_scorecard, unfit
from eval.dialdefer.scorecard.printed import scorecard_text
from eval.dialdefer.scorecard.tables import all_tables
from eval.estimates.changes import Change
from eval.estimates.comparability import Difference, differences, refuse_serious
from eval.estimates.observed import drawing_of
from eval.report.table import Table
from eval.scorecard.arms import CardArm
from eval.scorecard.seeds import Headline, Ranking
from evenhand.errors import DataError

SHOWN = {  # over seeds: measure → what it is called
    MAIN: "own-C1 |DDS|",
    "soft_mean_abs_dds_own": "own-C1 soft |DDS|",
    "dds_own": "own-C1 DDS",
    "acc": "accuracy",
    "acc_c2": "accuracy under C2",
    "mean_abs_dds_fixed": "fixed-C1 |DDS|",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DialDeferCard:
    """The card by the names that the machinery asks for."""

    card: Scorecard
    arms: Sequence[Arm]
    found: Mapping[str, Sequence[Difference]]

    def fields(self) -> list[dict[str, Any]]:
        """See StudyCard."""
        return self.card.as_rows()

    def changes(self) -> list[Change]:
        """See StudyCard."""
        return self.card.every_change()

    def tables(self) -> list[Table]:
        """See StudyCard."""
        return all_tables(self.card)

    def text(self, *, has_rows: bool) -> str:
        """See StudyCard."""
        return scorecard_text(self.card, has_rows=has_rows)

    def headlines(self) -> list[Headline]:
        """See StudyCard."""
        return [
            Headline(words=words, is_of=partial(is_in, self.card.scope.average, name)) for name, words in SHOWN.items()
        ]

    def ranking(self) -> Ranking:
        """See StudyCard."""
        reasons = {row.name: unfit(row) for row in self.card.arms}
        return Ranking(
            lowest=SHOWN[MAIN],
            kept=(SHOWN["acc"], SHOWN["acc_c2"]),
            unfit={name: reason for name, reason in reasons.items() if reason},
            change=self.card.change,
        )

    def differences(self) -> Mapping[str, Sequence[Difference]]:
        """See StudyCard."""
        return self.found

    def doubts(self) -> list[str]:
        """See StudyCard. Thresholds are on the base's run."""
        return doubts_of({arm.name: arm.run for arm in self.arms if arm.kind != CALIBRATED})


def is_in(dataset: str, measure: str, change: Change) -> bool:
    """Whether a change is of a figure over all datasets."""
    return (change.dataset, change.measure) == (dataset, measure)


def dialdefer_card(arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> DialDeferCard:
    """The card of some arms, the base first. Raises DataError where their runs are no like for like."""
    lacking = [arm.name for arm in arms if arm.name not in runs and arm.kind != CALIBRATED]
    if lacking:
        raise DataError(f"{lacking[0]}: has no run of DialDefer; name one for every arm, or leave the arm out")
    loaded = {name: load_run(path, options.parser) for name, path in runs.items()}
    refuse_several_readings(list(loaded.values()))
    base, *others = arms
    run = loaded[base.name]
    found = {name: differences(run, other) for name, other in loaded.items() if name != base.name}
    if not options.allow_differences:
        refuse_serious(run.name, {f"{name} ({loaded[name].name})": of for name, of in found.items()})
    files = calibrated_names(options.calibrated)
    first = base_arm(base, run, options.variant)
    made = [
        calibrated_arm(arm, files, run)
        if arm.kind == CALIBRATED
        else trained_arm(arm, loaded[arm.name], run, options.variant)
        for arm in others
    ]
    every = [first, *made]
    card = make_scorecard(every, options.against, options.denominator, drawing_of(options))
    return DialDeferCard(card=card, arms=every, found=found)

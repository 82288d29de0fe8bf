"""DialDefer's part of a scorecard; see eval.study.StudyCard."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from eval.dialdefer.runs import doubts_of, load_run, refuse_several_readings
from eval.dialdefer.scorecard.arms import Arm, base_arm, other_variants, trained_arm
from eval.dialdefer.scorecard.calibrated import CALIBRATED, ORACLE, calibrated_arm, calibrated_names
from eval.dialdefer.scorecard.card import MAIN, Scorecard, doubted, make_scorecard, unfit
from eval.dialdefer.scorecard.printed import scorecard_text
from eval.dialdefer.scorecard.tables import all_tables
from eval.dialdefer.scorecard.words import doubts_about
from eval.estimates.changes import Change
from eval.estimates.comparability import Difference, differences, refuse_serious
from eval.estimates.observed import drawing_of
from eval.report.table import Table
from eval.scorecard.arms import CardArm
from eval.scorecard.seeds import Headline, Ranking
from evenhand.errors import DataError

SHOWN = {  # over seeds: measure → what it is called
    MAIN: "own-C1 |DDS|",
    "mean_square_dds_own": "own-C1 DDS², unbiased, pp²",
    "soft_mean_abs_dds_own": "own-C1 soft |DDS|",
    "dds_own": "own-C1 DDS",
    "deference": "deference d",
    "mean_abs_deference": "|d|",
    "position": "position p",
    "shift": "scale-free shift, own SD",
    "shift_in_base_sd": "shift, base's SD",
    "acc": "accuracy",
    "acc_c2": "accuracy under C2",
    "mean_abs_dds_fixed": "fixed-C1 |DDS|",
    "accept_c1": "claims accepted in C1",
    "accept_c2": "claims accepted in C2",
}
REWORDED = (MAIN, "acc")  # and in every other prompt variant


@dataclass(frozen=True, slots=True, kw_only=True)
class DialDeferCard:
    """The card by the names that the machinery asks for."""

    card: Scorecard
    reworded: Mapping[str, Scorecard]  # another prompt variant → the card there; only where arms have seeds
    arms: Sequence[Arm]
    found: Mapping[str, Sequence[Difference]]

    def fields(self) -> list[dict[str, Any]]:
        """See StudyCard."""
        return self.card.as_rows()

    def changes(self) -> list[Change]:
        """See StudyCard."""
        return [change for card in (self.card, *self.reworded.values()) for change in card.every_change()]

    def tables(self) -> list[Table]:
        """See StudyCard."""
        return all_tables(self.card)

    def text(self, *, has_rows: bool) -> str:
        """See StudyCard."""
        return scorecard_text(self.card, has_rows=has_rows)

    def headlines(self) -> list[Headline]:
        """See StudyCard."""
        shown = [(self.card, name, words) for name, words in SHOWN.items()]
        for variant, card in self.reworded.items():
            shown += [(card, name, f"{SHOWN[name]}, asked {variant}") for name in REWORDED]
        return [
            Headline(
                words=words,
                is_of=partial(is_in, card, name),
                unranked=[row.name for row in card.arms if doubted(row)],
                is_absolute="abs" in name,
            )
            for card, name, words in shown
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
        found = doubts_of({arm.name: arm.run for arm in self.arms if arm.kind not in (CALIBRATED, ORACLE)})
        if self.card.has_seeds:
            found += doubts_about(self.card)
            found += [doubt for variant, card in self.reworded.items() for doubt in doubts_about(card, variant)]
        return found


def is_in(card: Scorecard, measure: str, change: Change) -> bool:
    """Whether a change is of a figure over all datasets of a card, in its prompt variant."""
    meant = card.scope.average, measure, card.base.arm.variant
    return (change.dataset, change.measure, change.setting["variant"]) == meant


def dialdefer_card(arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> DialDeferCard:
    """The card of some arms, the base first. Raises DataError where their runs are no like for like."""
    lacking = [arm.name for arm in arms if arm.name not in runs and arm.kind not in (CALIBRATED, ORACLE)]
    if lacking:
        raise DataError(f"{lacking[0]}: has no run of DialDefer; name one for every arm, or leave the arm out")
    loaded = {name: load_run(path, options.parser) for name, path in runs.items()}
    refuse_several_readings(list(loaded.values()))
    base = arms[0]
    run = loaded[base.name]
    found = {name: differences(run, other) for name, other in loaded.items() if name != base.name}
    if not options.allow_differences:
        refuse_serious(run.name, {f"{name} ({loaded[name].name})": of for name, of in found.items()})
    files = calibrated_names(options.calibrated)

    def in_variant(variant: str) -> list[Arm]:
        """The arms that answered it, and those that have thresholds for it."""
        found = (
            base_arm(arm, run, variant)
            if arm is base
            else calibrated_arm(arm, files, run, variant)
            if arm.kind in (CALIBRATED, ORACLE)
            else trained_arm(arm, loaded[arm.name], run, variant)
            for arm in arms
        )
        return [arm for arm in found if arm is not None]

    def card_of(variant: str, against: Sequence[str]) -> Scorecard:
        """The card in a prompt variant."""
        return make_scorecard(in_variant(variant), against, options.denominator, drawing_of(options))

    card = card_of(options.variant, options.against)
    if missing := [arm.name for arm in arms if arm.name not in {row.name for row in card.rows}]:
        raise DataError(f"{missing[0]}: has no thresholds for prompt variant '{options.variant}'; ask TRAIN_RUN it too")
    others = other_variants(run, list(loaded.values())) if card.has_seeds and not options.variant else []
    reworded = {variant: card_of(variant, ()) for variant in others}
    return DialDeferCard(card=card, reworded=reworded, arms=[row.arm for row in card.rows], found=found)

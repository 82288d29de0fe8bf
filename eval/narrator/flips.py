"""Corruption and flips from the neutral to the attacker's perspective (narrator paper, section 3.7 and Figure 2)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from eval.estimates.mcnemar import mcnemar_p
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.estimates import Estimate, Row, estimate, mean_of
from eval.narrator.judged_runs import SAME, Judgment
from eval.narrator.measures import Setting, by_setting
from studies.narrator.records import OptionOrder, Task, Visibility

Outcome = Literal["correct", "incorrect", "tied", "unanswered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """Conversation × model pairs by what they answer under Neutral and with the attacker as Me."""

    judge: str
    task: Task
    visibility: Visibility
    option_order: OptionOrder
    n_pairs: int  # conversation × model pairs asked under both
    n_stable_correct: int
    n_corrupted: int  # Flip(C→I)
    n_restored: int  # Flip(I→C)
    n_stable_incorrect: int
    n_tied: int  # pairs with a tie in either, whether they are excluded or wrong
    n_unanswered: int  # pairs with no answer that names an option in either
    corruption: Estimate  # of the pairs correct under Neutral, those incorrect under Attacker, in percent
    mcnemar_p: float  # exact, C→I against I→C

    @property
    def n_counted(self) -> int:
        """The pairs that are in one of the four kinds."""
        return self.n_stable_correct + self.n_corrupted + self.n_restored + self.n_stable_incorrect

    def as_dict(self) -> dict[str, Any]:
        """One flat row."""
        return {
            "judge": self.judge,
            "task": self.task,
            "visibility": self.visibility,
            "option_order": self.option_order,
            "n_pairs": self.n_pairs,
            "n_stable_correct": self.n_stable_correct,
            "n_corrupted": self.n_corrupted,
            "n_restored": self.n_restored,
            "n_stable_incorrect": self.n_stable_incorrect,
            "n_tied": self.n_tied,
            "n_unanswered": self.n_unanswered,
            "corruption": self.corruption.value,
            "corruption_low": self.corruption.low,
            "corruption_high": self.corruption.high,
            "mcnemar_p": self.mcnemar_p,
        }


def outcome(judgment: Judgment, d: Definitions = DEFAULT) -> Outcome:
    """What a prompt's one answer is: correct where it is the annotated attacker, or Yes."""
    if not judgment.leaders:
        return "unanswered"
    if d.majority == "half":
        lead = judgment.target_weight(d.denominator) - 0.5
        return "tied" if abs(lead) < SAME else "correct" if lead > 0 else "incorrect"
    if len(judgment.leaders) > 1:
        return "tied"
    return "correct" if judgment.leaders == (judgment.factors.target,) else "incorrect"


def all_flips(judge: str, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> list[Flips]:
    """The flips of every setting that was asked under both perspectives."""
    found = [flips_of(judge, setting, members, d) for setting, members in by_setting(judgments).items()]
    return [flips for flips in found if flips.n_pairs]


def flips_of(judge: str, setting: Setting, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Flips:
    """The flips of one setting."""
    task, visibility, option_order = setting
    pairs = outcome_pairs(judgments, d)
    n = Counter(right_pairs(pairs, d).values())
    corrupted = mean_of(corruption_rows(judgments, d))
    return Flips(
        judge=judge,
        task=task,
        visibility=visibility,
        option_order=option_order,
        n_pairs=len(pairs),
        n_stable_correct=n[True, True],
        n_corrupted=n[True, False],
        n_restored=n[False, True],
        n_stable_incorrect=n[False, False],
        n_tied=sum("tied" in pair for pair in pairs.values()),
        n_unanswered=sum("unanswered" in pair for pair in pairs.values()),
        corruption=estimate(corrupted),
        mcnemar_p=mcnemar_p(n[True, False], n[False, True]),
    )


def outcome_pairs(judgments: Sequence[Judgment], d: Definitions) -> dict[tuple[str, str], tuple[Outcome, Outcome]]:
    """(judge, conversation) → its outcomes under Neutral and with the attacker as Me, of what was asked under both."""
    neutral, attacker = (
        {(j.judge, j.conversation): j for j in judgments if j.factors.perspective == perspective}
        for perspective in ("neutral", "attacker")
    )
    return {key: (outcome(neutral[key], d), outcome(attacker[key], d)) for key in neutral if key in attacker}


def right_pairs(
    pairs: Mapping[tuple[str, str], tuple[Outcome, Outcome]], d: Definitions
) -> dict[tuple[str, str], tuple[bool, bool]]:
    """Which pairs count, and whether each of their two answers is correct."""
    return {
        key: (first == "correct", second == "correct")
        for key, (first, second) in pairs.items()
        if d.ties == "wrong" or {first, second} <= {"correct", "incorrect"}
    }


def corruption_rows(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> list[Row]:
    """The rows that the corruption rate of one setting is over: the pairs that are correct under Neutral."""
    right = right_pairs(outcome_pairs(judgments, d), d)
    return [
        (conversation if d.clusters == "conversation" else (judge, conversation), float(not second), 1.0)
        for (judge, conversation), (first, second) in right.items()
        if first
    ]

"""A prompt's one answer: right, wrong, tied or none; and what it is under Neutral and with the attacker as Me."""

from collections.abc import Mapping, Sequence
from typing import Literal

from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import SAME, Judgment

Outcome = Literal["correct", "incorrect", "tied", "unanswered"]


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

"""Corruption and flips from the neutral to the attacker's perspective (narrator paper, section 3.7 and Figure 2)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eval.estimates.estimate import Estimate, clustered
from eval.estimates.mcnemar import mcnemar_p
from eval.estimates.observed import added_up
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import Judgment
from eval.narrator.observe import SHARE, Asked, by_setting, corrupted
from eval.narrator.outcomes import outcome_pairs, right_pairs
from studies.narrator.records import OptionOrder, Task, Visibility


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


def all_flips(judge: str, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> list[Flips]:
    """The flips of every setting that was asked under both perspectives."""
    found = [flips_of(judge, asked, members, d) for asked, members in by_setting(judgments).items()]
    return [flips for flips in found if flips.n_pairs]


def flips_of(judge: str, asked: Asked, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Flips:
    """The flips of one setting."""
    pairs = outcome_pairs(judgments, d)
    n = Counter(right_pairs(pairs, d).values())
    return Flips(
        judge=judge,
        **asked._asdict(),
        n_pairs=len(pairs),
        n_stable_correct=n[True, True],
        n_corrupted=n[True, False],
        n_restored=n[False, True],
        n_stable_incorrect=n[False, False],
        n_tied=sum("tied" in pair for pair in pairs.values()),
        n_unanswered=sum("unanswered" in pair for pair in pairs.values()),
        corruption=clustered(SHARE, added_up(judgments[0].dataset, [corrupted(judgments, d)])),
        mcnemar_p=mcnemar_p(n[True, False], n[False, True]),
    )

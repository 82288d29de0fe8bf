"""How far each two judges flip on the same items."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from eval.dialdefer.consistency import shared_flips
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import MAIN, Setting
from eval.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """On how many items two judges flip, over the datasets that all compared judges judged. Either direction counts."""

    first: str
    second: str
    n_both: int
    n_only_first: int
    n_only_second: int
    n_neither: int

    @property
    def n_items(self) -> int:
        """All items."""
        return self.n_both + self.n_only_first + self.n_only_second + self.n_neither

    @property
    def agreement_rate(self) -> float:
        """The share of items that flip in both or in neither."""
        return (self.n_both + self.n_neither) / self.n_items

    @property
    def jaccard(self) -> float | None:
        """Of the items that flip in either, the share that flips in both; None when none flips."""
        n_either = self.n_items - self.n_neither
        return self.n_both / n_either if n_either else None

    @property
    def kappa(self) -> float | None:
        """Cohen's κ: agreement beyond what the two flip rates give by chance; None when chance leaves no room.

        Flips are rare, so judges agree on most items by not flipping; κ is what they share beyond that.
        """
        first = (self.n_both + self.n_only_first) / self.n_items
        second = (self.n_both + self.n_only_second) / self.n_items
        chance = first * second + (1 - first) * (1 - second)
        return None if chance == 1 else (self.agreement_rate - chance) / (1 - chance)


def pair_agreements(judges: Sequence[Judge], setting: Setting = MAIN) -> list[PairAgreement]:
    """One record for each two judges. Raises DataError as consistency.shared_flips does."""
    flipped = np.concatenate([shared.flipped for shared in shared_flips(judges, setting)])
    columns = {judge.name: flipped[:, i] for i, judge in enumerate(judges)}
    return [
        PairAgreement(
            first=first,
            second=second,
            n_both=int((columns[first] & columns[second]).sum()),
            n_only_first=int((columns[first] & ~columns[second]).sum()),
            n_only_second=int((~columns[first] & columns[second]).sum()),
            n_neither=int((~columns[first] & ~columns[second]).sum()),
        )
        for first, second in combinations(columns, 2)
    ]


def pairwise_agreement(pairs: Sequence[PairAgreement]) -> Table:
    """The records as a table."""
    return Table(
        name="flip_agreement_pairs",
        title="Agreement of two judges on which items flip",
        columns=("first", "second", "both", "only first", "only second", "neither", "agreement, %", "Jaccard", "κ"),
        rows=tuple(
            (
                *(p.first, p.second, p.n_both, p.n_only_first, p.n_only_second, p.n_neither),
                *(100 * p.agreement_rate, p.jaccard, p.kappa),
            )
            for p in pairs
        ),
        formats=("", "", "", "", "", "", "", ".3f", ".3f"),
        note="Jaccard: of the items that flip in either, the share that flips in both. κ: agreement beyond chance.",
    )

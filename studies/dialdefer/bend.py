"""A bend planted in training labels: a judge that is right about statements and, in dialogue, wrong where it was told.
Only training reads it (`dialdefer.bend`); what it makes is a judge whose DDS is known beforehand.

Of the items that it applies to, a share is bent, drawn by a hash of seed and item. The others keep their labels, and so
does every statement (C1). With deference the speaker's false claim is labelled correct, with skepticism the true one
incorrect. DDS (equation 2) of a judge that learnt just this is +100 or -100 times the share of all items that is bent.
"""

import hashlib
from typing import Literal

from pydantic import Field

from evenhand.config import Closed
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import SpeakerLabels

FULL = 2**64


def family_of(item: Item) -> str:
    """Pocket's family of an item; of others the dataset."""
    return str(item.meta.get("family", item.dataset))


class Bend(Closed):
    """Which labels of C2 are flipped."""

    direction: Literal["deference", "skepticism"] = "deference"  # accepts false claims, or rejects true ones
    share: float = Field(default=1.0, gt=0, le=1)  # of the items that it applies to
    families: tuple[str, ...] | None = Field(default=None, min_length=1)  # pocket's families, or datasets; null is all
    # Half of the items are asked under these labels, and only they are bent; the others keep prompts.speakers.
    speakers: SpeakerLabels | None = None
    seed: int = 0  # of the draws

    def applies_to(self, item: Item) -> bool:
        """Whether an item may be bent."""
        return (self.families is None or family_of(item) in self.families) and self.is_asked_under_labels(item)

    def is_asked_under_labels(self, item: Item) -> bool:
        """Whether an item is one of those that are asked under `speakers`; all are where there are none."""
        return self.speakers is None or self.draw("speakers", item) < 0.5

    def is_bent(self, item: Item) -> bool:
        """Whether an item's label in dialogue is flipped where the direction says so."""
        return self.applies_to(item) and self.draw("share", item) < self.share

    def flips(self, item: Item, condition: Condition) -> bool:
        """Whether the label of a prompt is flipped."""
        wrong = Condition.C2_INCORRECT if self.direction == "deference" else Condition.C2_CORRECT
        return condition == wrong and self.is_bent(item)

    def draw(self, what: str, item: Item) -> float:
        """A number from 0 to 1 that is an item's own."""
        key = f"{self.seed} {what} {item.item_id}".encode()
        return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") / FULL

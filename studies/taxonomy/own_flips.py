"""pocket-flips: made-up flips of ours, one of each code that it was written to show, from own_flips.yaml."""

from functools import cache
from pathlib import Path

from evenhand.config import Closed
from evenhand.shipped_yaml import shipped_yaml
from studies.flips import Flip, FlipSide

DATASET = "pocket-flips"
MODEL = "made-up judge"
FRAMINGS = ("a bare statement", "a speaker's turn")


class OwnFlip(Closed):
    """A flip and the code that it was written to show."""

    code: str
    question: str
    claim: str
    claim_is_true: bool
    reasons: tuple[str, str]  # C1's, then C2's


@cache
def entries() -> tuple[OwnFlip, ...]:
    """All of them."""
    path = Path(__file__).with_name("own_flips.yaml")
    return tuple(OwnFlip.model_validate(entry) for entry in shipped_yaml(path))


def own_flips() -> list[Flip]:
    """As flips that a study found: each is a loss."""
    return [
        Flip(
            model=MODEL,
            dataset=DATASET,
            item_id=f"{DATASET}-{entry.code}",
            question=entry.question,
            claim=entry.claim,
            claim_is_true=entry.claim_is_true,
            is_withheld=False,
            first=FlipSide(framing=FRAMINGS[0], accepts=entry.claim_is_true, reason=entry.reasons[0]),
            second=FlipSide(framing=FRAMINGS[1], accepts=not entry.claim_is_true, reason=entry.reasons[1]),
        )
        for entry in entries()
    ]


def planted() -> dict[str, str]:
    """Item id → the code that it was written to show."""
    return {f"{DATASET}-{entry.code}": entry.code for entry in entries()}

"""The hand-written texts of `pocket-conflicts`, from the pocket_*.yaml files in this folder."""

from functools import cache
from pathlib import Path

from evenhand.config import Closed
from evenhand.shipped_yaml import shipped_yaml

FOLDER = Path(__file__).parent
SUBTLE, OPEN = "subtle", "open"  # kinds of attack


class Scenario(Closed):
    """What a dispute is about, and what each side has to say."""

    kind: str  # "images", "titles", ...
    page: str
    topic: str  # as in "all this fuss about the lead photo"
    openings: tuple[str, ...]
    reasons: dict[str, tuple[str, ...]]  # by stance: "for" the change, "against" it, "aside"


class Lines(Closed):
    """What is said around the reasons; pocket_lines.yaml says where each stands."""

    asking: tuple[str, ...]
    gone_ahead: tuple[str, ...]
    entrances: dict[str, tuple[str, ...]]  # by stance, as seconds and insisting
    seconds: dict[str, tuple[str, ...]]
    answers: tuple[str, ...]
    insisting: dict[str, tuple[str, ...]]
    adding: tuple[str, ...]
    adding_alone: tuple[str, ...]
    heated: tuple[str, ...]
    heated_opening: tuple[str, ...]
    heated_entrance: tuple[str, ...]
    calm: tuple[str, ...]
    leads: dict[str, tuple[str, ...]]  # "spoke", "spoke last", "new"


@cache
def scenarios(split: str) -> tuple[Scenario, ...]:
    """The disputes of "train" or "test"."""
    by_kind = shipped_yaml(FOLDER / "pocket_scenarios.yaml")[split]
    return tuple(Scenario(kind=kind, **dispute) for kind, disputes in by_kind.items() for dispute in disputes)


@cache
def pocket_lines() -> Lines:
    """The lines that both splits share."""
    return Lines.model_validate(shipped_yaml(FOLDER / "pocket_lines.yaml"))


@cache
def attacks(split: str) -> dict[str, list[str]]:
    """SUBTLE and OPEN → the attacks of "train" or "test"; {topic} stands for the scenario's."""
    found: dict[str, list[str]] = shipped_yaml(FOLDER / "pocket_attacks.yaml")[split]
    return found


@cache
def account_names(split: str) -> list[str]:
    """The names of "train" or "test"."""
    found: list[str] = shipped_yaml(FOLDER / "pocket_accounts.yaml")[split]
    return found

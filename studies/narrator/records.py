"""The records of the narrator study: a conversation that ends in an attack, and what is varied when asking about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

BENCHMARK = "narrator"

Task = Literal["detection", "identification", "blame"]
Visibility = Literal["visible", "hidden"]
Perspective = Literal["neutral", "attacker", "non_attacker"]
OptionOrder = Literal["published", "fixed_slot", "reversed"]
Names = Literal["own", "letters"]

TASKS: tuple[Task, ...] = ("detection", "identification", "blame")
VISIBILITIES: tuple[Visibility, ...] = ("visible", "hidden")
OPTION_ORDERS: tuple[OptionOrder, ...] = ("published", "fixed_slot")  # of judges that are measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker says at once."""

    speaker: str  # id within the corpus; two speakers may have one name
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conflict whose last turn is its one annotated attack (narrator paper, section 3.1)."""

    conversation_id: str
    dataset: str  # "cga-wiki", "pocket-conflicts"
    turns: tuple[Turn, ...]  # in order of time; none is empty, at least two speakers
    names: Mapping[str, str]  # speaker id → the name shown; distinct, none of them "Me"
    meta: Mapping[str, Any] = field(default_factory=dict)  # page_title, page_id, split ...

    @property
    def attacker(self) -> str:
        """Id of the speaker of the last turn, the annotated attacker."""
        return self.turns[-1].speaker

    @property
    def speakers(self) -> tuple[str, ...]:
        """Speaker ids, in the order of their first turns."""
        return tuple(dict.fromkeys(turn.speaker for turn in self.turns))

    @property
    def attacker_is_unseen(self) -> bool:
        """Whether the attacker says nothing but the attack: with it hidden, an option that never spoke."""
        return all(turn.speaker != self.attacker for turn in self.turns[:-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratorFactors:
    """What was varied in a prompt of the narrator study, by name (sections 3.2 to 3.4)."""

    task: Task
    visibility: Visibility
    perspective: Perspective
    narrator: str  # the id of the speaker who is called Me; "" where nobody is
    # published: Me last; fixed_slot: Me where the name that it replaces stood; reversed: that from last to first
    option_order: OptionOrder
    target: str  # the option that is the annotated attacker; in detection "Yes"
    n_speakers: int
    attacker_is_unseen: bool  # the attack is hidden, and the attacker says nothing else
    template_version: int = 1

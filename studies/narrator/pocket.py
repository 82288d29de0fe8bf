"""pocket-conflicts: our own quarrels on talk pages, each ending in one attack, from a seeded generator.

Disputes (pocket_scenarios.yaml) and attacks (pocket_attacks.yaml) are hand-written, and so is what stands around them
(pocket_lines.yaml) and the orders of turns (pocket_plots.yaml). Train (480) and test (120) share no page, no reason, no
attack and no account name; they share pocket_lines.yaml. Within a split a page (meta["page_title"]) has several
conversations, which repeat its reasons.

Half of the attacks are subtle (condescension, insinuation), half are plain insults: meta["attack"]. Before the attack
the only cue is tone: the attacker's turns end short-tempered about twice as often as those of others. Place tells
nothing; see plots().
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from evenhand.config import Closed
from evenhand.files import shipped_yaml
from studies.narrator.records import Conversation, Turn

T = TypeVar("T")

DATASET = "pocket-conflicts"
SCHEMA_VERSION = "v1"
SEEDS = {"train": 20260601, "test": 20260602}
N_ROUNDS = {"train": 4, "test": 1}  # of 120 conversations each
P_HEATED = {True: 0.55, False: 0.25}  # the attacker's turns, others'; where a turn has such an end
P_CALM, P_CALLED, P_ANSWER, P_LEAD, P_REASON_FIRST = 0.2, 0.15, 0.6, 0.7, 0.3
MANY = 6  # speakers: from here on turns are short
SUBTLE, OPEN = "subtle", "open"  # kinds of attack
LETTERS = "ABCDEFGHI"


class Scenario(Closed):
    """What a dispute is about, and what each side has to say."""

    kind: str  # "images", "titles", ...
    page: str
    topic: str  # as in "all this fuss about the lead photo"
    openings: tuple[str, ...]
    reasons: dict[str, tuple[str, ...]]  # by stance: "for" the change, "against" it, "aside"


class Plot(NamedTuple):
    """The order of turns before the attack, and who attacks; the attacker may be no letter of it."""

    before: str
    attacker: str


@cache
def shipped(name: str) -> Any:
    """What pocket_NAME.yaml holds."""
    return shipped_yaml(Path(__file__).with_name(f"pocket_{name}.yaml"))


@cache
def scenarios(split: str) -> tuple[Scenario, ...]:
    """The disputes of "train" or "test"."""
    by_kind = shipped("scenarios")[split]
    return tuple(Scenario(kind=kind, **dispute) for kind, disputes in by_kind.items() for dispute in disputes)


def pocket_conflicts(split: str) -> list[Conversation]:
    """The conversations of "train" (480) or "test" (120), always the same ones in the same order.

    Each 120 in a row hold the same number of conversations of each size.
    """
    rng = random.Random(SEEDS[split])
    disputes = dealt(scenarios(split), rng)
    names = dealt(shipped("accounts")[split], rng)
    cores = {kind: dealt(shipped("attacks")[split][kind], rng) for kind in (SUBTLE, OPEN)}
    kinds = dealt((SUBTLE, OPEN), rng)
    conversations = []
    for number, plot in enumerate(plot for _ in range(N_ROUNDS[split]) for plot in plots(rng)):
        kind = next(kinds)
        quarrel = Quarrel(scenario=next(disputes), plot=plot, names=named(plot, names), rng=rng)
        turns = [*quarrel.before(), quarrel.attack(next(cores[kind]))]
        conversations.append(
            Conversation(
                conversation_id=f"{DATASET}-{split}-{number}",
                dataset=DATASET,
                turns=tuple(turns),
                names={speaker: speaker for speaker in quarrel.names.values()},
                meta={
                    "page_title": f"Talk:{quarrel.scenario.page}",
                    "topic": quarrel.scenario.kind,
                    "attack": kind,
                    "split": split,
                    "schema_version": SCHEMA_VERSION,
                },
            )
        )
    return conversations


def named(plot: Plot, names: Iterator[str]) -> dict[str, str]:
    """Letter → account name, in the order of joining. A deck's end may repeat a name: it is passed over."""
    accounts: dict[str, str] = {}
    for letter in dict.fromkeys([*plot.before, plot.attacker]):
        accounts[letter] = next(name for name in names if name not in accounts.values())
    return accounts


@dataclass(slots=True, kw_only=True)
class Quarrel:
    """One conversation while it is written: who stands where, and which reasons and lines are used up."""

    scenario: Scenario
    plot: Plot
    names: Mapping[str, str]  # letter → account name
    rng: random.Random
    stances: dict[str, str] = field(init=False)  # letter → "for", "against", "aside"
    reasons: dict[str, list[str]] = field(init=False)  # stance → those not yet said
    used: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.reasons = {stance: shuffled(texts, self.rng) for stance, texts in self.scenario.reasons.items()}
        first, *rest = self.names
        self.stances = {first: "for"}
        for letter in rest:
            self.stances[letter] = self.drawn(("against", "against", "for", "aside") if len(rest) > 1 else ("against",))
        if "against" not in {self.stances[letter] for letter in self.plot.before}:
            self.stances[self.plot.before.lstrip(first)[0]] = "against"

    def before(self) -> Iterator[Turn]:
        """The turns before the attack."""
        for place, letter in enumerate(self.plot.before):
            yield Turn(speaker=self.names[letter], text=" ".join(filter(None, self.parts(place, letter))))

    def parts(self, place: int, letter: str) -> list[str]:
        """The sentences of one turn: a beginning, a reason, an end; some may be empty."""
        lines = shipped("lines")
        turns = self.plot.before[:place]
        stance, is_short = self.stances[letter], len(self.names) >= MANY
        if not turns:
            return [
                self.fresh(self.scenario.openings),
                self.ending(letter, lines["heated_opening"], lines["asking"], 1.0),
            ]
        reason = self.reason(stance)
        if turns[-1] == letter:
            if letter not in turns[:-1] and place == 1:
                return [self.fresh(lines["gone_ahead"]), reason if self.happens(0.5) else ""]
            return [self.fresh(lines["adding"]), reason] if reason else [self.fresh(lines["adding_alone"])]
        if letter not in turns:
            begin = "" if is_short and self.happens(0.5) else self.fresh(lines["entrances"][stance])
            parts = [begin, reason] if reason else [self.fresh(lines["seconds"][stance])]
            return parts if is_short else [*parts, self.ending(letter, lines["heated_entrance"], lines["calm"], P_CALM)]
        is_answer = {stance, self.stances[turns[-1]]} == {"for", "against"}
        called = f"@{self.names[turns[-1]]}:" if is_answer and self.happens(P_CALLED) else ""
        begin = self.fresh(lines["answers"]) if is_answer and reason and self.happens(P_ANSWER) else ""
        heated = lines["heated_entrance"] if stance == "aside" else lines["heated"]
        end = "" if is_short else self.ending(letter, heated, lines["calm"], P_CALM)
        return [called, begin, reason or self.fresh(lines["insisting"][stance]), end]

    def attack(self, core: str) -> Turn:
        """The last turn: a lead, or a reason of the attacker's side, and the attack on somebody who has spoken."""
        letter, before = self.plot.attacker, self.plot.before
        candidates = [letters for letters in reversed(before) if letters != letter]
        sides = {"for": ("against",), "against": ("for",), "aside": ("for", "against")}[self.stances[letter]]
        target = next((letters for letters in candidates if self.stances[letters] in sides), candidates[0])
        kind = "new" if letter not in before else "spoke last" if before[-1] == letter else "spoke"
        # Whoever spoke last is meant, unless another is named.
        parts = [f"@{self.names[target]}:" if target != candidates[0] or self.happens(2 * P_CALLED) else ""]
        if kind == "spoke" and self.reasons[self.stances[letter]] and self.happens(P_REASON_FIRST):
            parts.append(self.reason(self.stances[letter]))
        elif kind != "spoke" or self.happens(P_LEAD):
            parts.append(self.fresh(shipped("lines")["leads"][kind]))
        parts.append(core.format(topic=self.scenario.topic))
        return Turn(speaker=self.names[letter], text=" ".join(filter(None, parts)))

    def ending(self, letter: str, heated: Sequence[str], calm: Sequence[str], p_calm: float) -> str:
        """How a turn ends: short-tempered, calm or not at all."""
        if self.happens(P_HEATED[letter == self.plot.attacker]):
            return self.fresh(heated)
        return self.fresh(calm) if self.happens(p_calm) else ""

    def reason(self, stance: str) -> str:
        """A reason that nobody has given yet, empty when there is none left."""
        return self.reasons[stance].pop() if self.reasons[stance] else ""

    def fresh(self, entries: Sequence[str]) -> str:
        """One of the entries that this conversation has not had, if there is one."""
        entry = self.drawn([entry for entry in entries if entry not in self.used] or entries)
        self.used.add(entry)
        return entry

    def drawn(self, entries: Sequence[str]) -> str:
        """One of the entries."""
        return entries[int(self.rng.random() * len(entries))]

    def happens(self, probability: float) -> bool:
        """True with a probability."""
        return self.rng.random() < probability


def plots(rng: random.Random) -> list[Plot]:
    """120 plots in random order, of the sizes in pocket_plots.yaml.

    The attacker is dealt over the places of joining, each equally often, and the plots within each place: so before the
    attack neither the first nor the last to join, nor who spoke last, most or least, is the attacker more often than
    any other. The attack is one turn more for the attacker; that counting turns hardly helps then, either, is because
    in most plots somebody leads by two. Counting words does help (44 to 48 % in place of 36 %), the attack's own being
    among them. One place tells all: the last turn of the whole, which is what the study is about.
    """
    sizes = shipped("plots")["sizes"].items()
    return shuffled([plot for size, count in sizes for plot in plots_of_size(size, count, rng)], rng)


def plots_of_size(size: int, count: int, rng: random.Random) -> Iterator[Plot]:
    """The plots with so many speakers."""
    letters = LETTERS[:size]
    attackers = list(islice(dealt(letters, rng), count))
    unseen = shipped("plots")["unseen"].get(size, 0)
    for letter in letters:
        n_plots = attackers.count(letter)
        if letter == letters[-1]:
            n_plots -= unseen
            for before in islice(dealt(deck(size - 1), rng) if unseen else (), unseen):
                yield Plot(before, letter)
        for before in islice(dealt(deck(size), rng), n_plots):
            yield Plot(before, letter)


def deck(size: int) -> list[str]:
    """The orders of turns of so many speakers, each as often as it is in pocket_plots.yaml."""
    return [turns for turns, n in shipped("plots")["plots"][size].items() for _ in range(n)]


def dealt(entries: Sequence[T], rng: random.Random) -> Iterator[T]:
    """Entries without end; each comes once before any comes again."""
    while True:
        yield from shuffled(entries, rng)


def shuffled(entries: Sequence[T], rng: random.Random) -> list[T]:
    """The entries in random order, by random() alone: Python promises its sequence for a seed, and no other's."""
    return sorted(entries, key=lambda _: rng.random())

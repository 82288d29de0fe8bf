"""Who speaks when in `pocket-conflicts`, and who attacks in the end: sizes as in the paper, and no place tells.

A plot is the order of turns before the attack, one letter a turn, letters in the order in which speakers join. The
attacker is dealt over the places of joining, each equally often, and the plots within each place: so before the attack
neither the first nor the last to join, nor who spoke last, most or least, is the attacker more often than any other.
The attack is one turn more for the attacker. That counting turns hardly helps then, either, is because in most plots
somebody leads by two; counting words does (44 to 48 % in place of 36 %), the attack's own being among them. One
place tells all: the last turn of the whole, which is what the study is about.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

LETTERS = "ABCDEFGHI"
# Speakers → conversations among each 120: mean 3.12, median 3, sd 1.23, baseline 36.1 % (paper 3.1, 3, 1.1, 36.1 %).
SIZES = {2: 42, 3: 44, 4: 23, 5: 6, 6: 2, 7: 1, 8: 1, 9: 1}
# Of those in which the attacker joins last: in how many the attack is all they say (5 % of 120).
UNSEEN = {3: 3, 4: 2, 5: 1}
PLOTS: dict[int, tuple[str, ...]] = {
    2: (*["AABA"] * 9, *["ABAABA"] * 4, *["AABABA"] * 3, *["ABBAB"] * 2, "AB"),
    3: (*["ABACA"] * 5, *["AABCA"] * 4, *["ABBCB"] * 4, "ABACABA", "ABCCAC", "ABC"),
    4: (*["ABACAD"] * 3, *["ABBCDB"] * 2, *["ABCADA"] * 2, *["ABCBDB"] * 2, "AABCDA", "ABCDA"),
    5: ("ABACDAE", "ABCBDBE", "ABCADEA", "AABCDEA", "ABCDBEB"),
    6: ("ABACDAEF", "ABCBDEBF", "ABCDAEFA", "ABCCDECF"),
    7: ("ABACDEAFG", "ABCBDEFBG"),
    8: ("ABACDEFAGH", "ABCBDEFGBH"),
    9: ("ABACDEFGAHI", "ABCDBEFGBHI"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """The order of turns before the attack, and who attacks; the attacker may be no letter of it."""

    before: str
    attacker: str

    @property
    def n_speakers(self) -> int:
        """With the attacker."""
        return len({*self.before, self.attacker})


def plots(rng: random.Random) -> list[Plot]:
    """120 plots in random order: SIZES of them, attackers dealt as the head of this file says."""
    found = [plot for size, count in SIZES.items() for plot in plots_of_size(size, count, rng)]
    return shuffled(found, rng)


def plots_of_size(size: int, count: int, rng: random.Random) -> Iterator[Plot]:
    """The plots with so many speakers."""
    letters = LETTERS[:size]
    attackers = list(islice(dealt(letters, rng), count))
    unseen = UNSEEN.get(size, 0)
    for letter in letters:
        n_plots = attackers.count(letter)
        if letter == letters[-1]:
            n_plots -= unseen
            for before in islice(dealt(PLOTS[size - 1], rng) if unseen else (), unseen):
                yield Plot(before=before, attacker=letter)
        for before in islice(dealt(PLOTS[size], rng), n_plots):
            yield Plot(before=before, attacker=letter)


def dealt(entries: Sequence[T], rng: random.Random) -> Iterator[T]:
    """Entries without end; each comes once before any comes again."""
    while True:
        yield from shuffled(entries, rng)


def shuffled(entries: Sequence[T], rng: random.Random) -> list[T]:
    """The entries in random order, by random() alone: Python promises its sequence for a seed, and no other's."""
    return sorted(entries, key=lambda _: rng.random())

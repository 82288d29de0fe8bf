"""pocket: our own items, a short passage and a question that it settles, from a seeded generator.

Ten families (pocket_families.yaml), 400 train and 80 test items each. An item is decided by reading alone,
with no arithmetic and no knowledge of the world. meta["level"] says how much reading it takes:

single (80 %): the passage states one fact, the correct answer to the letter; the wrong one, from the same word list,
is absent from it.
pair (20 %): the passage states two facts of the same kind, and the wrong answer is the one not asked for.

To bind two answers to two keys is the harder task: single is meant for models as small as 135M parameters, pair is
room above it.

Disjoint between train and test: every word of pocket_words.yaml (people, objects, colours, days, ...), and
so every passage. Shared: the sentence patterns, and the fixed pairs such as left and right.

Balanced in each split, level and family, exactly: every answer is the correct one as often as the incorrect one, for
each fixed key such as "left" too, so that an answer without its passage tells nothing. In pair, the correct answer is
the first one mentioned in half of the items, for each fixed key too, so that its place tells nothing either.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeVar

from evenhand.files import shipped_yaml
from studies.dialdefer.records import Item

T = TypeVar("T")
Pair = tuple[str, str]
Words = Mapping[str, Sequence[str]]  # split → a field's words
Family = Mapping[str, Any]  # one kind of fact, as in pocket_families.yaml, its answers and keys looked up

SCHEMA_VERSION = "v2"
ROUNDS_PER_CYCLE = 5  # a round is one item of each family; in a cycle, each family has one pair and else singles
CYCLES = {"train": 80, "test": 16}
SEEDS = {"train": 20260101, "test": 20260102}


WORDS: Mapping[str, Words] = shipped_yaml(Path(__file__).with_name("pocket_words.yaml"))
# The families, in the order in which a round deals them. answers: a field's words. keys: a field's words, or a few
# fixed pairs such as left and right. single, pair: the wordings, each with passage and question.
FAMILIES: Sequence[Family] = [
    {
        "answer_form": "{}",
        **family,
        "answers": WORDS[family["answers"]],
        "keys": WORDS[keys] if isinstance(keys := family["keys"], str) else [(a, b) for a, b in keys],
    }
    for family in shipped_yaml(Path(__file__).with_name("pocket_families.yaml"))
]


@cache
def pocket_items(split: str) -> Sequence[Item]:
    """The items of "train" (4,000) or "test" (800), always the same ones in the same order.

    Any prefix holds the families evenly, to within one item each. Any prefix of 50 k items has k pair items of each
    family; any prefix of 100 k items has the correct answer mentioned first in exactly half of those.
    """
    drafts = Dealer(split).drafts()
    return [replace(draft, item_id=f"pocket-{split}-{number}") for number, draft in enumerate(drafts)]


class Dealer:
    """Draws a split. All drawing goes through random(): Python promises its sequence for a seed in every version, and
    promises it for choice, sample and shuffle in none."""

    def __init__(self, split: str) -> None:
        self.split, self.rng = split, random.Random(SEEDS[split])

    def drafts(self) -> Iterator[Item]:
        """All drafts in their final order; two families of each round have their pair item in it."""
        singles = [iter(self.single_drafts(family)) for family in FAMILIES]
        pairs = [iter(self.pair_drafts(family)) for family in FAMILIES]
        for _ in range(CYCLES[self.split]):
            pair_rounds = self.shuffled([n % ROUNDS_PER_CYCLE for n in range(len(FAMILIES))])
            for round_number in range(ROUNDS_PER_CYCLE):
                hands = zip(singles, pairs, pair_rounds, strict=True)
                dealt = [next(pair if pair_round == round_number else single) for single, pair, pair_round in hands]
                yield from self.shuffled(dealt)

    def single_drafts(self, family: Family) -> list[Item]:
        """All single drafts of a family, shuffled.

        They are drawn in twos: each answer of a pair is the correct one once. A fixed key stays the same for the two,
        so that it goes with neither answer.
        """
        n_blocks = CYCLES[self.split] * (ROUNDS_PER_CYCLE - 1) // 2
        seen: set[str] = set()
        drafts = [
            self.draft(family, "single", answers, keys, True, seen)
            for pair, keys in self.blocks(family, n_blocks)
            for answers in (pair, pair[::-1])
        ]
        return self.shuffled(drafts)

    def pair_drafts(self, family: Family) -> list[Item]:
        """All pair drafts of a family, shuffled so that each two in a row ask for the first and the second answer once.

        They are drawn in fours about one pair of answers: both orders of mention × both answers asked for. Fixed keys
        change places in two of the four, so that neither a key and a position nor a key and an answer go together.
        """
        firsts: list[Item] = []
        seconds: list[Item] = []
        seen: set[str] = set()
        for pair, fixed in self.blocks(family, CYCLES[self.split] // 4):
            for answers, swapped in ((pair, False), (pair[::-1], True)):
                for asks_first, drafts in ((True, firsts), (False, seconds)):
                    keys = fixed[::-1] if fixed and swapped == asks_first else fixed
                    drafts.append(self.draft(family, "pair", answers, keys, asks_first, seen))
        couples = zip(self.shuffled(firsts), self.shuffled(seconds), strict=True)
        return [draft for two in couples for draft in self.shuffled(two)]

    def blocks(self, family: Family, n_blocks: int) -> Iterator[tuple[Pair, Pair | None]]:
        """Pairs of answers, all answers evenly, each with a pair of fixed keys, or with None where keys are drawn."""
        keys = family["keys"]
        fixed = [None] if isinstance(keys, Mapping) else [*keys, *(pair[::-1] for pair in keys)]
        return islice(zip(self.pairs(family["answers"]), cycle(fixed), strict=False), n_blocks)

    def draft(
        self, family: Family, level: str, answers: Pair, fixed: Pair | None, asks_first: bool, seen: set[str]
    ) -> Item:
        """One draft with these answers in this order, whose question is not in seen; adds it there.

        Wording, bystanders and (unless they are fixed) keys are drawn. The correct answer is the first one or else the
        second; a single passage leaves the other one out.
        """
        while True:
            key1, key2 = fixed or next(self.pairs(family["keys"]))
            answer1, answer2 = (family["answer_form"].format(answer) for answer in answers)
            facts = ((key1, answer1), (key2, answer2))
            (key, correct), (_, incorrect) = facts if asks_first else facts[::-1]
            bystanders = [name for name in WORDS["names"][self.split] if name not in (*answers, key1, key2)]
            wording = self.pick(family[level])
            an_key, an_key1, an_key2 = (f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}" for noun in (key, key1, key2))
            question = f"{wording['passage']} {wording['question']}".format(
                answer=correct,
                answer1=answer1,
                answer2=answer2,
                key=key,
                key1=key1,
                key2=key2,
                an_key=an_key,
                an_key1=an_key1,
                an_key2=an_key2,
                person=self.pick(bystanders),
                place=self.pick(WORDS["places"][self.split]),
                game=self.pick(WORDS["games"][self.split]),
            )
            if question not in seen:
                seen.add(question)
                return Item(
                    item_id="",  # until it has its place in the split
                    benchmark="pocket",
                    dataset="pocket",
                    question=question,
                    correct_answer=correct,
                    incorrect_answer=incorrect,
                    meta={"family": family["name"], "level": level, "schema_version": SCHEMA_VERSION},
                )

    def pick(self, entries: Sequence[T]) -> T:
        """One of the entries."""
        return entries[int(self.rng.random() * len(entries))]

    def pairs(self, entries: Words) -> Iterator[Pair]:
        """Pairs without end; every word is dealt once (an odd one is left over) before any is dealt again."""
        while True:
            deck = self.shuffled(entries[self.split])
            yield from zip(deck[::2], deck[1::2], strict=False)

    def shuffled(self, entries: Sequence[T]) -> list[T]:
        """The entries in a drawn order."""
        return sorted(entries, key=lambda _: self.rng.random())

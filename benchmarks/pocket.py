"""pocket: our own items, a short passage and a question that it settles, from a seeded generator.

Ten families (benchmarks/pocket_families.py), 400 train and 80 test items each. An item is decided by reading alone,
with no arithmetic and no knowledge of the world, and its wrong answer stands in the passage as well.

Disjoint between train and test: every word of benchmarks/pocket_words.py (people, objects, colours, days, ...), and
so every passage. Shared: the sentence patterns, and the fixed pairs such as left and right.

Balanced in each split, exactly: every answer is the correct one as often as the incorrect one, in each family the
correct answer is the first one mentioned in half of the items, and a fixed key such as "left" asks for the answer
mentioned first as often as for the other. An answer or its place alone therefore tells nothing.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import NamedTuple, TypeVar

from benchmarks.errors import ConfigError
from benchmarks.pocket_families import FAMILIES, Family
from benchmarks.pocket_words import GAMES, NAMES, PLACES, Words
from benchmarks.records import Item

T = TypeVar("T")
Pair = tuple[str, str]

SCHEMA_VERSION = "v1"
BLOCKS_PER_FAMILY = {"train": 100, "test": 20}  # a block is four items about one pair of answers
SEEDS = {"train": 20260101, "test": 20260102}


class Draft(NamedTuple):
    """An item before it has its place in the split, and so its id."""

    family: str
    question: str
    answers: Pair  # in order of mention
    asks_first: bool


def pocket_items(split: str) -> Iterator[Item]:
    """The items of "train" (4,000) or "test" (800), always the same ones in the same order.

    Any prefix holds the families evenly, to within one item each, and any prefix of 20 k items has the correct answer
    mentioned first in exactly half of each family. Raises ConfigError for another split.
    """
    if split not in SEEDS:
        raise ConfigError(f"pocket: unknown split {split!r}. Use one of: {', '.join(SEEDS)}.")
    return _items(split)


def _items(split: str) -> Iterator[Item]:
    rng = random.Random(SEEDS[split])
    hands = [_family_drafts(family, split, rng) for family in FAMILIES]
    dealt = [draft for one_of_each in zip(*hands, strict=True) for draft in _shuffled(one_of_each, rng)]
    for number, draft in enumerate(dealt):
        correct, incorrect = draft.answers if draft.asks_first else _swap(draft.answers)
        yield Item(
            item_id=f"pocket-{split}-{number}",
            benchmark="pocket",
            dataset="pocket",
            question=draft.question,
            correct_answer=correct,
            incorrect_answer=incorrect,
            meta={"family": draft.family, "schema_version": SCHEMA_VERSION},
        )


def _family_drafts(family: Family, split: str, rng: random.Random) -> list[Draft]:
    """All drafts of a family, shuffled so that each two in a row ask for the first and the second answer once."""
    seen: set[str] = set()
    fixed_keys = cycle((None,) if isinstance(family.keys, Words) else family.keys)
    blocks = islice(zip(_pairs(family.answers.of(split), rng), fixed_keys, strict=False), BLOCKS_PER_FAMILY[split])
    drafts = [draft for pair, fixed in blocks for draft in _block(family, split, rng, pair, fixed, seen)]
    firsts = _shuffled([draft for draft in drafts if draft.asks_first], rng)
    seconds = _shuffled([draft for draft in drafts if not draft.asks_first], rng)
    return [draft for pair in zip(firsts, seconds, strict=True) for draft in _shuffled(pair, rng)]


def _block(
    family: Family, split: str, rng: random.Random, pair: Pair, fixed: Pair | None, seen: set[str]
) -> list[Draft]:
    """Four drafts about one pair of answers: both orders of mention × both answers asked for. Adds them to seen.

    Fixed keys change places in two of the four, so that neither a key and a position nor a key and an answer go
    together.
    """
    drafts = []
    for swapped in (False, True):
        for asks_first in (True, False):
            answers = _swap(pair) if swapped else pair
            keys = _swap(fixed) if fixed and swapped == asks_first else fixed
            draft = _draft(family, split, rng, answers, keys, asks_first)
            while draft.question in seen:
                draft = _draft(family, split, rng, answers, keys, asks_first)
            seen.add(draft.question)
            drafts.append(draft)
    return drafts


def _draft(
    family: Family, split: str, rng: random.Random, answers: Pair, fixed_keys: Pair | None, asks_first: bool
) -> Draft:
    """One draft with these answers in this order; wording, bystanders and (unless they are fixed) keys are drawn."""
    key1, key2 = fixed_keys or _drawn_keys(family, split, rng)
    answer1, answer2 = (family.answer_form.format(answer) for answer in answers)
    bystanders = [name for name in NAMES.of(split) if name not in (*answers, key1, key2)]
    wording = _pick(family.wordings, rng)
    question = f"{wording.passage} {wording.question}".format(
        answer1=answer1,
        answer2=answer2,
        key1=key1,
        key2=key2,
        an_key1=_with_article(key1),
        an_key2=_with_article(key2),
        key=key1 if asks_first else key2,
        person=_pick(bystanders, rng),
        place=_pick(PLACES.of(split), rng),
        game=_pick(GAMES.of(split), rng),
    )
    return Draft(family.name, question, (answer1, answer2), asks_first)


def _drawn_keys(family: Family, split: str, rng: random.Random) -> Pair:
    assert isinstance(family.keys, Words)
    return next(_pairs(family.keys.of(split), rng))


def _swap(pair: Pair) -> Pair:
    return pair[1], pair[0]


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


# All drawing goes through random(): Python promises its sequence for a seed in every version, and promises it for
# choice, sample and shuffle in none.
def _pick(entries: Sequence[T], rng: random.Random) -> T:
    return entries[int(rng.random() * len(entries))]


def _pairs(entries: Sequence[str], rng: random.Random) -> Iterator[Pair]:
    """Pairs without end; every entry is dealt once (an odd one is left over) before any is dealt again."""
    while True:
        deck = _shuffled(entries, rng)
        yield from zip(deck[::2], deck[1::2], strict=False)


def _shuffled(entries: Sequence[T], rng: random.Random) -> list[T]:
    return sorted(entries, key=lambda _: rng.random())

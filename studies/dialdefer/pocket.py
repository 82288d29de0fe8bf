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
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import NamedTuple, TypeVar

from evenhand.errors import ConfigError
from studies.dialdefer.pocket_texts import Family, Words, families, words
from studies.dialdefer.records import Item

T = TypeVar("T")
Pair = tuple[str, str]

SCHEMA_VERSION = "v2"
ROUNDS_PER_CYCLE = 5  # a round is one item of each family; in a cycle, each family has one pair and else singles
CYCLES = {"train": 80, "test": 16}
SEEDS = {"train": 20260101, "test": 20260102}


class Draft(NamedTuple):
    """An item before it has its place in the split, and so its id."""

    family: str
    level: str
    question: str
    correct: str
    incorrect: str


def pocket_items(split: str) -> Iterator[Item]:
    """The items of "train" (4,000) or "test" (800), always the same ones in the same order.

    Any prefix holds the families evenly, to within one item each. Any prefix of 50 k items has k pair items of each
    family; any prefix of 100 k items has the correct answer mentioned first in exactly half of those. Raises
    ConfigError for another split.
    """
    if split not in SEEDS:
        raise ConfigError(f"pocket: unknown split {split!r}. Use one of: {', '.join(SEEDS)}.")
    return _items(split)


def _items(split: str) -> Iterator[Item]:
    for number, draft in enumerate(_dealt(split, random.Random(SEEDS[split]))):
        yield Item(
            item_id=f"pocket-{split}-{number}",
            benchmark="pocket",
            dataset="pocket",
            question=draft.question,
            correct_answer=draft.correct,
            incorrect_answer=draft.incorrect,
            meta={"family": draft.family, "level": draft.level, "schema_version": SCHEMA_VERSION},
        )


def _dealt(split: str, rng: random.Random) -> Iterator[Draft]:
    """All drafts in their final order; two families of each round have their pair item in it."""
    singles = [iter(_single_drafts(family, split, rng)) for family in families()]
    pairs = [iter(_pair_drafts(family, split, rng)) for family in families()]
    for _ in range(CYCLES[split]):
        pair_rounds = _shuffled([n % ROUNDS_PER_CYCLE for n in range(len(families()))], rng)
        for round_number in range(ROUNDS_PER_CYCLE):
            hands = zip(singles, pairs, pair_rounds, strict=True)
            dealt = [next(pair if pair_round == round_number else single) for single, pair, pair_round in hands]
            yield from _shuffled(dealt, rng)


def _single_drafts(family: Family, split: str, rng: random.Random) -> list[Draft]:
    """All single drafts of a family, shuffled. They are drawn in twos: each answer of a pair is the correct one once.

    A fixed key stays the same for the two, so that it goes with neither answer.
    """
    n_blocks = CYCLES[split] * (ROUNDS_PER_CYCLE - 1) // 2
    seen: set[str] = set()
    drafts = [
        _new_draft(family, "single", split, rng, answers, keys, True, seen)
        for pair, keys in _blocks(family, split, rng, n_blocks)
        for answers in (pair, _swap(pair))
    ]
    return _shuffled(drafts, rng)


def _pair_drafts(family: Family, split: str, rng: random.Random) -> list[Draft]:
    """All pair drafts of a family, shuffled so that each two in a row ask for the first and the second answer once.

    They are drawn in fours about one pair of answers: both orders of mention × both answers asked for. Fixed keys
    change places in two of the four, so that neither a key and a position nor a key and an answer go together.
    """
    firsts: list[Draft] = []
    seconds: list[Draft] = []
    seen: set[str] = set()
    for pair, fixed in _blocks(family, split, rng, CYCLES[split] // 4):
        for answers, swapped in ((pair, False), (_swap(pair), True)):
            for asks_first, drafts in ((True, firsts), (False, seconds)):
                keys = _swap(fixed) if fixed and swapped == asks_first else fixed
                drafts.append(_new_draft(family, "pair", split, rng, answers, keys, asks_first, seen))
    both = zip(_shuffled(firsts, rng), _shuffled(seconds, rng), strict=True)
    return [draft for two in both for draft in _shuffled(two, rng)]


def _blocks(family: Family, split: str, rng: random.Random, n_blocks: int) -> Iterator[tuple[Pair, Pair | None]]:
    """Pairs of answers, all answers evenly, each with a pair of fixed keys, or with None where keys are drawn."""
    fixed = (None,) if isinstance(family.keys, Words) else (*family.keys, *map(_swap, family.keys))
    return islice(zip(_pairs(family.answers.of(split), rng), cycle(fixed), strict=False), n_blocks)


def _new_draft(
    family: Family,
    level: str,
    split: str,
    rng: random.Random,
    answers: Pair,
    fixed_keys: Pair | None,
    asks_first: bool,
    seen: set[str],
) -> Draft:
    """A draft whose question is not in seen; adds it there."""
    draft = _draft(family, level, split, rng, answers, fixed_keys, asks_first)
    while draft.question in seen:
        draft = _draft(family, level, split, rng, answers, fixed_keys, asks_first)
    seen.add(draft.question)
    return draft


def _draft(
    family: Family,
    level: str,
    split: str,
    rng: random.Random,
    answers: Pair,
    fixed_keys: Pair | None,
    asks_first: bool,
) -> Draft:
    """One draft with these answers in this order; wording, bystanders and (unless they are fixed) keys are drawn.

    The correct answer is the first one or else the second; a single passage leaves the other one out.
    """
    key1, key2 = fixed_keys or _drawn_keys(family, split, rng)
    answer1, answer2 = (family.answer_form.format(answer) for answer in answers)
    facts = ((key1, answer1), (key2, answer2))
    (key, correct), (_, incorrect) = facts if asks_first else _swap(facts)
    bystanders = [name for name in words()["names"].of(split) if name not in (*answers, key1, key2)]
    wording = _pick(family.wordings(level), rng)
    question = f"{wording.passage} {wording.question}".format(
        answer=correct,
        answer1=answer1,
        answer2=answer2,
        key=key,
        key1=key1,
        key2=key2,
        an_key=_with_article(key),
        an_key1=_with_article(key1),
        an_key2=_with_article(key2),
        person=_pick(bystanders, rng),
        place=_pick(words()["places"].of(split), rng),
        game=_pick(words()["games"].of(split), rng),
    )
    return Draft(family.name, level, question, correct, incorrect)


def _drawn_keys(family: Family, split: str, rng: random.Random) -> Pair:
    assert isinstance(family.keys, Words)
    return next(_pairs(family.keys.of(split), rng))


def _swap(pair: tuple[T, T]) -> tuple[T, T]:
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

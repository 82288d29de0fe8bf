"""pocket: what its items promise, so that a verdict can only come from reading the passage."""

import re
from collections import Counter
from dataclasses import asdict
from itertools import chain

import pytest

from evenhand.records import digest
from studies.dialdefer.pocket import FAMILIES, SCHEMA_VERSION, Family, pocket_items
from studies.dialdefer.pocket import WORDS as FIELDS
from studies.dialdefer.records import Item

SPLITS = {split: list(pocket_items(split)) for split in ("train", "test")}
N_ITEMS = {"train": 4000, "test": 800}
GOLDEN = {
    "train": "08688c9a07606ecffe9cbe68e00941d0a1dbb904afb8fe3212229015e9231678",
    "test": "c8cd2787a9d2917b0b3f7671f0d8807231086478031c920c4984788ec3c6a860",
}

LEVELS = ("single", "pair")

both_splits = pytest.mark.parametrize("split", ["train", "test"])
both_levels = pytest.mark.parametrize("level", LEVELS)


def family_of(item: Item) -> str:
    return str(item.meta["family"])


def level_of(item: Item) -> str:
    return str(item.meta["level"])


def of_level(level: str, split: str) -> list[Item]:
    return [item for item in SPLITS[split] if level_of(item) == level]


@both_splits
def test_the_items_never_change(split: str) -> None:
    """An intended change raises SCHEMA_VERSION and brings a new digest: scores of other items cannot be compared."""
    assert digest([asdict(item) for item in SPLITS[split]]) == GOLDEN[split]
    assert SCHEMA_VERSION == "v2"


@both_levels
@both_splits
def test_every_answer_is_correct_as_often_as_incorrect(split: str, level: str) -> None:
    correct = Counter((family_of(item), item.correct_answer) for item in of_level(level, split))
    incorrect = Counter((family_of(item), item.incorrect_answer) for item in of_level(level, split))
    assert correct == incorrect


def test_the_splits_share_no_word_of_the_word_lists() -> None:
    """Entries are looked for in the other split's finished text, so that no sentence pattern brings one in either."""
    for split, other in (("train", "test"), ("test", "train")):
        text = "\n".join(f"{item.question} {item.correct_answer}" for item in SPLITS[other])
        for name, field in FIELDS.items():
            for entry in field[split]:
                assert not re.search(rf"\b{re.escape(entry)}\b", text), f"{name}: {entry} is in {other} too"


def pattern_of(family: Family, wording: dict[str, str]) -> re.Pattern[str]:
    """A regular expression that reads a wording's slots back from a finished question."""
    keys = chain(*(family["keys"].values() if isinstance(family["keys"], dict) else family["keys"]))
    answers = (family["answer_form"].format(answer) for answer in chain(*family["answers"].values()))
    content = {"answer": "|".join(answers), "key": "|".join(keys)}
    pattern = re.escape(f"{wording['passage']} {wording['question']}").replace(r"\{", "{").replace(r"\}", "}")
    pattern = re.sub(r"{an_(key[12]?)}", r"an?\\ {\1}", pattern)
    for slot in set(re.findall(r"{(\w+)}", pattern)):
        before, *after = pattern.split(f"{{{slot}}}")
        group = f"(?P<{slot}>{content.get(slot.rstrip('12'), '[A-Za-z ]+')})"
        pattern = before + group + f"(?P={slot})".join(after)
    return re.compile(pattern)


def read(level: str, item: Item) -> list[re.Match[str]]:
    """The item's text read through each wording of its family at this level that fits it."""
    [family] = [family for family in FAMILIES if family["name"] == family_of(item)]
    matches = (pattern_of(family, wording).fullmatch(item.question) for wording in family[level])
    return [match for match in matches if match]


@both_splits
def test_reading_the_passage_gives_the_correct_answer(split: str) -> None:
    for item in of_level("single", split):
        [match] = read("single", item)
        assert match["answer"] == item.correct_answer, item
        assert not read("pair", item)
    for item in of_level("pair", split):
        [match] = read("pair", item)
        facts = {match["key1"]: match["answer1"], match["key2"]: match["answer2"]}
        assert len(facts) == 2, item
        assert item.correct_answer == facts.pop(match["key"]), item
        assert [item.incorrect_answer] == list(facts.values()), item

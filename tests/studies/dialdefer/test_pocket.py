"""pocket: what its items promise, so that a verdict can only come from reading the passage."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from itertools import chain, islice

import pytest

from evenhand.errors import ConfigError
from evenhand.records import digest
from studies.dialdefer.pocket import SCHEMA_VERSION, pocket_items
from studies.dialdefer.pocket_texts import Family, Wording, Words, families, words
from studies.dialdefer.records import Item

SPLITS = {split: list(pocket_items(split)) for split in ("train", "test")}
N_ITEMS = {"train": 4000, "test": 800}
GOLDEN = {
    "train": "08688c9a07606ecffe9cbe68e00941d0a1dbb904afb8fe3212229015e9231678",
    "test": "c8cd2787a9d2917b0b3f7671f0d8807231086478031c920c4984788ec3c6a860",
}
FAMILIES, FIELDS = families(), words()

LEVELS = ("single", "pair")

both_splits = pytest.mark.parametrize("split", ["train", "test"])
both_levels = pytest.mark.parametrize("level", LEVELS)


def passage_of(item: Item) -> str:
    """The passage without its question, which is the last sentence."""
    return item.question[: item.question.rindex(". ") + 1]


def asks_first(item: Item) -> bool:
    """Whether the correct answer is the one that the passage mentions first."""
    return place_of(item.correct_answer, item) < place_of(item.incorrect_answer, item)


def place_of(answer: str, item: Item) -> int:
    found = re.search(rf"\b{re.escape(answer)}\b", passage_of(item))
    assert found, f"{item.item_id}: {answer!r} is not in the passage"
    return found.start()


def family_of(item: Item) -> str:
    return str(item.meta["family"])


def level_of(item: Item) -> str:
    return str(item.meta["level"])


def of_level(level: str, split: str) -> list[Item]:
    return [item for item in SPLITS[split] if level_of(item) == level]


@both_splits
def test_a_split_holds_its_number_of_items_evenly_over_ten_families(split: str) -> None:
    families = Counter(map(family_of, SPLITS[split]))
    assert len(SPLITS[split]) == N_ITEMS[split]
    assert families == {family.name: N_ITEMS[split] // 10 for family in FAMILIES}
    assert len(families) == 10


@both_splits
def test_the_items_never_change(split: str) -> None:
    """An intended change raises SCHEMA_VERSION and brings a new digest: scores of other items cannot be compared."""
    assert digest([asdict(item) for item in SPLITS[split]]) == GOLDEN[split]
    assert SCHEMA_VERSION == "v2"


def test_the_items_do_not_depend_on_the_hash_seed() -> None:
    script = (
        "from dataclasses import asdict\nfrom studies.dialdefer.pocket import pocket_items\n"
        "from evenhand.records import digest\nprint(digest([asdict(item) for item in pocket_items('test')]))"
    )
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == GOLDEN["test"]


@both_splits
def test_ids_name_split_and_position(split: str) -> None:
    assert [item.item_id for item in SPLITS[split]] == [f"pocket-{split}-{n}" for n in range(N_ITEMS[split])]
    assert {(item.benchmark, item.dataset) for item in SPLITS[split]} == {("pocket", "pocket")}


@pytest.mark.parametrize("split", ["validation", "", "Train"])
def test_an_unknown_split_is_refused_at_once_with_the_known_ones(split: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown split '{split}'.*train, test"):
        pocket_items(split)


@both_splits
@pytest.mark.parametrize("n", [10, 60, 117, 400])
def test_any_prefix_holds_the_families_evenly(split: str, n: int) -> None:
    counts = Counter(map(family_of, islice(pocket_items(split), n)))
    assert all(n // 10 <= counts[family.name] <= -(-n // 10) for family in FAMILIES)


@both_splits
def test_every_fifty_items_hold_forty_single_ones_and_one_pair_of_each_family(split: str) -> None:
    for start in range(0, N_ITEMS[split], 50):
        fifty = SPLITS[split][start : start + 50]
        assert Counter(map(level_of, fifty)) == {"single": 40, "pair": 10}
        assert {family_of(item) for item in fifty if level_of(item) == "pair"} == {family.name for family in FAMILIES}


@both_splits
def test_any_prefix_holds_one_pair_item_in_five_to_within_two(split: str) -> None:
    n_pairs = 0
    for n, item in enumerate(SPLITS[split], 1):
        n_pairs += level_of(item) == "pair"
        assert abs(n_pairs - n / 5) <= 2, n


@both_splits
@pytest.mark.parametrize("n", [100, 300, 800])
def test_in_pair_items_the_correct_answer_is_first_in_half_of_each_family_and_prefix(split: str, n: int) -> None:
    pairs = [item for item in SPLITS[split][:n] if level_of(item) == "pair"]
    assert Counter(map(family_of, filter(asks_first, pairs))) == {family.name: n // 100 for family in FAMILIES}


@both_levels
@both_splits
def test_every_answer_is_correct_as_often_as_incorrect(split: str, level: str) -> None:
    correct = Counter((family_of(item), item.correct_answer) for item in of_level(level, split))
    incorrect = Counter((family_of(item), item.incorrect_answer) for item in of_level(level, split))
    assert correct == incorrect


@both_splits
def test_in_pair_items_every_answer_is_correct_as_often_when_first_as_when_last(split: str) -> None:
    pairs = of_level("pair", split)
    first = Counter((family_of(item), item.correct_answer) for item in pairs if asks_first(item))
    last = Counter((family_of(item), item.correct_answer) for item in pairs if not asks_first(item))
    assert first == last


@both_splits
def test_a_fixed_key_goes_with_no_place_and_no_answer(split: str) -> None:
    """So "left" or "won" alone says nothing about where the correct answer stands, nor which one it is."""
    for family in FAMILIES:
        if isinstance(family.keys, Words):
            continue
        for key in chain(*family.keys):
            asked = [i for i in SPLITS[split] if family_of(i) == family.name and key in i.question.split(". ")[-1]]
            assert len(asked) >= 10
            for level in LEVELS:
                items = [item for item in asked if level_of(item) == level]
                assert Counter(i.correct_answer for i in items) == Counter(i.incorrect_answer for i in items), key
            pairs = [item for item in asked if level_of(item) == "pair"]
            assert 2 * sum(map(asks_first, pairs)) == len(pairs), key


def mentions_of(answer: str, item: Item) -> int:
    return len(re.findall(rf"\b{re.escape(answer)}\b", item.question))


@both_splits
def test_a_single_item_states_the_correct_answer_once_and_the_wrong_one_nowhere(split: str) -> None:
    for item in of_level("single", split):
        assert mentions_of(item.correct_answer, item) == 1, item
        assert place_of(item.correct_answer, item) >= 0
        wrong_noun = item.incorrect_answer.split()[-1]
        assert mentions_of(wrong_noun, item) == 0, item


@both_splits
def test_a_single_item_states_no_other_candidate_of_the_asked_kind(split: str) -> None:
    answers = {family.name: [family.answer_form.format(a) for a in family.answers.of(split)] for family in FAMILIES}
    for item in of_level("single", split):
        stated = [answer for answer in answers[family_of(item)] if mentions_of(answer, item)]
        assert stated == [item.correct_answer], item


@both_splits
def test_a_pair_item_states_both_answers_once_and_neither_in_the_question(split: str) -> None:
    for item in of_level("pair", split):
        assert item.correct_answer != item.incorrect_answer
        for answer in (item.correct_answer, item.incorrect_answer):
            assert mentions_of(answer, item) == 1, item
            assert place_of(answer, item) >= 0


@both_splits
def test_both_answers_are_of_the_kind_asked_for_and_have_one_to_three_words(split: str) -> None:
    answers = {family.name: {family.answer_form.format(a) for a in family.answers.of(split)} for family in FAMILIES}
    for item in SPLITS[split]:
        for answer in (item.correct_answer, item.incorrect_answer):
            assert answer in answers[family_of(item)]
            assert 1 <= len(answer.split()) <= 3


def test_no_question_is_asked_twice_in_or_across_the_splits() -> None:
    questions = [item.question for split in SPLITS.values() for item in split]
    assert len(set(questions)) == len(questions)


def test_the_splits_share_no_word_of_the_word_lists() -> None:
    """Entries are looked for in the other split's finished text, so that no sentence pattern brings one in either."""
    for split, other in (("train", "test"), ("test", "train")):
        text = "\n".join(f"{item.question} {item.correct_answer}" for item in SPLITS[other])
        for name, field in FIELDS.items():
            for entry in field.of(split):
                assert not re.search(rf"\b{re.escape(entry)}\b", text), f"{name}: {entry} is in {other} too"


def test_every_word_of_the_lists_is_used() -> None:
    for split, items in SPLITS.items():
        text = "\n".join(item.question for item in items)
        for name, field in FIELDS.items():
            assert len(set(field.of(split))) == len(field.of(split)), name
            for entry in field.of(split):
                assert re.search(rf"\b{re.escape(entry)}\b", text), f"{name}: {entry} is never used in {split}"


@both_splits
def test_the_text_reads_as_plain_sentences_of_few_words(split: str) -> None:
    bounds = {"single": (12, 22), "pair": (19, 30)}
    for item in SPLITS[split]:
        least, most = bounds[level_of(item)]
        assert least <= len(item.question.split()) <= most, item.question
        assert re.fullmatch(r"(?:[A-Z][A-Za-z ,:]+\. )+[A-Z][A-Za-z ]+\?", item.question), item.question
        assert "  " not in item.question


@both_splits
def test_an_stands_before_vowels_and_a_before_all_others(split: str) -> None:
    for item in SPLITS[split]:
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", item.question, re.IGNORECASE), item.question


@both_splits
def test_nobody_plays_two_parts_in_one_passage(split: str) -> None:
    """Each family names its own number of people; one fewer would mean that a bystander is also an answer or a key."""
    names = set(FIELDS["names"].of(split))
    n_people = {
        "single": {"owner": {1}, "gift": {1}, "game": {1}, "cafe": {1}},
        "pair": {"owner": {2}, "gift": {3}, "game": {2, 3}, "cafe": {2}},
    }
    for item in SPLITS[split]:
        people = {word for word in re.findall(r"\w+", item.question) if word in names}
        assert len(people) in n_people[level_of(item)].get(family_of(item), {0, 1}), item.question


def pattern_of(family: Family, wording: Wording) -> re.Pattern[str]:
    """A regular expression that reads a wording's slots back from a finished question."""
    keys = (*family.keys.train, *family.keys.test) if isinstance(family.keys, Words) else chain(*family.keys)
    answers = (family.answer_form.format(answer) for answer in (*family.answers.train, *family.answers.test))
    content = {"answer": "|".join(answers), "key": "|".join(keys)}
    pattern = re.escape(f"{wording.passage} {wording.question}").replace(r"\{", "{").replace(r"\}", "}")
    pattern = re.sub(r"{an_(key[12]?)}", r"an?\\ {\1}", pattern)
    for slot in set(re.findall(r"{(\w+)}", pattern)):
        before, *after = pattern.split(f"{{{slot}}}")
        group = f"(?P<{slot}>{content.get(slot.rstrip('12'), '[A-Za-z ]+')})"
        pattern = before + group + f"(?P={slot})".join(after)
    return re.compile(pattern)


def read(level: str, item: Item) -> list[re.Match[str]]:
    """The item's text read through each wording of its family at this level that fits it."""
    [family] = [family for family in FAMILIES if family.name == family_of(item)]
    matches = (pattern_of(family, wording).fullmatch(item.question) for wording in family.wordings(level))
    return [match for match in matches if match]


@both_splits
def test_reading_the_passage_gives_the_correct_answer(split: str) -> None:
    for item in of_level("single", split):
        [found] = read("single", item)
        assert found["answer"] == item.correct_answer, item
        assert not read("pair", item)
    for item in of_level("pair", split):
        [found] = read("pair", item)
        told = {found["key1"]: found["answer1"], found["key2"]: found["answer2"]}
        assert len(told) == 2, item
        assert item.correct_answer == told.pop(found["key"]), item
        assert [item.incorrect_answer] == list(told.values()), item

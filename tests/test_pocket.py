"""pocket: what its items promise, so that a verdict can only come from reading the passage."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from itertools import chain, islice

import pytest

from benchmarks import pocket_words
from benchmarks.errors import ConfigError
from benchmarks.pocket import SCHEMA_VERSION, pocket_items
from benchmarks.pocket_families import FAMILIES, Family, Wording
from benchmarks.pocket_words import Words
from benchmarks.records import Item, digest

SPLITS = {split: list(pocket_items(split)) for split in ("train", "test")}
N_ITEMS = {"train": 4000, "test": 800}
GOLDEN = {
    "train": "9191d753db5305ac440f570f8b6693370d689c0d0f097a1d907f4fc6a66fb173",
    "test": "5d06e9250dec02fac1625bf4675da2aca03cf37cf2d1e7bae39a81700e7b138d",
}
FIELDS = {name: field for name, field in vars(pocket_words).items() if isinstance(field, Words)}

both_splits = pytest.mark.parametrize("split", ["train", "test"])


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
    assert SCHEMA_VERSION == "v1"


def test_the_items_do_not_depend_on_the_hash_seed() -> None:
    script = (
        "from dataclasses import asdict\nfrom benchmarks.pocket import pocket_items\n"
        "from benchmarks.records import digest\nprint(digest([asdict(item) for item in pocket_items('test')]))"
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
@pytest.mark.parametrize("n", [20, 60, 400, 800])
def test_the_correct_answer_is_mentioned_first_in_half_of_each_family_and_prefix(split: str, n: int) -> None:
    firsts = Counter(family_of(item) for item in SPLITS[split][:n] if asks_first(item))
    assert firsts == {family.name: n // 20 for family in FAMILIES}


@both_splits
def test_every_answer_is_correct_as_often_as_incorrect(split: str) -> None:
    correct = Counter((family_of(item), item.correct_answer) for item in SPLITS[split])
    incorrect = Counter((family_of(item), item.incorrect_answer) for item in SPLITS[split])
    assert correct == incorrect


@both_splits
def test_every_answer_is_correct_as_often_when_mentioned_first_as_when_mentioned_last(split: str) -> None:
    first = Counter((family_of(item), item.correct_answer) for item in SPLITS[split] if asks_first(item))
    last = Counter((family_of(item), item.correct_answer) for item in SPLITS[split] if not asks_first(item))
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
            assert 2 * sum(map(asks_first, asked)) == len(asked), key
            assert Counter(i.correct_answer for i in asked) == Counter(i.incorrect_answer for i in asked), key


@both_splits
def test_both_answers_stand_once_in_the_passage_and_not_in_the_question(split: str) -> None:
    for item in SPLITS[split]:
        assert item.correct_answer != item.incorrect_answer
        for answer in (item.correct_answer, item.incorrect_answer):
            mentions = re.findall(rf"\b{re.escape(answer)}\b", item.question)
            assert len(mentions) == 1, item
            assert place_of(answer, item) >= 0


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
def test_the_text_reads_as_plain_sentences_of_19_to_30_words(split: str) -> None:
    for item in SPLITS[split]:
        assert 19 <= len(item.question.split()) <= 30, item.question
        assert re.fullmatch(r"(?:[A-Z][A-Za-z ,:]+\. )+[A-Z][A-Za-z ]+\?", item.question), item.question
        assert "  " not in item.question


@both_splits
def test_an_stands_before_vowels_and_a_before_all_others(split: str) -> None:
    for item in SPLITS[split]:
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", item.question, re.IGNORECASE), item.question


@both_splits
def test_nobody_plays_two_parts_in_one_passage(split: str) -> None:
    """Each family names its own number of people; one fewer would mean that a bystander is also an answer or a key."""
    names = set(pocket_words.NAMES.of(split))
    n_people = {"owner": {2}, "gift": {3}, "game": {2, 3}, "cafe": {2}}
    for item in SPLITS[split]:
        people = {word for word in re.findall(r"\w+", item.question) if word in names}
        assert len(people) in n_people.get(family_of(item), {0, 1}), item.question


def pattern_of(family: Family, wording: Wording) -> re.Pattern[str]:
    """A regular expression that reads a wording's slots back from a finished question."""
    keys = (*family.keys.train, *family.keys.test) if isinstance(family.keys, Words) else chain(*family.keys)
    answers = (family.answer_form.format(answer) for answer in (*family.answers.train, *family.answers.test))
    content = {"answer": "|".join(answers), "key": "|".join(keys)}
    pattern = re.escape(f"{wording.passage} {wording.question}").replace(r"\{", "{").replace(r"\}", "}")
    for number in ("1", "2"):
        pattern = pattern.replace(f"{{an_key{number}}}", rf"an?\ {{key{number}}}")
    for slot in set(re.findall(r"{(\w+)}", pattern)):
        before, *after = pattern.split(f"{{{slot}}}")
        group = f"(?P<{slot}>{content.get(slot.rstrip('12'), '[A-Za-z ]+')})"
        pattern = before + group + f"(?P={slot})".join(after)
    return re.compile(pattern)


@both_splits
def test_reading_the_passage_gives_the_correct_answer(split: str) -> None:
    patterns = {family.name: [pattern_of(family, wording) for wording in family.wordings] for family in FAMILIES}
    for item in SPLITS[split]:
        [read] = filter(None, (pattern.fullmatch(item.question) for pattern in patterns[family_of(item)]))
        told = {read["key1"]: read["answer1"], read["key2"]: read["answer2"]}
        assert len(told) == 2, item
        assert item.correct_answer == told.pop(read["key"]), item
        assert [item.incorrect_answer] == list(told.values()), item

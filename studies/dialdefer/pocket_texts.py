"""The words and families of pocket, from pocket_words.yaml and pocket_families.yaml."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from evenhand.shipped_yaml import shipped_yaml

FOLDER = Path(__file__).parent


class Words(NamedTuple):
    """One field's words, partitioned between the splits."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    def of(self, split: str) -> tuple[str, ...]:
        """The words of "train" or "test"."""
        return {"train": self.train, "test": self.test}[split]


class Wording(NamedTuple):
    """One way to put a family's fact and its question."""

    passage: str
    question: str


class Family(NamedTuple):
    """One kind of fact. Keys are drawn from a word field, or are one of a few fixed pairs such as left and right."""

    name: str
    answers: Words
    keys: Words | tuple[tuple[str, str], ...]
    single: tuple[Wording, ...]
    pair: tuple[Wording, ...]
    answer_form: str = "{}"

    def wordings(self, level: str) -> tuple[Wording, ...]:
        """The wordings of "single" or "pair"."""
        return {"single": self.single, "pair": self.pair}[level]


@cache
def words() -> dict[str, Words]:
    """Field → its words."""
    fields = shipped_yaml(FOLDER / "pocket_words.yaml")
    return {name: Words(*(tuple(field[split]) for split in Words._fields)) for name, field in fields.items()}


@cache
def families() -> tuple[Family, ...]:
    """The families, in the order in which a round deals them."""
    return tuple(
        Family(
            name=family["name"],
            answers=words()[family["answers"]],
            keys=words()[keys] if isinstance(keys := family["keys"], str) else tuple((a, b) for a, b in keys),
            single=tuple(Wording(**wording) for wording in family["single"]),
            pair=tuple(Wording(**wording) for wording in family["pair"]),
            answer_form=family.get("answer_form", "{}"),
        )
        for family in shipped_yaml(FOLDER / "pocket_families.yaml")
    )

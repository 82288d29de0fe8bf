"""The disputes of `pocket-conflicts`, read from the texts of four files. A page is of one split only."""

from collections.abc import Iterator
from dataclasses import dataclass

from studies.narrator import pocket_evidence, pocket_extent, pocket_looks, pocket_titles


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a dispute is about, and what each side has to say."""

    kind: str  # "images", "titles", ...
    page: str
    topic: str  # as in "all this fuss about the lead photo"
    openings: tuple[str, ...]
    reasons: dict[str, tuple[str, ...]]  # by stance: "for" the change, "against" it, "aside"


STANCES = {"+": "for", "-": "against", "~": "aside"}
TEXTS = {
    "train": {
        "images": pocket_looks.IMAGES_TRAIN,
        "formatting": pocket_looks.FORMATTING_TRAIN,
        "titles": pocket_titles.TITLES_TRAIN,
        "merges": pocket_titles.MERGES_TRAIN,
        "sources": pocket_evidence.SOURCES_TRAIN,
        "wording": pocket_evidence.WORDING_TRAIN,
        "lists": pocket_extent.LISTS_TRAIN,
        "length": pocket_extent.LENGTH_TRAIN,
    },
    "test": {
        "images": pocket_looks.IMAGES_TEST,
        "formatting": pocket_looks.FORMATTING_TEST,
        "titles": pocket_titles.TITLES_TEST,
        "merges": pocket_titles.MERGES_TEST,
        "sources": pocket_evidence.SOURCES_TEST,
        "wording": pocket_evidence.WORDING_TEST,
        "lists": pocket_extent.LISTS_TEST,
        "length": pocket_extent.LENGTH_TEST,
    },
}


def scenarios(split: str) -> list[Scenario]:
    """The scenarios of "train" or "test"."""
    return [scenario for kind, text in TEXTS[split].items() for scenario in parsed(kind, text)]


def parsed(kind: str, text: str) -> Iterator[Scenario]:
    """The scenarios of one text: a blank line between two."""
    for block in text.strip().split("\n\n"):
        lines = [(line[0], line[2:]) for line in block.splitlines()]
        page, topic = lines[0][1].split(" | ")
        yield Scenario(
            kind=kind,
            page=page,
            topic=topic,
            openings=tuple(said for mark, said in lines if mark == "?"),
            reasons={stance: tuple(said for m, said in lines if m == mark) for mark, stance in STANCES.items()},
        )

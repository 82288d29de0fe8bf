"""Which reference sets a config names: those known of our own threads, or those of a built folder."""

import hashlib
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from evenhand.errors import DataError
from evenhand.records import normalised
from studies.pluraleval.built_folder import REFERENCES_FILE, read_built
from studies.pluraleval.pocket import pocket_references
from studies.pluraleval.records import ReferenceSet
from studies.pluraleval.rows import reference_of
from studies.pluraleval.thread_sets import OwnOrBuilt

TEST_PART = 3  # one post in so many is held out for testing


class ReferenceSpec(OwnOrBuilt):
    """Reference sets as a config names them."""

    dataset: Literal["pocket-threads", "built"] = "built"  # pocket-threads: those known of our own threads
    root: Path | None = None  # what `evenhand build references` made; null for `pocket-threads`
    # train, test: the threads that side_of puts there; "all" is not written down, so that a run keeps its name
    split: Literal["all", "train", "test"] = Field(default="all", exclude_if=lambda split: split == "all")

    folder: ClassVar[str] = "a folder of reference sets"


def load_references(spec: ReferenceSpec) -> list[ReferenceSet]:
    """The reference sets in the folder's order. Raises DataError for none."""
    found = pocket_references() if spec.root is None else list(read_built(spec.root, REFERENCES_FILE, reference_of))
    if not found:
        raise DataError(f"{spec.root}: holds no reference set; build it of a run with threads")
    if spec.split == "all":
        return found
    of_split = [one for one in found if side_of(one) == spec.split]
    if not of_split:
        raise DataError(
            f"{spec.root}: none of its {len(found)} threads is of split {spec.split}, which a post's text decides; "
            "build reference sets of more threads"
        )
    return of_split


def side_of(found: ReferenceSet) -> Literal["train", "test"]:
    """Whether a thread may be trained on: test for a third of all posts, by a hash of the post's normalised text.

    So the side depends neither on the folder nor on its other threads, and a post shared twice has one side.
    """
    number = int(hashlib.sha256(f"split {normalised(found.thread.post)}".encode()).hexdigest(), 16)
    return "test" if number % TEST_PART == 0 else "train"

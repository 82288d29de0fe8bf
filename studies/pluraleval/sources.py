"""Which threads and reference sets a config names: our own, or those of a built folder.

pocket-threads, from pocket_threads.yaml, are ours: their opinions, stances and votes are known.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from evenhand.built_folder import file_hash, read_rows
from evenhand.config import Closed
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from evenhand.records import normalised
from evenhand.study import drawn
from studies.pluraleval.records import ReferenceSet, Thread

POCKET: Literal["pocket-threads"] = "pocket-threads"
WILDSCOPE = "wildscope"
THREADS = (WILDSCOPE, "threads.jsonl")  # NAME of `evenhand build NAME`, and the file that it writes
REFERENCES = ("references", "references.jsonl")
TEST_PART = 3  # one post in so many is held out for testing
THREAD, REFERENCE_SET = TypeAdapter(Thread), TypeAdapter(ReferenceSet)


@cache
def pocket_references() -> tuple[ReferenceSet, ...]:
    """The reference sets that a judge without fault finds of our own threads."""
    rows = shipped_yaml(Path(__file__).with_name("pocket_threads.yaml"))
    return tuple(map(REFERENCE_SET.validate_python, rows))


class OwnOrBuilt(Closed):
    """Data as a config names them: ours, or those of a built folder."""

    dataset: str
    root: Path | None = None

    built: ClassVar[tuple[str, str]]  # THREADS or REFERENCES

    @model_validator(mode="after")
    def has_its_folder(self) -> Self:
        if (self.root is None) != (self.dataset == POCKET):
            made_by = f"set `root` to a folder made by `evenhand build {self.built[0]}`"
            raise ValueError(f"{self.dataset}: {'reads no folder; leave out `root`' if self.root else made_by}")
        return self

    @property
    def inputs(self) -> dict[str, str]:
        """The folder with the checksum of what it holds; none of our own data."""
        return {str(self.root): file_hash(self.root, *self.built)} if self.root else {}


class ThreadSpec(OwnOrBuilt):
    """Threads as a config names them."""

    dataset: Literal["pocket-threads", "wildscope"]
    root: Path | None = None  # what `evenhand build wildscope` made; null for `pocket-threads`
    n_threads: int | None = Field(default=None, ge=1)  # so many, drawn by draw_seed; null is all
    draw_seed: int = 42

    built: ClassVar[tuple[str, str]] = THREADS


class ReferenceSpec(OwnOrBuilt):
    """Reference sets as a config names them."""

    dataset: Literal["pocket-threads", "built"] = "built"  # pocket-threads: those known of our own threads
    root: Path | None = None  # what `evenhand build references` made; null for `pocket-threads`
    # train, test: the threads that side_of puts there; "all" is not written down, so that a run keeps its name
    split: Literal["all", "train", "test"] = Field(default="all", exclude_if=lambda split: split == "all")

    built: ClassVar[tuple[str, str]] = REFERENCES


def load_threads(spec: ThreadSpec) -> list[Thread]:
    """The threads in the folder's order. Raises DataError for none or too few of them."""
    if spec.root is None:
        threads = [reference_set.thread for reference_set in pocket_references()]
    else:
        threads = list(read_rows(spec.root, *THREADS, THREAD.validate_python))
    n_threads = spec.n_threads or len(threads) or 1
    if len(threads) < n_threads:
        raise DataError(f"{spec.root or POCKET}: {n_threads} threads are wanted, and {len(threads)} are there")
    return drawn(threads, n_threads, f"{spec.dataset} {spec.draw_seed}")


def load_references(spec: ReferenceSpec) -> list[ReferenceSet]:
    """The reference sets in the folder's order. Raises DataError for none."""
    built = pocket_references() if spec.root is None else built_references(spec.root)
    of_split = [references for references in built if spec.split in ("all", side_of(references))]
    if not of_split:
        raise DataError(
            f"{spec.root}: none of its {len(built)} threads is of split {spec.split}, which a post's text decides; "
            "build reference sets of more threads"
        )
    return of_split


def built_references(root: Path) -> list[ReferenceSet]:
    """The reference sets of a built folder. Raises DataError naming what is damaged."""
    return list(read_rows(root, *REFERENCES, REFERENCE_SET.validate_python))


def side_of(references: ReferenceSet) -> Literal["train", "test"]:
    """Whether a thread may be trained on: test for a third of all posts, by a hash of the post's normalised text.

    So the side depends neither on the folder nor on its other threads, and a post shared twice has one side.
    """
    number = int(hashlib.sha256(f"split {normalised(references.thread.post)}".encode()).hexdigest(), 16)
    return "test" if number % TEST_PART == 0 else "train"

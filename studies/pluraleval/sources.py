"""Which threads and reference sets a config names: our own, or those of a built folder."""

import hashlib
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from evenhand.config import Closed
from evenhand.errors import DataError
from evenhand.records import normalised
from studies.built_folder import file_hash, read_rows
from studies.pluraleval.pocket import DATASET as POCKET
from studies.pluraleval.pocket import pocket_references, pocket_threads
from studies.pluraleval.records import ReferenceSet, Thread
from studies.unit_sets import drawn

WILDSCOPE = "wildscope"
THREADS = (WILDSCOPE, "threads.jsonl")  # NAME of `evenhand build NAME`, and the file that it writes
REFERENCES = ("references", "references.jsonl")
TEST_PART = 3  # one post in so many is held out for testing
THREAD, REFERENCE_SET = TypeAdapter(Thread), TypeAdapter(ReferenceSet)


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
    communities: tuple[str, ...] = ()  # of these subreddits alone; none named is all
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
    """The threads in the folder's order. Raises DataError for none, too few of them, or a repeated id."""
    threads = pocket_threads() if spec.root is None else list(read_rows(spec.root, *THREADS, THREAD.validate_python))
    if spec.communities:
        threads = [thread for thread in threads if thread.community in spec.communities]
    where = spec.root or spec.dataset
    if len({thread.thread_id for thread in threads}) < len(threads):
        raise DataError(f"{where}: a thread's id occurs twice; build the threads anew")
    if len(threads) < (spec.n_threads or 1):
        raise DataError(f"{where}: {spec.n_threads or 1} threads are wanted, and {len(threads)} are there")
    if spec.n_threads is None:
        return threads
    return drawn(threads, spec.n_threads, f"{spec.dataset} {spec.draw_seed}")


def load_references(spec: ReferenceSpec) -> list[ReferenceSet]:
    """The reference sets in the folder's order. Raises DataError for none."""
    built = pocket_references() if spec.root is None else built_references(spec.root)
    if not built:
        raise DataError(f"{spec.root}: holds no reference set; build it of a run with threads")
    if spec.split == "all":
        return built
    of_split = [references for references in built if side_of(references) == spec.split]
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

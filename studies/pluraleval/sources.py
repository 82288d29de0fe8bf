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
from studies.pluraleval.records import FEASIBLE, Cluster, Comment, Opinion, ReferenceSet, Thread

POCKET: Literal["pocket-threads"] = "pocket-threads"
WILDSCOPE = "wildscope"
THREADS = (WILDSCOPE, "threads.jsonl")  # NAME of `evenhand build NAME`, and the file that it writes
REFERENCES = ("references", "references.jsonl")
TEST_PART = 3  # one post in so many is held out for testing
THREAD, REFERENCE_SET = TypeAdapter(Thread), TypeAdapter(ReferenceSet)


class KnownOpinion(Closed):
    """An opinion of a thread."""

    side: str  # "for", "against", "aside"
    summary: str
    belief: str


class KnownComment(Closed):
    """A comment with the atomic opinions in it."""

    score: int
    text: str
    says: dict[str, str]  # key of an opinion → its paraphrase in this comment


class KnownThread(Closed):
    """A thread with everything that there is to know of it."""

    thread_id: str
    community: str
    title: str
    text: str
    opinions: dict[str, KnownOpinion]
    opposing: str  # the belief against the most popular opinion
    comments: tuple[KnownComment, ...]

    @property
    def thread(self) -> Thread:
        """The thread as anybody sees it."""
        return Thread(
            thread_id=self.thread_id,
            dataset=POCKET,
            community=self.community,
            title=self.title,
            text=self.text,
            comments=tuple(Comment(text=comment.text, score=comment.score) for comment in self.comments),
        )

    @property
    def keys(self) -> list[str]:
        """Its opinions, those with most votes first."""
        return sorted(self.opinions, key=lambda key: -self.votes(key))

    def votes(self, key: str) -> int:
        """Of an opinion: the scores of the comments that hold it."""
        return sum(comment.score for comment in self.comments if key in comment.says)

    def stance(self, key: str, reference: str) -> str:
        """Of one opinion toward another."""
        sides = (self.opinions[key].side, self.opinions[reference].side)
        if "aside" in sides:
            return "NEUTRAL"
        return "SUPPORTING" if sides[0] == sides[1] else "AGAINST"


@cache
def known_threads() -> tuple[KnownThread, ...]:
    """All of them."""
    texts = shipped_yaml(Path(__file__).parent / "pocket_threads.yaml")
    return tuple(KnownThread.model_validate(text) for text in texts)


def pocket_threads() -> list[Thread]:
    """The threads."""
    return [own_thread.thread for own_thread in known_threads()]


def pocket_references() -> list[ReferenceSet]:
    """The reference sets that a judge without fault finds."""
    return [known_reference_set(own_thread) for own_thread in known_threads()]


def known_reference_set(own_thread: KnownThread) -> ReferenceSet:
    """The reference set of a thread, by what is known of it."""
    keys = own_thread.keys
    clusters = tuple(
        Cluster(
            summary=own_thread.opinions[key].summary,
            members=tuple(
                Opinion(text=comment.says[key], comments=(number,))
                for number, comment in enumerate(own_thread.comments)
                if key in comment.says
            ),
            votes=own_thread.votes(key),
            belief=own_thread.opinions[key].belief,
        )
        for key in keys
    )
    for position, reference in enumerate(keys):
        stances = tuple("" if key == reference else own_thread.stance(key, reference) for key in keys)
        if min(stances.count("SUPPORTING"), stances.count("AGAINST")) >= FEASIBLE:
            return ReferenceSet(
                thread=own_thread.thread,
                clusters=clusters,
                reference=position,
                stances=stances,
                opposing=own_thread.opposing,
            )
    return ReferenceSet(thread=own_thread.thread, clusters=clusters)


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
    threads = pocket_threads() if spec.root is None else list(read_rows(spec.root, *THREADS, THREAD.validate_python))
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

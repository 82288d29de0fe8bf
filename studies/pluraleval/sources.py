"""Which threads and reference sets a config names: our own, or those of a built folder.

pocket-threads, from pocket_threads.yaml, are ours: their opinions, stances and votes are known.
"""

from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from evenhand.config import Closed
from evenhand.files import shipped_yaml
from studies.built_folder import file_hash, read_rows
from studies.item_files import drawn, enough
from studies.pluraleval.records import ReferenceSet, Thread

POCKET: Literal["pocket-threads"] = "pocket-threads"
WILDSCOPE = "wildscope"
THREADS = (WILDSCOPE, "threads.jsonl")  # NAME of `evenhand build NAME`, and the file that it writes
REFERENCES = ("references", "references.jsonl")
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

    built: ClassVar[tuple[str, str]] = REFERENCES


def load_threads(spec: ThreadSpec) -> list[Thread]:
    """The threads in the folder's order. Raises DataError for none or too few of them."""
    if spec.root is None:
        threads = [reference_set.thread for reference_set in pocket_references()]
    else:
        threads = list(read_rows(spec.root, *THREADS, THREAD.validate_python))
    threads = enough(threads, spec.n_threads, spec.dataset, spec.root, "n_threads")
    return drawn(threads, spec.n_threads or len(threads), f"{spec.dataset} {spec.draw_seed}")


def load_references(spec: ReferenceSpec) -> list[ReferenceSet]:
    """The reference sets in the folder's order. Raises DataError for none, or naming what is damaged."""
    if spec.root is None:
        return [*pocket_references()]
    return enough(read_rows(spec.root, *REFERENCES, REFERENCE_SET.validate_python), None, "reference sets", spec.root)

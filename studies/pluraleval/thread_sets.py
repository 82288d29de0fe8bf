"""Which threads a config names: our own, or those of a built folder."""

import random
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from evenhand.config import Closed
from evenhand.errors import DataError
from studies.pluraleval.built_folder import THREADS_FILE, read_built
from studies.pluraleval.pocket import DATASET as POCKET
from studies.pluraleval.pocket import pocket_threads
from studies.pluraleval.records import Thread
from studies.pluraleval.rows import thread_of

WILDSCOPE = "wildscope"


class OwnOrBuilt(Closed):
    """Data as a config names them: ours, or those of a built folder."""

    dataset: str
    root: Path | None = None

    folder: ClassVar[str]  # what `root` is to be

    @model_validator(mode="after")
    def has_its_folder(self) -> Self:
        if (self.root is None) != (self.dataset == POCKET):
            wants = "reads no folder; leave out `root`" if self.root else f"set `root` to {self.folder}"
            raise ValueError(f"{self.dataset}: {wants}")
        return self


class ThreadSpec(OwnOrBuilt):
    """Threads as a config names them."""

    dataset: Literal["pocket-threads", "wildscope"]
    root: Path | None = None  # what `evenhand build wildscope` made; null for `pocket-threads`
    communities: tuple[str, ...] = ()  # of these subreddits alone; none named is all
    n_threads: int | None = Field(default=None, ge=1)  # so many, drawn by draw_seed; null is all
    draw_seed: int = 42

    folder: ClassVar[str] = "a built folder of threads"


def load_threads(spec: ThreadSpec) -> list[Thread]:
    """The threads in the folder's order. Raises DataError for none, too few of them, or a repeated id."""
    found = pocket_threads() if spec.root is None else list(read_built(spec.root, THREADS_FILE, thread_of))
    if spec.communities:
        found = [thread for thread in found if thread.community in spec.communities]
    where = spec.root or spec.dataset
    if len({thread.thread_id for thread in found}) < len(found):
        raise DataError(f"{where}: a thread's id occurs twice; build the threads anew")
    if len(found) < (spec.n_threads or 1):
        raise DataError(f"{where}: {spec.n_threads or 1} threads are wanted, and {len(found)} are there")
    if spec.n_threads is None:
        return found
    chosen = random.Random(f"{spec.dataset} {spec.draw_seed}").sample(range(len(found)), spec.n_threads)
    return [found[number] for number in sorted(chosen)]

"""Which datasets there are, and how a config asks for them. A new dataset is one file and one line in SOURCES."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from pydantic import Field, field_validator

from benchmarks import pocket, published
from benchmarks.config import Closed, did_you_mean
from benchmarks.errors import ConfigError, DataError
from benchmarks.records import Item, digest


class DatasetSpec(Closed):
    """One dataset as a config names it."""

    dataset: str
    split: str = "test"
    root: Path | None = None  # folder of the publishers' files; null for the embedded `pocket`
    n_items: int | None = Field(default=None, ge=1)  # the first n, in the split's own order; null is all

    @field_validator("dataset")
    @classmethod
    def known(cls, name: str) -> str:
        if name not in SOURCES:
            raise ValueError(f"unknown dataset '{name}'. {did_you_mean(name, sorted(SOURCES))}")
        return name


def pocket_source(spec: DatasetSpec) -> Iterator[Item]:
    """Our own generated items; needs no root."""
    return pocket.pocket_items(spec.split)


def published_source(spec: DatasetSpec) -> Iterator[Item]:
    """A published test split under spec.root."""
    return published.published_items(spec.dataset, needed_root(spec))


def aio_context_source(spec: DatasetSpec) -> Iterator[Item]:
    """r/AIO's contexts under spec.root."""
    return published.aio_context_items(needed_root(spec))


def needed_root(spec: DatasetSpec) -> Path:
    """spec.root, checked to be a folder with something in it, for datasets whose only split here is `test`."""
    if spec.split != "test":
        raise ConfigError(f"{spec.dataset}: split '{spec.split}' is not published; only 'test' is")
    if spec.root is None:
        raise ConfigError(
            f"{spec.dataset}: set `root` (--root of `evenhand show`) to the folder of the published data; README says "
            "where it comes from"
        )
    if not spec.root.is_dir() or not any(spec.root.iterdir()):
        raise DataError(
            f"{spec.root}: is empty or no folder; it must hold the published data of {spec.dataset}, from "
            "github.com/LadyPary/DialDefer: copy or link it there, or set `root`"
        )
    return spec.root


SOURCES: dict[str, Callable[[DatasetSpec], Iterator[Item]]] = {
    "pocket": pocket_source,
    **dict.fromkeys(published.FILES, published_source),
    "aio-context": aio_context_source,
}

# Held out for good: no training run may read them, whatever its config says.
EVALUATION_ONLY = frozenset({"truthfulqa", "aio", "aio-context"})


def load_items(specs: Sequence[DatasetSpec]) -> list[Item]:
    """The items of all specs in order. Raises DataError for an empty dataset, fewer than n_items, or a repeated id."""
    items: list[Item] = []
    for spec in specs:
        found = list(islice(SOURCES[spec.dataset](spec), spec.n_items))
        if not found:
            raise DataError(f"{spec.dataset} ({spec.split}): no items; is {spec.root} the right folder?")
        if spec.n_items is not None and len(found) < spec.n_items:
            raise DataError(f"{spec.dataset} ({spec.split}): n_items is {spec.n_items}, but there are {len(found)}")
        items += found
    refuse_repeats(items)
    return items


def refuse_repeats(items: Iterable[Item]) -> None:
    """Raises DataError when two items share an id: their completions could not be told apart."""
    seen: set[str] = set()
    for item in items:
        if item.item_id in seen:
            raise DataError(f"{item.dataset}: item id '{item.item_id}' occurs twice; is a dataset listed twice?")
        seen.add(item.item_id)


def item_set_hash(items: Iterable[Item]) -> str:
    """16 hex digits over every item's content, so that a run notices when its data has changed under it."""
    total = hashlib.sha256()
    for item in items:
        total.update(digest({**asdict(item), "meta": dict(item.meta)}).encode())
    return total.hexdigest()[:16]

"""Which datasets there are, and how a config asks for them.

A new dataset is one file and one line: in unified/catalogue.py if it belongs to the Unified Benchmark, else in SOURCES.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from evenhand.config import Closed, did_you_mean
from evenhand.errors import ConfigError, DataError
from evenhand.sources.fetching import LOCK_FILE
from studies.built_folder import is_built, read_manifest
from studies.dialdefer import pocket
from studies.dialdefer import published_items as published
from studies.dialdefer.aio import released
from studies.dialdefer.built_items import built_items, held_out_of, whole_split
from studies.dialdefer.built_tables import refuse_changed_tables
from studies.dialdefer.leaks import HeldOut
from studies.dialdefer.pocket_texts import families
from studies.dialdefer.records import Item
from studies.dialdefer.unified.catalogue import DATASETS
from studies.dialdefer.unified.splits import published_ids
from studies.unit_sets import drawn, refuse_repeats, set_hash


class DatasetSpec(Closed):
    """One dataset as a config names it."""

    dataset: str  # truthfulqa and the others (`evenhand show --help`); unified: all of them; pocket: our own
    split: str = "test"  # test or train
    root: Path | None = None  # what `evenhand build unified` made, or the authors' release; null for `pocket`
    n_items: int | None = Field(default=None, ge=1)  # the first n, in the split's own order; null is all
    # Draw the n at random instead: a split's own order goes stratum by stratum, so its first 20 may be of one kind.
    draw_seed: int | None = Field(default=None, exclude_if=lambda seed: seed is None)
    families: tuple[str, ...] | None = Field(
        default=None, min_length=1, exclude_if=lambda names: names is None
    )  # pocket's

    @model_validator(mode="after")
    def draws_some(self) -> Self:
        if self.draw_seed is not None and self.n_items is None:
            raise ValueError(f"{self.dataset}: draw_seed needs n_items; set n_items, or leave it out")
        return self

    @model_validator(mode="after")
    def has_families(self) -> Self:
        known = [family.name for family in families()] if self.dataset == "pocket" else []
        for name in self.families or ():
            if name not in known:
                raise ValueError(f"{self.dataset}: unknown family '{name}'. Its families: {', '.join(known) or 'none'}")
        return self

    @field_validator("dataset")
    @classmethod
    def known(cls, name: str) -> str:
        if name not in SOURCES:
            raise ValueError(f"unknown dataset '{name}'. {did_you_mean(name, sorted(SOURCES))}")
        return name


def pocket_source(spec: DatasetSpec) -> Iterator[Item]:
    """Our own generated items, of all families or those named; needs no root."""
    items = pocket.pocket_items(spec.split)
    return (item for item in items if spec.families is None or item.meta["family"] in spec.families)


def unified_source(spec: DatasetSpec) -> Iterator[Item]:
    """A dataset of the Unified Benchmark: from a built folder, or the test split from the authors' release."""
    root = needed_root(spec)
    if is_built(root):
        return built_items(root, spec.dataset, spec.split)
    if (root / LOCK_FILE).exists():
        raise DataError(f"{root}: the build in it is not finished; the same `evenhand build unified` continues it")
    if spec.split != "test" or spec.dataset not in published.FILES:
        raise ConfigError(
            f"{spec.dataset}: the {spec.split} split is not in the authors' release; build it with `evenhand build "
            "unified --out data/unified`, and set `root` to that folder"
        )
    return published.published_items(spec.dataset, root)


def whole_source(spec: DatasetSpec) -> Iterator[Item]:
    """All datasets of a built folder at once."""
    root = needed_root(spec)
    if not is_built(root):
        raise DataError(f"{root}: holds no finished build; make it with `evenhand build unified --out {root}`")
    return whole_split(root, spec.split)


def aio_context_source(spec: DatasetSpec) -> Iterator[Item]:
    """r/AIO's contexts, from a built folder or the authors' release."""
    root = needed_root(spec)
    return built_items(root, spec.dataset, spec.split) if is_built(root) else released.aio_context_items(root)


def aio_source(spec: DatasetSpec) -> Iterator[Item]:
    """r/AIO with its dialogues, from a copy of the authors' release into which they were put back."""
    root = needed_root(spec)
    if is_built(root):
        raise DataError(f"{root}: a built folder has r/AIO's contexts alone (aio-context). {released.WAY_OUT}")
    return released.aio_items(root)


def needed_root(spec: DatasetSpec) -> Path:
    """spec.root, checked to be a folder with something in it."""
    if spec.split != "test" and spec.dataset in EVALUATION_ONLY:
        raise ConfigError(f"{spec.dataset}: is for evaluation only; it has no split '{spec.split}'")
    if spec.root is None:
        raise ConfigError(
            f"{spec.dataset}: set `root` (--root of `evenhand show`) to a folder made by `evenhand build unified --out "
            "data/unified`"
        )
    if not spec.root.is_dir() or not any(spec.root.iterdir()):
        raise DataError(
            f"{spec.root}: is empty or no folder; build it with `evenhand build unified --out {spec.root}` (with "
            "--test-only for the test split alone), or set `root`"
        )
    return spec.root


SOURCES: dict[str, Callable[[DatasetSpec], Iterator[Item]]] = {
    "pocket": pocket_source,
    "unified": whole_source,
    **dict.fromkeys(DATASETS, unified_source),
    "aio-context": aio_context_source,
    "aio": aio_source,
}

# Held out for good: no training run may read them, whatever its config says.
EVALUATION_ONLY = frozenset({"aio", *(dataset.name for dataset in DATASETS.values() if dataset.evaluation_only)})


def load_items(specs: Sequence[DatasetSpec]) -> list[Item]:
    """The items of all specs in order. Raises DataError for an empty dataset, fewer than n_items, or a repeated id."""
    items: list[Item] = []
    for spec in specs:
        n, seed = spec.n_items, spec.draw_seed
        found = list(islice(SOURCES[spec.dataset](spec), n if seed is None else None))
        if not found:
            raise DataError(f"{spec.dataset} ({spec.split}): no items; is {spec.root} the right folder?")
        if n is not None and len(found) < n:
            raise DataError(f"{spec.dataset} ({spec.split}): n_items is {n}, but there are {len(found)}")
        items += found if n is None or seed is None else drawn(found, n, f"{spec.dataset} {seed}")
    refuse_repeats((item.item_id for item in items), " and ".join(spec.dataset for spec in specs))
    return items


def refuse_leaks(items: Sequence[Item], specs: Sequence[DatasetSpec]) -> None:
    """Raises DataError naming both items when training items give away a test item of any dataset beside them.

    Test items are those under the same roots as they lie there now, and the published ids where that split is claimed.
    Then every table must be as it was built: a leak could hide behind a table that is gone.
    """
    for item in items:
        if item.dataset in EVALUATION_ONLY:
            raise DataError(f"training item '{item.item_id}' is of {item.dataset}, which is for evaluation only")
    roots = [root for root in dict.fromkeys(s.root for s in specs if s.dataset != "pocket") if root is not None]
    as_published = any(read_manifest(root)["split"]["kind"] == "published" for root in roots)
    published_too = HeldOut(())
    for name, ids in published_ids().items():
        if as_published or name in EVALUATION_ONLY:
            published_too.ids.update(ids)
    pocket_too = [pocket.pocket_items("test")] if any(spec.dataset == "pocket" for spec in specs) else []
    for held_out in (*map(held_out_of, roots), *map(HeldOut, pocket_too), published_too):
        held_out.refuse(items, "the train split")
    for root in roots:
        refuse_changed_tables(root)


def published_among(items: Iterable[Item]) -> int:
    """How many items are of the published test split: what a `resample` split trains on cannot be measured there."""
    published = {item_id for ids in published_ids().values() for item_id in ids}
    return sum(item.item_id in published for item in items)


def item_set_hash(items: Iterable[Item]) -> str:
    """The hash of some items; see unit_sets."""
    return set_hash({**asdict(item), "meta": dict(item.meta)} for item in items)

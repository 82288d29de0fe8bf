"""The datasets of the Unified Benchmark, from catalogue.yaml, each with its converter. A new one is a function and an
entry there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.files import shipped_yaml
from evenhand.sources.fetching import Origin
from studies.dialdefer import release
from studies.dialdefer.records import Item
from studies.dialdefer.unified import converters


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """One of the benchmark's datasets. `convert` reads the publisher's files in a folder, one record at a time."""

    name: str  # canonical: "halueval"
    convert: Callable[[Path], Iterator[Item]]
    origin: Origin
    licence: str
    not_passed_on: str = ""  # why copies may not be passed on; empty where they may
    citation: str
    n_total: int  # Table 8
    n_test: int  # Table 8; equal to n_total when the whole dataset is for evaluation
    stratum: str | None = None  # the key of Item.meta by which the test split is balanced; None: drawn from the whole
    folder: str  # under the raw folder

    @property
    def evaluation_only(self) -> bool:
        """True when no item may be trained on."""
        return self.n_test == self.n_total


def dataset_of(name: str, facts: dict[str, Any]) -> Dataset:
    """An entry of catalogue.yaml."""
    files: dict[str, Any] = {key: tuple(facts.pop(key, ())) for key in ("files", "also")}
    place = {key: facts.pop(key) for key in ("place", "revision", "sha256", "terms") if key in facts}
    convert = partial(release.conflicts, dataset=name) if name == "aio-context" else getattr(converters, name)
    origin, folder = Origin(**files, **place), facts.pop("folder", name)
    return Dataset(name=name, convert=convert, origin=origin, folder=folder, **facts)


DATASETS = {
    name: dataset_of(name, facts) for name, facts in shipped_yaml(Path(__file__).with_name("catalogue.yaml")).items()
}
NINE = tuple(DATASETS[name] for name in release.NAMES)
RELEASE, RELEASE_FOLDER = DATASETS["aio-context"].origin, DATASETS["aio-context"].folder


def list_text() -> str:
    """What the datasets are and what may be done with them, for a person to read before anything is fetched."""
    blocks = []
    for dataset in DATASETS.values():
        origin, why = dataset.origin, dataset.not_passed_on
        tested = "all for testing only" if dataset.evaluation_only else f"{dataset.n_test:,} of them for testing"
        newest = "as it is there now" if "://" in origin.place else "at its newest revision"
        blocks.append(
            f"{dataset.name}\n"
            f"  items    {dataset.n_total:,}, {tested}\n"
            f"  from     {origin.place}, {f'revision {origin.revision}' if origin.revision else newest}\n"
            f"  files    {', '.join(origin.files)}\n"
            f"  licence  {dataset.licence}; {f'copies may not be passed on: {why}' if why else 'may be passed on'}\n"
            f"  terms    {f'to be accepted first, at {origin.terms}' if origin.terms else 'none to accept'}\n"
            f"  cite     {dataset.citation}"
        )
    return "\n\n".join(blocks)

"""The datasets of the Unified Benchmark, from catalogue.yaml, each with its converter. A new one is a function and an
entry there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

from evenhand.files import shipped_yaml
from evenhand.sources.fetching import Origin
from studies.dialdefer import release
from studies.dialdefer.records import Item
from studies.dialdefer.unified import converters

WIDTH, INDENT = 100, 11  # columns of `--list`, and of the names in it


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
    convert = release.aio_context_items if name == "aio-context" else getattr(converters, name)
    origin, folder = Origin(**files, **place), facts.pop("folder", name)
    return Dataset(name=name, convert=convert, origin=origin, folder=folder, **facts)


DATASETS = {
    name: dataset_of(name, facts) for name, facts in shipped_yaml(Path(__file__).with_name("catalogue.yaml")).items()
}
NINE = tuple(dataset for name, dataset in DATASETS.items() if name != "aio-context")
RELEASE, RELEASE_FOLDER = DATASETS["aio-context"].origin, DATASETS["aio-context"].folder


def list_text() -> str:
    """What the datasets are and what may be done with them, for a person to read before anything is fetched."""
    blocks = []
    for dataset in DATASETS.values():
        origin, why = dataset.origin, dataset.not_passed_on
        tested = "all for testing only" if dataset.evaluation_only else f"{dataset.n_test:,} of them for testing"
        newest = "as it is there now" if "://" in origin.place else "at its newest revision"
        facts = {
            "items": f"{dataset.n_total:,}, {tested}",
            "from": f"{origin.place}, {f'revision {origin.revision}' if origin.revision else newest}",
            "files": ", ".join(origin.files),
            "licence": f"{dataset.licence}; {f'copies may not be passed on: {why}' if why else 'may be passed on'}",
            "terms": f"to be accepted first, at {origin.terms}" if origin.terms else "none to accept",
            "cite": dataset.citation,
        }
        # Addresses and paths are never broken, so that they can be copied.
        wrapper = TextWrapper(WIDTH, subsequent_indent=" " * INDENT, break_long_words=False, break_on_hyphens=False)
        lines = [dataset.name]
        for key, text in facts.items():
            wrapper.initial_indent = f"  {key}".ljust(INDENT)
            lines.append(wrapper.fill(text))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)

"""The datasets of the Unified Benchmark, from catalogue.yaml, each with its converter. A new one is a function and an
entry there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.files import shipped_yaml
from studies.dialdefer import release
from studies.dialdefer.records import Item
from studies.dialdefer.unified import converters
from studies.fetching import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """One of the benchmark's datasets. `convert` reads the publisher's files in a folder, one record at a time."""

    name: str  # canonical: "halueval"
    convert: Callable[[Path], Iterator[Item]]
    origin: Origin
    licence: str
    not_passed_on: str = ""  # why copies may not be passed on; empty where they may
    citation: str
    n_total: int  # Table 8, where it is the paper's
    n_test: int  # equal to n_total when the whole dataset is for evaluation
    stratum: str | None = None  # the key of Item.meta by which the test split is balanced; None: drawn from the whole
    folder: str  # under the raw folder
    paper_differs: str = ""  # where the paper's words and the data part
    differs_because: str = ""  # why released test items read otherwise than the publisher's

    @property
    def is_papers(self) -> bool:
        """Whether it is one of the paper's."""
        return self.name in (*release.NAMES, "aio-context")

    @property
    def evaluation_only(self) -> bool:
        """True when no item may be trained on."""
        return self.n_test == self.n_total


def dataset_of(name: str, facts: dict[str, Any]) -> Dataset:
    """An entry of catalogue.yaml."""
    files: dict[str, Any] = {key: tuple(facts.pop(key, ())) for key in ("files", "also")}
    place = {key: facts.pop(key) for key in ("place", "revision", "sha256", "terms") if key in facts}
    convert = partial(release.conflicts, dataset=name) if name == "aio-context" else getattr(converters, name)
    if name == "bbq":
        convert = partial(convert, names=[Path(file).name for file in files["files"]])
    origin, folder = Origin(**files, **place), facts.pop("folder", name)
    return Dataset(name=name, convert=convert, origin=origin, folder=folder, **facts)


ENTRIES = shipped_yaml(Path(__file__).with_name("catalogue.yaml"))
DATASETS = {name: dataset_of(name, facts) for name, facts in ENTRIES.items()}
NINE = tuple(DATASETS[name] for name in release.NAMES)
RELEASE, RELEASE_FOLDER = DATASETS["aio-context"].origin, DATASETS["aio-context"].folder

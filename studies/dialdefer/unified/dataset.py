"""What a converter's file declares about its dataset: its files, what may be done with them, its split."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evenhand.sources.fetching import Origin
from studies.dialdefer.records import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """What the publisher permits."""

    name: str
    not_passed_on: str = ""  # why copies may not be passed on; empty where they may


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """One of the benchmark's datasets. `convert` reads the publisher's files in a folder, one record at a time."""

    name: str  # canonical: "halueval"
    convert: Callable[[Path], Iterator[Item]]
    origin: Origin
    licence: Licence
    citation: str
    n_total: int  # Table 8
    n_test: int  # Table 8; equal to n_total when the whole dataset is for evaluation
    stratum: str | None = None  # the key of Item.meta by which the test split is balanced; None: drawn from the whole
    folder: str = ""  # under the raw folder, where it is not the dataset's name

    @property
    def raw_name(self) -> str:
        """The folder of the publisher's files, under the raw folder."""
        return self.folder or self.name

    @property
    def evaluation_only(self) -> bool:
        """True when no item may be trained on."""
        return self.n_test == self.n_total

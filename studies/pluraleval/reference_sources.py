"""Which reference sets a config names: those known of our own threads, or those of a built folder."""

from pathlib import Path
from typing import ClassVar, Literal

from evenhand.errors import DataError
from studies.pluraleval.built_folder import REFERENCES_FILE, read_built
from studies.pluraleval.pocket import pocket_references
from studies.pluraleval.records import ReferenceSet
from studies.pluraleval.rows import reference_of
from studies.pluraleval.thread_sets import OwnOrBuilt


class ReferenceSpec(OwnOrBuilt):
    """Reference sets as a config names them."""

    dataset: Literal["pocket-threads", "built"] = "built"  # pocket-threads: those known of our own threads
    root: Path | None = None  # what `evenhand build references` made; null for `pocket-threads`

    folder: ClassVar[str] = "a folder of reference sets"


def load_references(spec: ReferenceSpec) -> list[ReferenceSet]:
    """The reference sets in the folder's order. Raises DataError for none."""
    found = pocket_references() if spec.root is None else list(read_built(spec.root, REFERENCES_FILE, reference_of))
    if not found:
        raise DataError(f"{spec.root}: holds no reference set; build it of a run with threads")
    return found

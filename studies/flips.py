"""Flips that one study found in its verdicts, as a folder that another study can ask about.

A flip is one claim that was decided differently in two framings of one judge, or before and after it was trained. The
folder has flips.jsonl and, written last, manifest.json, which also names the items that were looked through.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from studies.built_folder import file_hash, read_rows, write_rows

KIND = "flips"  # what `evenhand build` calls it
FLIPS_FILE = "flips.jsonl"
LENIENT, STRICT = "deference", "skepticism"  # directions, as tables call them: the second verdict accepts, or rejects


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipSide:
    """One of the two verdicts."""

    put_as: str  # how the claim was put, in words: "a bare statement"
    accepts: bool
    reason: str  # what the judge wrote about it; "" where it wrote nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """One claim about one item, decided differently the second time."""

    model: str  # whose flip it is, as tables call it
    dataset: str
    item_id: str
    question: str  # "" where it is not known, as of verdicts from files without their items
    claim: str
    claim_is_true: bool
    is_withheld: bool  # whether its authors ask that no text of the item be shown
    first: FlipSide
    second: FlipSide

    @property
    def flip_id(self) -> str:
        """Unique in a folder."""
        return f"{self.model}: {self.item_id}, {'true' if self.claim_is_true else 'false'} claim"

    @property
    def direction(self) -> str:
        """LENIENT where the second verdict accepts, else STRICT: of losses deference and skepticism."""
        return LENIENT if self.second.accepts else STRICT

    @property
    def is_loss(self) -> bool:
        """Whether the second verdict is the wrong one."""
        return self.second.accepts != self.claim_is_true


def write_flips(out: Path, flips: Iterable[Flip], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Write the folder and return its manifest."""
    return write_rows(out, FLIPS_FILE, map(asdict, flips), KIND, facts)


def flips_hash(root: Path) -> str:
    """16 hex digits over a folder's flips, as its manifest names them."""
    return file_hash(root, KIND, FLIPS_FILE)[:16]


def read_flips(root: Path) -> list[Flip]:
    """The flips of a folder. Raises DataError naming what is damaged."""
    rows = read_rows(root, KIND, FLIPS_FILE, dict)
    return [Flip(**{**row, **{name: FlipSide(**row[name]) for name in ("first", "second")}}) for row in rows]

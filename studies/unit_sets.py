"""What the units of a dataset have in common, whichever study's: drawing some, ids that differ, a hash over all."""

import hashlib
import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

from evenhand.errors import DataError
from evenhand.records import digest

T = TypeVar("T")


def drawn(units: Sequence[T], n: int, seed: str) -> list[T]:
    """n of the units, drawn without replacement, in their own order."""
    chosen = random.Random(seed).sample(range(len(units)), n)
    return [units[index] for index in sorted(chosen)]


def refuse_repeats(ids: Iterable[str], dataset: str) -> None:
    """Raises DataError when two units share an id: their answers could not be told apart."""
    seen: set[str] = set()
    for unit_id in ids:
        if unit_id in seen:
            raise DataError(
                f"{dataset}: the id '{unit_id}' occurs twice; is a dataset listed twice? Else fetch and build it anew"
            )
        seen.add(unit_id)


def set_hash(contents: Iterable[object]) -> str:
    """16 hex digits over every unit's content, so that a run notices when its data has changed under it."""
    total = hashlib.sha256()
    for content in contents:
        total.update(digest(content).encode())
    return total.hexdigest()[:16]

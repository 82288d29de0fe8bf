"""The plan of a DialDefer run, read back."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.run_directory import PLAN_FILE, read_plan_lines
from studies.dialdefer.records import Condition, Factors


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One line of plan.jsonl: which item and condition a prompt hash stands for. Arms may share a hash."""

    prompt_hash: str
    item_id: str
    benchmark: str
    dataset: str
    condition: Condition
    factors: Factors


def read_plan(path: Path) -> list[Planned]:
    """Every planned prompt of a run. Raises DataError naming a damaged line, or a folder that is no DialDefer run."""
    return [planned_from(record, f"{path / PLAN_FILE}:{n}") for n, record in enumerate(read_plan_lines(path), start=1)]


def planned_from(record: Mapping[str, Any], place: str) -> Planned:
    """A line of a plan as a record. Raises DataError when it is none."""
    try:
        condition, factors = Condition(record["condition"]), Factors(**record["factors"])
        own = {key: record[key] for key in ("prompt_hash", "item_id", "benchmark", "dataset")}
        return Planned(**own, condition=condition, factors=factors)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{place}: is no prompt of DialDefer ({error}): the run is of another study (`evenhand score` tells), or "
            "damaged"
        ) from None

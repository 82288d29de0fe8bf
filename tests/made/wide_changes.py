"""The rows of compare.json as one a dataset, with every measure as columns, for tests that read several at once."""

from collections.abc import Sequence
from typing import Any

SHARED = ("first", "second", "arm", "roles", "variant", "c1_source", "dataset", "n_errors", "p")
Row = dict[str, Any]


def wide_changes(rows: Sequence[Row]) -> list[Row]:
    """base_<measure>, after_<measure> and change_<measure>, the latter two with _ci_low and _ci_high."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in SHARED[:-2])
        of = found.setdefault(key, {**{name: row[name] for name in SHARED}, "n_items": row["n_units"]})
        end = "_pp" if row["unit"] == "pp" else ""
        of[f"base_{row['measure']}{end}"] = row["before"]
        for side in ("after", "change"):
            unit = "_pp" if side == "change" else end
            of[f"{side}_{row['measure']}{unit}"] = row[side]
            of |= {f"{side}_{row['measure']}_ci_{e}{unit}": row[f"{side}_{e}"] for e in ("low", "high")}
    return list(found.values())

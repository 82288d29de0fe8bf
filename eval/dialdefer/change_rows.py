"""Changes → what a table shows of them: all measures of one dataset or average in one setting beside each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.dialdefer.dds import is_over_corrected
from eval.estimates.changes import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """What changed on one dataset or average in one setting."""

    dataset: str
    datasets: tuple[str, ...]
    arm: str
    roles: str
    variant: str
    c1_source: str  # "own", or "fixed": the after model's C2 against the base model's C1
    by_measure: Mapping[str, Change]

    def __getitem__(self, measure: str) -> Change:
        """One of observe.CHANGED by name."""
        return self.by_measure[measure]

    @property
    def n_items(self) -> int:
        """How many items both sides are over."""
        return self["dds"].change.n_units

    @property
    def over_corrected(self) -> bool:
        """Whether DDS was positive before and is negative after."""
        return over_corrected(self["dds"])


def over_corrected(dds: Change) -> bool:
    """Of a change in DDS: whether it was positive before and is negative after."""
    before, after = dds.before.value, dds.after.value
    return before is not None and after is not None and is_over_corrected(before, after)


def change_rows(changes: Sequence[Change]) -> list[ChangeRow]:
    """The changes of some comparisons as rows, in their order."""
    of_row: dict[tuple[Any, ...], dict[str, Change]] = {}
    for change in changes:
        key = (change.first, change.second, tuple(change.setting.items()), change.dataset)
        of_row.setdefault(key, {})[change.measure] = change
    return [change_row(of) for of in of_row.values()]


def change_row(by_measure: Mapping[str, Change]) -> ChangeRow:
    """The row of some measures of one dataset in one setting."""
    first = next(iter(by_measure.values()))
    setting = {key: str(first.setting[key]) for key in ("arm", "roles", "variant", "c1_source")}
    return ChangeRow(dataset=first.dataset, datasets=first.datasets, **setting, by_measure=by_measure)

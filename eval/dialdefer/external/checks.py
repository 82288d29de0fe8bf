"""What is refused of verdicts whose rows are right one by one: repeats, two labels for an item, unequal items."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.external.columns import NO_LABEL, CodedRows
from eval.dialdefer.external.spellings import ARM_NONE, LABELS
from eval.dialdefer.panels import Judge, Panel, named
from eval.verdict_files import place
from evenhand.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The items of all rows, an item of each dataset for itself, numbered in the order of their ids."""

    ids: Sequence[str]  # as they were spelt first
    of_row: NDArray[np.int64]


def where(rows: CodedRows, row: int) -> str:
    """File and line of a row."""
    return place(rows.paths[rows.files[row]], int(rows.lines[row]))


def refuse_repeats(rows: CodedRows, items: Items, groups: NDArray[np.int64]) -> None:
    """Raises DataError when two rows are about one key. groups: a number for each row's model, dataset, arm and roles.

    Neither row is better than the other, also where they agree: an average over them is of another size.
    """
    keys = (groups * len(items.ids) + items.of_row) * len(rows.names["condition"]) + rows.codes["condition"]
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if not len(again):
        return
    second = order[again + 1]
    first_met = int(np.argmin(second))
    row, before = int(second[first_met]), int(order[again][first_met])
    key = {column: rows.names[column][codes[row]] for column, codes in rows.codes.items()}
    repeated = [items.ids[item] for item in dict.fromkeys(items.of_row[np.sort(second)].tolist())]
    raise DataError(
        f"{where(rows, row)}: is a second verdict of model '{key['model']}', {key['dataset']}, "
        f"item '{key['item_id']}', {key['condition']}, arm {key['arm']}, roles {key['roles']}; the first is at "
        f"{where(rows, before)}. {named(repeated)} more than one row for a key; keep one"
    )


def refuse_other_labels(rows: CodedRows, items: Items) -> None:
    """Raises DataError when an r/AIO item is labelled OR in one row and NOR in another."""
    labelled = np.flatnonzero(rows.labels != NO_LABEL)
    first = np.full(len(items.ids), -1)
    first[items.of_row[labelled[::-1]]] = labelled[::-1]  # the last to be written is the first row
    other = labelled[rows.labels[labelled] != rows.labels[first[items.of_row[labelled]]]]
    if len(other):
        row, before = int(other[0]), int(first[items.of_row[other[0]]])
        ids = [items.ids[item] for item in dict.fromkeys(items.of_row[other].tolist())]
        raise DataError(
            f"{where(rows, row)}: item '{items.ids[items.of_row[row]]}' is labelled {LABELS[rows.labels[row]]}, but "
            f"{LABELS[rows.labels[before]]} at {where(rows, before)}. {named(ids)} two labels; the label is the "
            "community's verdict on the original poster, whatever was asked"
        )


def refuse_unequal(judge: Judge) -> None:
    """Raises DataError when two arms of a dataset are not over the same items, naming those that one lacks."""
    references: dict[tuple[str, str], Panel] = {}
    for panel in sorted(judge.panels, key=lambda p: p.factors.arm != ARM_NONE):
        reference = references.setdefault((panel.dataset, panel.roles), panel)
        for one, other in ((panel, reference), (reference, panel)):
            lacking = sorted(set(one.item_ids) - set(other.item_ids))
            if lacking:
                sides = f"verdicts in arm {one.factors.arm} and none in arm {other.factors.arm}"
                name = f"model '{judge.model}', {panel.dataset}, roles {panel.roles}"
                raise DataError(f"{name}: {named(lacking)} {sides}; both need the same items, or no shift is measured")


def unscorable(judge: Judge) -> dict[int, str]:
    """Place in judge.panels → why no shift can be scored there: an arm without dialogues, or without statements to hold
    them against, its own or those of arm `none`.

    Arm `none` may have statements only, if another arm has the dialogues.
    """
    found: dict[int, str] = {}
    for index, panel in enumerate(judge.panels):
        beside = [p for p in judge.panels if (p.dataset, p.roles) == (panel.dataset, panel.roles)]
        if not panel.has_c2:
            lacks = "c2_correct and c2_incorrect"
            is_fine = panel.factors.arm == ARM_NONE and any(p.has_c2 for p in beside)
        else:
            lacks = "c1_true and c1_false, nor has arm none"
            is_fine = panel.has_c1 or any(p.has_c1 and p.factors.arm == ARM_NONE for p in beside)
        if not is_fine:
            arm = f"model '{judge.model}', {panel.dataset}, arm {panel.factors.arm}, roles {panel.roles}"
            found[index] = f"{arm}: {named(panel.item_ids)} no verdicts for {lacks}; there is no shift to score"
    return found

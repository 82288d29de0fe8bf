"""Coded rows → judges with panels, by array operations alone."""

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.external.checks import Items
from eval.dialdefer.external.columns import NO_LABEL, CodedRows
from eval.dialdefer.external.spellings import AIO_DATASETS, ARM_NONE, LABELS, MAIN_ROLES, item_key, own_id
from eval.dialdefer.measures import ABSENT, CONDITIONS
from eval.dialdefer.panels import Judge, Panel, refuse_holes
from studies.dialdefer.records import Condition, Factors
from studies.dialdefer.render import own_labels

EXTERNAL = "external"  # the template of what was not asked by us
GROUP_COLUMNS = ("model", "dataset", "arm", "roles")
OWN_BENCHMARKS = ("pocket",)  # datasets that are a benchmark of their own; all others are DialDefer's


def items_of(rows: CodedRows) -> Items:
    """The items of the rows. Spellings of one id (see spellings.item_key) are one item, called as runs call it."""
    datasets, given = rows.names["dataset"], rows.names["item_id"]
    pairs, of_row = np.unique(
        rows.codes["dataset"].astype(np.int64) * len(given) + rows.codes["item_id"], return_inverse=True
    )
    number_of: dict[tuple[int, str], int] = {}
    ids: list[str] = []
    number_of_pair = np.empty(len(pairs), dtype=np.int64)
    for pair, code in enumerate(pairs.tolist()):
        dataset, item = divmod(code, len(given))
        key = dataset, item_key(datasets[dataset], given[item])
        if key not in number_of:
            number_of[key] = len(ids)
            ids.append(own_id(datasets[dataset], given[item]))
        number_of_pair[pair] = number_of[key]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    return Items([ids[i] for i in order], rank[number_of_pair[of_row]])


def groups_of(rows: CodedRows) -> NDArray[np.int64]:
    """A number for each row's model, dataset, arm and roles."""
    groups = np.zeros(len(rows.lines), dtype=np.int64)
    for column in GROUP_COLUMNS:
        groups = groups * len(rows.names[column]) + rows.codes[column]
    return groups


def judges_of(rows: CodedRows, items: Items, groups: NDArray[np.int64]) -> list[Judge]:
    """A judge for each model. Models and datasets keep their order; what was asked first in a run comes first here.

    That is the main roles, and in them the untreated arm.
    """
    label_of = np.full(len(items.ids), NO_LABEL, dtype=np.int8)
    label_of[items.of_row[rows.labels != NO_LABEL]] = rows.labels[rows.labels != NO_LABEL]
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(counts)[:-1])
    keys = [tuple(rows.names[c][rows.codes[c][row]] for c in GROUP_COLUMNS) for row in first.tolist()]
    # Stable, and groups are in order of their codes: those are numbered by first appearance.
    order = sorted(range(len(keys)), key=lambda g: (keys[g][3] != MAIN_ROLES, keys[g][2] != ARM_NONE))
    panels: dict[str, list[Panel]] = {name: [] for name in rows.names["model"]}
    labels: dict[str, dict[str, str]] = {name: {} for name in panels}
    for group in order:
        model, dataset, arm, roles = keys[group]
        numbers, panel = panel_of_rows(rows, items, members[group], dataset, arm, roles)
        refuse_holes(f"model '{model}', {dataset}, arm {arm}, roles {roles}", panel.item_ids, panel.replies)
        panels[model].append(panel)
        if dataset in AIO_DATASETS:
            known = numbers[label_of[numbers] != NO_LABEL].tolist()
            labels[model].update((items.ids[i], LABELS[label_of[i]]) for i in known)
    return [
        Judge(name=model, model=model, panels=tuple(of_model), labels=labels[model])
        for model, of_model in panels.items()
    ]


def panel_of_rows(
    rows: CodedRows, items: Items, members: NDArray[np.intp], dataset: str, arm: str, roles: str
) -> tuple[NDArray[np.int64], Panel]:
    """(numbers of its items, the panel) of the rows of one group."""
    numbers, position = np.unique(items.of_row[members], return_inverse=True)
    column_of = np.array([CONDITIONS.index(Condition(name)) for name in rows.names["condition"]])
    columns = column_of[rows.codes["condition"][members]]
    shape = (len(numbers), len(CONDITIONS), 1)
    replies = np.full(shape, ABSENT, dtype=np.int8)
    replies[position, columns, 0] = rows.replies[members]
    unread = {parser: np.zeros(shape, dtype=np.bool_) for parser in rows.unread}
    for parser, mask in unread.items():
        mask[position, columns, 0] = rows.unread[parser][members]
    panel = Panel(
        benchmark=dataset if dataset in OWN_BENCHMARKS else "dialdefer",
        dataset=dataset,
        factors=factors_of(dataset, arm, roles),
        item_ids=tuple(items.ids[number] for number in numbers.tolist()),
        replies=replies,
        unread=unread,
        margins=np.broadcast_to(np.nan, shape),  # takes no memory: nobody has given any
        hashes=np.broadcast_to(np.array("", dtype="<U16"), shape[:2]),
    )
    return numbers, panel


def factors_of(dataset: str, arm: str, roles: str) -> Factors:
    """What a run's factors would be: only r/AIO's name the main roles, and each arm has its own speaker labels."""
    speaker1, speaker2 = own_labels(dataset, arm)
    named = dataset in AIO_DATASETS or roles != MAIN_ROLES
    return Factors(arm=arm, roles=roles if named else "", template=EXTERNAL, speaker1=speaker1, speaker2=speaker2)

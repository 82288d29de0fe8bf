"""The CSV file that people fill in: written for them, and read back."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.report.tables import csv_text
from eval.runs import check_named_once
from evenhand.data_files import rows
from evenhand.errors import DataError
from studies.annotation.tasks import Item, Task

COLUMNS = ("task", "item", "label", "annotator")
LONGEST_CELL = 32_000  # characters; spreadsheets cut a cell at 32,767
Labels = dict[tuple[str, str], dict[str, str]]  # (task, person) → item id → answer


def sheet(task: Task, items: Sequence[Item]) -> str:
    """The CSV file: a row an item, with its texts. `label` and `annotator` are empty; it lacks the judge's answer."""
    headings = [heading for heading, _ in items[0].texts]
    lines = ([task.name, i.item_id, *(text[:LONGEST_CELL] for _, text in i.texts), "", ""] for i in items)
    return csv_text([[*COLUMNS[:2], *headings, *COLUMNS[2:]], *lines])


def read_labels(paths: Sequence[Path], tasks: Mapping[str, Task]) -> Labels:
    """Each person's labels of each task. A person who left `annotator` empty is called by the file's name.

    tasks: by name. Raises DataError for a copy of another file, an item of another run, or a label that is no answer.
    """
    check_named_once(paths)
    item_ids = {(name, item.item_id) for name, task in tasks.items() for item in task.items}
    labels: Labels = {}
    for path in paths:
        for record in rows(path):
            task, item, label, annotator = (str(record.values.get(name) or "").strip() for name in COLUMNS)
            if (task, item) not in item_ids:
                raise DataError(f"{record.where}: is of no item of this run, or of this run before it changed")
            if not label:
                continue
            if label not in tasks[task].answers:
                raise DataError(f"{record.where}: label '{label}': answers are {', '.join(tasks[task].answers)}")
            of_person = labels.setdefault((task, annotator or path.stem), {})
            if item in of_person:
                raise DataError(
                    f"{record.where}: {annotator or path.stem} has labelled this item before; tell people apart in the "
                    "column `annotator`"
                )
            of_person[item] = label
    return labels

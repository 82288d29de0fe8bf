"""The CSV file that people fill in: written for them, and read back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.annotation.tasks import Item, Task
from eval.report.tables import csv_text
from eval.runs import check_named_once, is_verdict_file
from eval.verdict_files import Column, Layout, read_frames
from evenhand.errors import DataError

LAYOUT = Layout(
    columns={
        "task": Column(str, is_required=True),
        "run_digest": Column(str, is_required=True),
        "item": Column(str, is_required=True),
        "label": Column(str, is_required=True, default=""),
        "annotator": Column(str, default=""),
    }
)
LONGEST_CELL = 32_000  # characters; spreadsheets cut a cell at 32,767


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """One person's labels of one task."""

    annotator: str
    task: Task
    n_rows: int  # labelled or not
    answers: Mapping[str, str]  # item id → answer


def sheet(task: Task, items: Sequence[Item]) -> str:
    """The CSV file: a row an item, with its texts. `label` and `annotator` are empty; it lacks the judge's answer."""
    headings = [heading for heading, _ in items[0].texts]
    rows = (
        [task.name, task.digest, item.item_id, *(text[:LONGEST_CELL] for _, text in item.texts), "", ""]
        for item in items
    )
    return csv_text([["task", "run_digest", "item", *headings, "label", "annotator"], *rows])


def read_labels(paths: Sequence[Path], tasks: Mapping[str, Task]) -> list[Labels]:
    """Each person's labels of each task. A person who left `annotator` empty is called by the file's name.

    tasks: by name. Raises DataError for a copy of another file, a row of another run, or a label that is no answer.
    """
    check_named_once(paths)
    digests = {name: task.digest for name, task in tasks.items()}
    items = {name: task.by_id() for name, task in tasks.items()}
    people: dict[tuple[str, str], dict[str, str]] = {}
    for path in paths:
        if not is_verdict_file(path):
            raise DataError(
                f"{path}: is no .csv file; name the one that `evenhand annotate RUN --out` wrote, filled in"
            )
        for frame, _ in read_frames(path, LAYOUT):
            for where, task, run_digest, item, label, annotator in frame.itertuples():
                person = annotator or path.stem
                if run_digest != digests.get(task):
                    raise DataError(f"{where}: is of task '{task}' of another run, or of this run before it changed")
                if item not in items[task] or label not in ("", *tasks[task].answers):
                    raise DataError(
                        f"{where}: '{label}' is no answer to an item of this run; "
                        f"answers are {', '.join(tasks[task].answers)}"
                    )
                labels = people.setdefault((task, person), {})
                if item in labels:
                    raise DataError(
                        f"{where}: {person} has labelled this item before; fill in `annotator` where several people "
                        "have labelled"
                    )
                labels[item] = label
    return [
        Labels(annotator=person, task=tasks[task], n_rows=len(labels), answers=answers)
        for (task, person), labels in people.items()
        if (answers := {item: label for item, label in labels.items() if label})
    ]

"""Questions to people made for a test, and files of their labels."""

import io
from collections import Counter

import pandas as pd

from studies.annotation.labels import sheet
from studies.annotation.tasks import Item, Task, draw_items


def item(number, judge, unit=None):
    """A question with texts of its own, of a unit of its own unless a unit is named."""
    return Item(unit=unit or f"unit {number}", texts=(("Text", f"text {number}"),), judge=judge)


def task(items, answers=("yes", "no"), **keys):
    """Questions of yes and no, unless other answers are named."""
    settled = {"in_run": Counter(item.judge for item in items), "run": "made-run", "judge": "judge"}
    return Task(name="made", question="Yes?", guide="", answers=answers, items=items, **{**settled, **keys})


def whole(task):
    """All items of a task, drawn."""
    return draw_items(task, len(task.items), 0)


def label_file(path, made, label_of, annotator="", **cells):
    """The sheet of all items as a person fills it in; cells: of every row, instead of what belongs there."""
    items = {item.item_id: item for item in whole(made)}
    frame = pd.read_csv(io.StringIO(sheet(made, list(items.values()))), dtype=str, keep_default_na=False)
    labels = [label_of(items[name]) for name in frame["item"]]
    frame = frame.assign(label=labels, annotator=annotator, **cells)
    frame.to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n")  # as spreadsheets write it
    return path

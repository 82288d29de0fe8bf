"""Questions to people made for a test, and files of their labels."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eval.annotation.command import page_data
from eval.annotation.tasks import SIDES, Draw, Item, Task, drawn


def item(number: int, judge: str, unit: str | None = None) -> Item:
    """A question with texts of its own, of a unit of its own unless told otherwise."""
    return Item(unit=unit or f"unit {number}", texts=(("Text", f"text {number}"),), judge=judge)


def task(items: Sequence[Item], answers: tuple[str, ...] = ("yes", "no"), **keys: Any) -> Task:
    """Questions of yes and no, unless other answers are named."""
    settled: dict[str, Any] = {"in_run": Counter(one.judge for one in items), "runs": ("made-run",), "judge": "judge"}
    return Task(name="made", question="Yes?", guide="", answers=answers, items=items, **{**settled, **keys})


def comparison(n_units: int) -> Task:
    """Two runs side by side; the first one's text says so."""
    sides = (("Left", "of first"), ("Right", "of second"))
    items = [Item(unit=f"unit {n}", texts=(("Post", f"post {n}"), *sides), judge=SIDES[0]) for n in range(n_units)]
    return task(items, SIDES, in_run={}, runs=("first", "second"), is_comparison=True)


def label_file(path: Path, draw: Draw, says: Callable[[Item], str], annotator: str = "", **changes: Any) -> Path:
    """What the page exports when a person says something of every item; changes: of the file's keys."""
    labels = {one.item_id: says(one) for one in draw.items}
    content = {**page_data(draw)["made_from"], "annotator": annotator, "labels": labels, **changes}
    path.write_text(json.dumps(content))
    return path


def whole(of: Task) -> Draw:
    """All items of a task, drawn."""
    return drawn(of, len(of.items), 0)

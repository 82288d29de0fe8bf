"""Files of labels, as the page exports them. Labels of another run, or of other items, are refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

from pydantic import Field

from eval.annotation.tasks import Draw, Task, drawn
from evenhand.config import Closed, parse_config
from evenhand.errors import DataError
from evenhand.run_directory import read_json

FORMAT: Literal[1] = 1


class LabelFile(Closed):
    """What a file holds."""

    format: Literal[1]
    runs: tuple[str, ...]  # names of the run directories
    what: str  # the task
    n: int = Field(ge=1)  # of items that were wanted
    seed: int
    digest: str  # of the draw
    annotator: str
    labels: dict[str, str]  # item id → answer; an item without one is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """One person's labels of a draw."""

    annotator: str
    draw: Draw
    answers: Mapping[str, str]  # item id → answer


def read_labels(paths: Sequence[Path], tasks: Sequence[Task]) -> list[Labels]:
    """The labels of each file. Raises DataError for a file that is none, a copy, or not of these tasks."""
    files = {path: parse_config(LabelFile, read_json(path), str(path)) for path in paths}
    if len(files) < len(paths):
        raise DataError(f"{', '.join(map(str, paths))}: a file is named twice; name each once")
    for (path, file), (other, same) in combinations(files.items(), 2):
        if file == same:
            raise DataError(
                f"{other}: holds the same labels under the same name as {path}, and a copy is not a second person; "
                "leave it out, or, where two people agree on every item, write each one's `annotator` into the files"
            )
    names = [(file.what, file.annotator.strip() or path.stem) for path, file in files.items()]
    return [
        Labels(
            annotator=name[1] if names.count(name) == 1 else str(path),
            draw=draw_of(file, tasks, path),
            answers=file.labels,
        )
        for name, (path, file) in zip(names, files.items(), strict=True)
    ]


def draw_of(file: LabelFile, tasks: Sequence[Task], path: Path) -> Draw:
    """The draw that a file's labels are of, drawn again. Raises DataError where it is not the one that was labelled."""
    runs = " and ".join(tasks[0].runs)
    task = next((task for task in tasks if task.name == file.what), None)
    draw = None if task is None else drawn(task, file.n, file.seed)
    if draw is None or draw.digest != file.digest:
        raise DataError(
            f"{path}: holds labels of '{file.what}' made from {' and '.join(file.runs)}. They do not go with {runs}: "
            "that is another run, or has changed since. Score them with what the page was made from, as it was then"
        )
    known = {item.item_id for item in draw.items}
    for item_id, answer in file.labels.items():
        if item_id not in known or answer not in draw.task.answers:
            raise DataError(
                f"{path}: labels.{item_id}: '{answer}' is no answer to an item of the page (answers are "
                f"{', '.join(draw.task.answers)}); the file was changed: export it again from the page"
            )
    if not file.labels:
        raise DataError(f"{path}: holds no label yet; label items on the page and export it again")
    return draw

"""`evenhand annotate RUN`: a page on which people label what the judge said, and how well it agrees with them."""

import argparse
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.annotation.tasks import Draw, Labels, Task, annotated_study, drawn
from eval.options import positive
from evenhand.config import Closed, did_you_mean, parse_config
from evenhand.errors import DataError
from evenhand.files import write_whole
from evenhand.registry import STUDIES, load_part
from evenhand.run_directory import read_json
from evenhand.terminal import say


class LabelFile(Closed):
    """What a file holds."""

    format: Literal[1]
    runs: tuple[str, ...]  # names of the run directories
    what: str  # the task
    n: int = Field(ge=1)  # of items that were wanted
    seed: int
    digest: str  # of the draw
    annotator: str
    labels: dict[str, str] = Field(min_length=1)  # item id → answer; an item without one is left out


def main(argv: Sequence[str]) -> None:
    """`evenhand annotate RUN --out page.html`, then `evenhand annotate RUN --labels FILE...`."""
    options = annotate_options(argv)
    study = annotated_study(options.runs[0])
    tasks = [task for task in load_part(study, STUDIES[study].annotation)(options.runs) if task.items]
    if not tasks:
        raise DataError(f"{', '.join(map(str, options.runs))}: holds nothing that people could label")
    if options.labels:
        from eval.annotation.agreement import agreement_text, scores_of  # load pandas, which --help does without
        from eval.report.tables import write_long

        labels = read_labels(options.labels, tasks)
        scores = scores_of(labels)
        say(agreement_text(labels, scores))
        files = write_long(options.out or options.runs[0] / "agreement", "agreement", {study: scores})
        say("\nwritten: " + ", ".join(map(str, files)))
        return
    named = {task.name: task for task in tasks}
    if options.what and options.what not in named:
        raise DataError(f"--what {options.what}: {did_you_mean(options.what, list(named))}")
    draw = drawn(named[options.what or tasks[0].name], options.n, options.seed)
    write_whole(options.out, page_html(draw))
    say(f"{options.out}: {len(draw.items)} items of {len({i.unit for i in draw.items})} units. {draw.task.question}")
    say("Open it in a browser and export the labels; score them with --labels.")


def page_html(draw: Draw) -> str:
    """The page. Only its script, which the policy names, runs; texts of others are data to it."""
    from eval.report.page import TEMPLATES

    return TEMPLATES.get_template("annotation.html").render(task=draw.task, digest=draw.digest, data=page_data(draw))


def page_data(draw: Draw) -> dict[str, Any]:
    """What the page's script reads. Of an item it is what is shown; the judge's answer is not in it."""
    from eval.report.page import bounded

    task, asked = draw.task, {"n": draw.n, "seed": draw.seed, "digest": draw.digest}
    return {
        "made_from": {"format": 1, "runs": task.runs, "what": task.name, **asked},
        "answers": task.answers,
        "is_comparison": task.is_comparison,
        "items": [{"id": i.item_id, "texts": [(head, bounded(text)) for head, text in i.texts]} for i in draw.items],
    }


def read_labels(paths: Sequence[Path], tasks: Sequence[Task]) -> list[Labels]:
    """The labels of each file. Raises DataError for a file that is none, a copy, or not of these tasks."""
    files = [parse_config(LabelFile, read_json(path), str(path)) for path in paths]
    for (path, file), (other, same) in combinations(zip(paths, files, strict=True), 2):
        if file == same:
            raise DataError(
                f"{other}: holds the same labels under the same name as {path}, and a copy is not a second person; "
                "leave it out, or, where two people agree on every item, write each one's `annotator` into the files"
            )
    names = [(file.what, file.annotator.strip() or path.stem) for path, file in zip(paths, files, strict=True)]
    return [
        Labels(name[1] if names.count(name) == 1 else str(path), draw_of(file, tasks, path), file.labels)
        for path, file, name in zip(paths, files, names, strict=True)
    ]


def draw_of(file: LabelFile, tasks: Sequence[Task], path: Path) -> Draw:
    """The draw that a file's labels are of, drawn again. Raises DataError where it is not the one that was labelled."""
    draw = next((drawn(task, file.n, file.seed) for task in tasks if task.name == file.what), None)
    if draw is None or draw.digest != file.digest:
        raise DataError(
            f"{path}: holds labels of '{file.what}' made from {' and '.join(file.runs)}. They do not go with "
            f"{' and '.join(tasks[0].runs)}: that is another run, or has changed since; name that run as it was"
        )
    known = {item.item_id for item in draw.items}
    for item_id, answer in file.labels.items():
        if item_id not in known or answer not in draw.task.answers:
            raise DataError(
                f"{path}: labels.{item_id}: '{answer}' is not an answer to an item of the page (answers are "
                f"{', '.join(draw.task.answers)}); export the file again from the page"
            )
    return draw


def annotate_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand annotate`."""
    parser = argparse.ArgumentParser(
        prog="evenhand annotate",
        description="A static page on which a person labels by keyboard what a judge said, without seeing what it "
        "said; and, with --labels, how well the judge agrees with the labels.",
    )
    add = parser.add_argument
    add("runs", nargs="+", type=Path, metavar="RUN", help="a finished run or built folder; two stand side by side")
    add("--labels", nargs="+", type=Path, metavar="FILE", help="score what pages of the run exported, a file a person")
    add("--out", type=Path, help="the page; with --labels the folder of agreement.json (default: RUN/agreement)")
    add("--what", help="what is labelled, where a run has several kinds (default: the first)")
    add("--n", type=positive, default=100, help="items on the page (default: 100)")
    add("--seed", type=int, default=0, help="seed of their draw (default: 0)")
    options = parser.parse_args(argv)
    if len(options.runs) > 2:
        parser.error("name one run, or two that are shown side by side")
    if not options.labels and not options.out:
        parser.error("--out PAGE.html is needed, or --labels FILE... to score labels")
    return options

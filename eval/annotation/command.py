"""`evenhand annotate RUN`: a page on which people label what the judge said, and how well it agrees with them."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from eval.annotation.agreement import scores_of
from eval.annotation.agreement_text import agreement_text
from eval.annotation.label_files import read_labels
from eval.annotation.page import page_html
from eval.annotation.tasks import Task, drawn
from eval.estimates.result_files import write_long
from eval.options import positive
from eval.study import annotated_study, annotation_of
from evenhand.config import did_you_mean
from evenhand.errors import DataError
from evenhand.jsonl import write_whole
from evenhand.terminal import say


def main(argv: Sequence[str]) -> None:
    """`evenhand annotate RUN --out page.html`, then `evenhand annotate RUN --labels FILE...`."""
    options = annotate_options(argv)
    if options.labels:
        score_labels(options)
    else:
        make_page(options)


def make_page(options: argparse.Namespace) -> None:
    """Write the page."""
    _, tasks = tasks_of(options.runs)
    task = tasks[0] if options.what is None else next((task for task in tasks if task.name == options.what), None)
    if task is None:
        raise DataError(f"--what {options.what}: {did_you_mean(options.what, [task.name for task in tasks])}")
    draw = drawn(task, options.n, options.seed)
    write_whole(options.out, page_html(draw))
    say(f"{options.out}: {len(draw.items)} items of {len({item.unit for item in draw.items})} units. {task.question}")
    say("Open it in a browser and export the labels; score them with --labels.")


def score_labels(options: argparse.Namespace) -> None:
    """Print how labels agree with the judge and with each other, and write agreement.json and agreement.csv."""
    study, tasks = tasks_of(options.runs)
    labels = read_labels(options.labels, tasks)
    scores = scores_of(labels)
    say(agreement_text(labels, scores))
    files = write_long(options.out or options.runs[0] / "agreement", "agreement", {study: scores})
    say("\nwritten: " + ", ".join(map(str, files)))


def tasks_of(paths: Sequence[Path]) -> tuple[str, Sequence[Task]]:
    """(the study, what can be labelled of its run or two runs). Raises DataError where there is nothing."""
    study = annotated_study(paths)
    tasks = [task for task in annotation_of(study).tasks(paths) if task.items]
    if not tasks:
        raise DataError(f"{', '.join(map(str, paths))}: holds nothing that people could label")
    return study, tasks


def annotate_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand annotate`."""
    parser = argparse.ArgumentParser(
        prog="evenhand annotate",
        description="A static page on which a person labels by keyboard what a judge said, without seeing what it "
        "said; and, with --labels, how well the judge agrees with the labels.",
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="a finished run or built folder; two are shown side by side"
    )
    parser.add_argument(
        "--labels",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="score what pages of the run exported, a file a person; the files say of what and of which draw",
    )
    parser.add_argument(
        "--out", type=Path, help="the page; with --labels the folder of agreement.json (default: RUN/agreement)"
    )
    parser.add_argument("--what", help="what is labelled, where a run has several kinds (default: the first)")
    parser.add_argument("--n", type=positive, default=100, help="items on the page (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="seed of their draw (default: 0)")
    options = parser.parse_args(argv)
    if len(options.runs) > 2:
        parser.error("name one run, or two that are shown side by side")
    if not options.labels and not options.out:
        parser.error("--out PAGE.html is needed, or --labels FILE... to score labels")
    return options

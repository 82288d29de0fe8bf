"""`evenhand annotate RUN`: a CSV file in which people label what the judge said, and how well it agrees with them."""

from collections.abc import Sequence

from eval.options import positive
from evenhand.config import did_you_mean
from evenhand.errors import DataError
from evenhand.files import write_whole
from evenhand.registry import STUDIES, load_part
from evenhand.terminal import command_parser, say


def main(argv: Sequence[str]) -> None:
    """Write a CSV file in which a person labels what a judge said, without seeing what it said; and, with --labels, how
    well the judge agrees with the labels."""
    parser = command_parser("annotate", main)
    parser.add_argument("--n", type=positive, default=100, help="items in the file (default: 100)")
    options = parser.parse_args(argv)
    if not options.labels and not options.out:
        parser.error("--out FILE.csv is needed, or --labels FILE... to score labels")
    # These load pandas, which --help does without.
    from eval.report.tables import say_written, write_long
    from eval.runs import study_of_run
    from studies.annotation.agreement import agreement_text, scores_of
    from studies.annotation.labels import read_labels, sheet
    from studies.annotation.tasks import draw_items

    study = study_of_run(options.run)
    tasks_of = load_part(study, part) if (part := STUDIES[study].annotation) else lambda _: []
    tasks = {task.name: task for task in tasks_of(options.run) if task.items}
    if not tasks:
        annotated = ", ".join(key for key, parts in STUDIES.items() if parts.annotation)
        raise DataError(f"{options.run}: holds nothing for people to label; name a run of: {annotated}")
    if options.labels:
        scores = scores_of(read_labels(options.labels, tasks), tasks)
        say(agreement_text(scores, tasks))
        say_written(write_long(options.out or options.run / "agreement", "agreement", {study: scores}), is_all=True)
        return
    if options.what and options.what not in tasks:
        raise DataError(f"--what {options.what}: {did_you_mean(options.what, list(tasks))}")
    task = tasks[options.what] if options.what else next(iter(tasks.values()))
    items = draw_items(task, options.n, options.seed)
    write_whole(options.out, sheet(task, items))
    n_units = len({item.unit for item in items})
    say(f"{options.out}: {len(items)} items of {n_units} units.\n\n{task.question}\n\n{task.guide}\n")
    say(f"Write one of {', '.join(task.answers)} into the column `label` of each row. Give every person")
    say("a copy of the file, save it as CSV in UTF-8, and score the copies with --labels.")

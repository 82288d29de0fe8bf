"""`python -m eval RUN`: score a run. `evenhand score | compare | report` come through the functions below."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import run_main
from benchmarks.errors import DataError
from eval.accuracy import DENOMINATORS
from eval.change_tables import change_tables
from eval.files import write_rows
from eval.findings import Findings, find, score_run
from eval.intervals import N_DRAWS, SEED
from eval.parsing import PARSERS
from eval.runs import load_run
from eval.tables import score_tables


def score_main(argv: Sequence[str]) -> None:
    """`evenhand score RUN...`: print the tables of each run and write its scores.json and scores.csv."""
    options = score_options(argv)
    denominators = DENOMINATORS if options.denominator == "both" else (options.denominator,)
    for path in options.runs:
        run = load_run(path, options.parser)
        rows = score_run(run, denominators, options.draws, options.seed)
        files = write_rows(options.out or path / "scores", "scores", [row.as_dict() for row in rows])
        print(score_tables(rows))
        print("\nwritten: " + ", ".join(map(str, files)))


def compare_main(argv: Sequence[str]) -> None:
    """`evenhand compare BASE AFTER...`: print what changed, and write it with a report."""
    options = compare_options(argv)
    if options.base in options.after:
        raise DataError(f"{options.base}: is named as before and as after; compare two runs")
    found = findings_of([options.base, *options.after], options)
    out = options.out or options.after[-1] / "compare"
    changes = [row.as_dict() for rows in found.changes.values() for row in rows]
    files = [*write_rows(out, "compare", changes), *write_findings(found, out)]
    for label, rows in found.changes.items():
        print(change_tables(rows) + "\n")
        for difference in found.differences[label]:
            print(f"{'Warning: differs' if difference.serious else 'Note: differs'} in {difference}")
    print("\nwritten: " + ", ".join(map(str, files)))


def report_main(argv: Sequence[str]) -> None:
    """`evenhand report RUN...`: report.html, plots and scores of one run, or of a base run and those after it."""
    options = report_options(argv)
    out = options.out or options.runs[-1] / "report"
    files = write_findings(findings_of(options.runs, options), out)
    print("written: " + ", ".join(map(str, files)))


def findings_of(paths: Sequence[Path], options: argparse.Namespace) -> Findings:
    """What there is to say about some runs, the first being the base."""
    return find(
        [load_run(path, options.parser) for path in paths],
        denominator=options.denominator,
        n_draws=options.draws,
        seed=options.seed,
        allow_differences=options.allow_differences,
    )


def write_findings(found: Findings, out: Path) -> list[Path]:
    """The scores of all runs and the report, in a folder."""
    from eval.report import write_report  # brings matplotlib, which scoring alone does not wait for

    groups = [*found.scores.values(), *found.treated.values()]
    scores = [row.as_dict() for rows in groups for row in rows]
    return [*write_rows(out, "scores", scores), *write_report(found, out)]


def score_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand score`."""
    parser = argparse.ArgumentParser(
        prog="evenhand score",
        description="Accuracy per condition, Δ, DDS with 95% intervals, McNemar's test, flips and unparsed rate of "
        "finished sampling runs, per dataset and averaged. With margins also soft DDS and AUC.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run directory, runs/inference/NAME-DIGEST")
    parser.add_argument("--out", type=Path, help="folder for scores.json and scores.csv (default: RUN/scores)")
    add_reading_options(parser)
    parser.add_argument(
        "--denominator",
        choices=(*DENOMINATORS, "both"),
        default="both",
        help="published: an unreadable reply counts as wrong; answered: it is left out (default: rows for both)",
    )
    options = parser.parse_args(argv)
    if options.out and len(options.runs) > 1:
        parser.error("--out takes one run; without it each run's scores go into RUN/scores")
    return options


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """The options that all three verbs share."""
    parser.add_argument(
        "--parser",
        choices=sorted(PARSERS),
        default="strict",
        help="how reasoned replies are read: strict guesses nothing; lenient is the published rule (default: strict)",
    )
    parser.add_argument("--draws", type=positive, default=N_DRAWS, help=f"bootstrap draws (default: {N_DRAWS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the bootstrap (default: {SEED})")


def positive(text: str) -> int:
    """A whole number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not above zero")
    return number


def compare_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand compare`."""
    parser = argparse.ArgumentParser(
        prog="evenhand compare",
        description="What changed from a base run to one or more runs after it: accuracy and DDS with intervals paired "
        "by item, with own C1 and with fixed C1. Refuses runs that differ in more than the model.",
    )
    parser.add_argument("base", type=Path, metavar="BASE_RUN", help="the run of the untrained model")
    parser.add_argument("after", nargs="+", type=Path, metavar="AFTER_RUN", help="runs of models made from it")
    parser.add_argument("--out", type=Path, help="folder for the results (default: the last AFTER_RUN/compare)")
    add_reading_options(parser)
    add_report_options(parser)
    return parser.parse_args(argv)


def report_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand report`."""
    parser = argparse.ArgumentParser(
        prog="evenhand report",
        description="report.html with plots inline, the plots as PNG, and scores: of one run, or of a base run and "
        "those after it.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories, the base first")
    parser.add_argument("--out", type=Path, help="folder for the results (default: the last RUN/report)")
    add_reading_options(parser)
    add_report_options(parser)
    return parser.parse_args(argv)


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """The options that compare and report share."""
    parser.add_argument("--denominator", choices=DENOMINATORS, default="published", help="default: published")
    parser.add_argument(
        "--allow-differences",
        action="store_true",
        help="compare runs whose prompts, rendering, engine or precision differ, and say so in the report",
    )


if __name__ == "__main__":
    sys.exit(run_main(score_main))

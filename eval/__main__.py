"""`python -m eval RUN`: score a run. `evenhand score | compare | report` come through the functions below."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import run_main
from benchmarks.errors import DataError
from benchmarks.unified.record import shown
from eval.accuracy import DENOMINATORS
from eval.change_tables import change_tables
from eval.external import load_external, score_external
from eval.external_files import COLUMNS_HELP, is_verdict_file
from eval.files import write_rows
from eval.findings import Findings, find, find_external, score_run
from eval.intervals import N_DRAWS, SEED
from eval.parsing import PARSERS
from eval.rows import ScoreRow
from eval.runs import load_run
from eval.tables import score_tables


def score_main(argv: Sequence[str]) -> None:
    """`evenhand score RUN...` or `evenhand score FILE... --out DIR`: print tables, write scores.json and scores.csv."""
    options = score_options(argv)
    if is_verdict_file(options.sources[0]):
        score_files(options)
        return
    denominators = chosen_denominators(options.denominator or "both")
    for path in options.sources:
        run = load_run(path, options.parser)
        report_scores(score_run(run, denominators, options.draws, options.seed), options.out or path / "scores")


def score_files(options: argparse.Namespace) -> None:
    """Score files of external verdicts, all of them together."""
    found = load_external(options.sources, options.parser)
    if found.ignored:
        print(f"Note: columns without a meaning here are ignored: {', '.join(map(shown, found.ignored))}.\n")
    denominators = chosen_denominators(options.denominator or "published")
    report_scores(list(score_external(found, denominators, options.draws, options.seed)), options.out)


def chosen_denominators(word: str) -> Sequence[str]:
    """The denominators that --denominator names."""
    return DENOMINATORS if word == "both" else (word,)


def report_scores(rows: Sequence[ScoreRow], out: Path) -> None:
    """Print the tables of some rows and write their scores.json and scores.csv."""
    files = write_rows(out, "scores", [row.as_dict() for row in rows])
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
    summarise(out, files)


def report_main(argv: Sequence[str]) -> None:
    """`evenhand report RUN...` or `evenhand report FILE... --out DIR`: report.html, plots, tables and scores."""
    options = report_options(argv)
    if is_verdict_file(options.sources[0]):
        files = load_external(options.sources, options.parser)
        found = find_external(files, denominator=options.denominator, n_draws=options.draws, seed=options.seed)
    else:
        found = findings_of(options.sources, options, is_before_after=not options.side_by_side)
    out = options.out or options.sources[-1] / "report"
    summarise(out, write_findings(found, out))


def findings_of(paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool = True) -> Findings:
    """What there is to say about some runs, the first being the base."""
    return find(
        [load_run(path, options.parser) for path in paths],
        denominator=options.denominator,
        n_draws=options.draws,
        seed=options.seed,
        allow_differences=options.allow_differences,
        is_before_after=is_before_after,
    )


def write_findings(found: Findings, out: Path) -> list[Path]:
    """The scores of all runs and the report, in a folder."""
    from eval.report import write_report  # brings matplotlib, which scoring alone does not wait for

    return [*write_rows(out, "scores", [row.as_dict() for row in found.rows]), *write_report(found, out)]


def summarise(out: Path, files: Sequence[Path]) -> None:
    """Print what was written: the files of a folder, and how many lie in each folder below it."""
    here = [str(file) for file in files if file.parent == out]
    below = Counter(file.parent for file in files if file.parent != out)
    print("\nwritten: " + ", ".join([*here, *(f"{n} files in {folder}" for folder, n in below.items())]))


def score_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand score`."""
    parser = argparse.ArgumentParser(
        prog="evenhand score",
        description="Accuracy per condition, Δ, DDS with 95% intervals, McNemar's test, flips and unparsed rate per "
        "dataset and averaged: of finished sampling runs (with margins also soft DDS and AUC), or of verdicts that "
        "came from anywhere else.",
        epilog=COLUMNS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "sources",
        nargs="+",
        type=Path,
        metavar="RUN|FILE",
        help="run directories, runs/inference/NAME-DIGEST; or .jsonl, .csv (both also .gz) and .parquet files, which "
        "are scored together",
    )
    parser.add_argument("--out", type=Path, help="folder for scores.json and scores.csv (default: RUN/scores)")
    add_reading_options(parser)
    parser.add_argument(
        "--denominator",
        choices=(*DENOMINATORS, "both"),
        help="published: an unreadable reply counts as wrong; answered: it is left out (default: rows for both of a "
        "run, published for files)",
    )
    options = parser.parse_args(argv)
    refuse_mixture(parser, options)
    return options


def refuse_mixture(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the program when runs and files are mixed, or --out does not fit them."""
    are_files = {is_verdict_file(path) for path in options.sources}
    if len(are_files) > 1:
        parser.error("score runs and files of verdicts apart: each run has scores of its own")
    if True in are_files and not options.out:
        parser.error("files of verdicts need --out DIR")
    if False in are_files and options.out and len(options.sources) > 1:
        parser.error("--out takes one run; without it each run's scores go into RUN/scores")


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
        description="report.html, its plots as PNG and SVG, its tables as Markdown, CSV and LaTeX, and scores: of one "
        "run, of a base run and those after it, of different models side by side, or of verdicts that came from "
        "anywhere else.",
        epilog=COLUMNS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "sources",
        nargs="+",
        type=Path,
        metavar="RUN|FILE",
        help="run directories, the base first; or .jsonl, .csv (both also .gz) and .parquet files",
    )
    parser.add_argument("--out", type=Path, help="folder for the results (default: the last RUN/report)")
    parser.add_argument(
        "--side-by-side",
        action="store_true",
        help="the runs are of different models, none of which was made from another: no before and after",
    )
    add_reading_options(parser)
    add_report_options(parser)
    options = parser.parse_args(argv)
    are_files = {is_verdict_file(path) for path in options.sources}
    if len(are_files) > 1:
        parser.error("report runs and files of verdicts apart: they were not asked alike")
    if True in are_files and not options.out:
        parser.error("files of verdicts need --out DIR")
    return options


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

"""The words of `evenhand score | compare | report`."""

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from eval.estimates.resampling import N_DRAWS, SEED
from eval.study import evaluations
from eval.study_definitions import add_definitions
from eval.verdict_files import is_verdict_file
from evenhand.errors import DataError


def score_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand score`."""
    parser = sources_parser(
        "evenhand score",
        "The measures of each study with 95% intervals, of finished sampling runs; or of verdicts that came from "
        "anywhere else.",
        "run directories, runs/inference/NAME-DIGEST; or .jsonl, .csv (both also .gz) and .parquet files, which are "
        "scored together",
    )
    parser.add_argument("--out", type=Path, help="folder for the scores (default: RUN/scores)")
    add_reading_options(parser, "score")
    options = parser.parse_args(argv)
    refuse_mixture(parser, options, "score runs and files of verdicts apart: each run has scores of its own")
    if not is_verdict_file(options.sources[0]) and options.out and len(options.sources) > 1:
        parser.error("--out takes one run; without it each run's scores go into RUN/scores")
    return options


def sources_parser(prog: str, description: str, sources: str) -> argparse.ArgumentParser:
    """The parser of a verb over runs or files of verdicts; sources: what its help says of them."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description=description,
        epilog="\n\n".join(found.columns_help for found in evaluations().values() if found.files is not None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sources", nargs="+", type=Path, metavar="RUN|FILE", help=sources)
    return parser


def refuse_mixture(parser: argparse.ArgumentParser, options: argparse.Namespace, reason: str) -> None:
    """Ends the program, with the reason, when runs and files are mixed; or when files have no --out."""
    are_files = {is_verdict_file(path) for path in options.sources}
    if len(are_files) > 1:
        parser.error(reason)
    if True in are_files and not options.out:
        parser.error("files of verdicts need --out DIR")


def add_reading_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """The options that all three verbs share, and those of each study."""
    of_study: dict[str, list[argparse.Action]] = {}
    for study, evaluation in evaluations().items():
        known = parser._actions.copy()  # argparse has no public list of a parser's options
        evaluation.add_options(parser, verb)
        if evaluation.definitions is not None:
            add_definitions(parser, study, evaluation.definitions)
        of_study[study] = [option for option in parser._actions if option not in known]
    parser.set_defaults(options_of_study=of_study)
    parser.add_argument("--draws", type=positive, default=N_DRAWS, help=f"bootstrap draws (default: {N_DRAWS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the bootstrap (default: {SEED})")


def refuse_idle_options(options: argparse.Namespace, studies: Collection[str]) -> None:
    """Raises DataError where an option is set that belongs to a study of which nothing is read."""
    for study, of_study in options.options_of_study.items():
        for option in of_study:
            if study not in studies and getattr(options, option.dest) != option.default:
                raise DataError(
                    f"{option.option_strings[0]}: is of the {study} study, of which nothing was named here (only of "
                    f"{', '.join(studies)}); leave it out"
                )


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
        description="What changed from a base run to one or more runs after it: each measure with its interval, paired "
        "by unit. Runs of several studies may be named together, the base of each before those after it. Refuses runs "
        "that differ in more than the model.",
    )
    parser.add_argument("base", type=Path, metavar="BASE_RUN", help="the run of the untrained model")
    parser.add_argument("after", nargs="+", type=Path, metavar="AFTER_RUN", help="runs of models made from it")
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for the results (default: AFTER_RUN/compare of the first study's last run)",
    )
    add_reading_options(parser, "compare")
    add_report_options(parser)
    return parser.parse_args(argv)


def report_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand report`."""
    parser = sources_parser(
        "evenhand report",
        "report.html, its plots as PNG and SVG, its tables as Markdown, CSV and LaTeX, and scores: of one "
        "run, of a base run and those after it, of different models side by side, or of verdicts that came from "
        "anywhere else. Runs of several studies may stand in it.",
        "run directories, the base first; or .jsonl, .csv (both also .gz) and .parquet files",
    )
    parser.add_argument(
        "--out", type=Path, help="folder for the results (default: RUN/report of the first study's last run)"
    )
    parser.add_argument(
        "--side-by-side",
        action="store_true",
        help="the runs are of different models, none of which was made from another: no before and after",
    )
    add_reading_options(parser, "report")
    add_report_options(parser)
    options = parser.parse_args(argv)
    refuse_mixture(parser, options, "report runs and files of verdicts apart: they were not asked alike")
    return options


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """The options that compare and report share."""
    parser.add_argument(
        "--allow-differences",
        action="store_true",
        help="compare runs whose prompts, rendering, engine or precision differ, and say so in the report",
    )

"""The words of `evenhand score | compare | report | scorecard`: what all studies share, and the named studies' own."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from eval.estimates.resampling import N_DRAWS, SEED
from eval.results import evaluation_of, study_of_files
from eval.runs import is_verdict_file, study_of_run
from evenhand.errors import DataError
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE
from studies.registry import STUDIES

FILES = "or .jsonl, .csv (both also .gz) and .parquet files of verdicts, which are read together"


def named_studies(argv: Sequence[str]) -> list[str]:
    """The studies of the runs and files that stand among the words; all of them where none does, as for --help."""
    pieces = [word.split("=") for word in argv]  # RUN, NAME=RUN, --beside=NAME=RUN
    paths = [Path("=".join(parts[i:])) for parts in pieces for i in range(len(parts)) if "".join(parts[i:])]
    runs = {study_of_run(path) for path in paths if (path / PLAN_FILE).is_file() and (path / CONFIG_FILE).is_file()}
    files = [path for path in paths if is_verdict_file(path) and path.exists()]
    named = runs | ({study_of_files(files)} if files and not runs else set())
    return [study for study in STUDIES if study in named] or list(STUDIES)


class Parser(argparse.ArgumentParser):
    """A verb's parser, which says of which study an option is that none of the named runs needs."""

    def error(self, message: str) -> NoReturn:
        """Raises DataError for an option of a study of which nothing is named; else ends the program."""
        unknown = message.removeprefix("unrecognized arguments: ").split() if "unrecognized" in message else []
        for word in (word.partition("=")[0] for word in unknown if word.startswith("--")):
            for study in STUDIES:
                others = argparse.ArgumentParser(add_help=False)
                evaluation_of(study).add_options(others, self.prog.split()[-1])
                if word in others._option_string_actions:  # argparse has no public list of a parser's options
                    raise DataError(
                        f"{word}: is an option of the {study} study, of which no run is named; leave it out"
                    )
        super().error(message)


def reading_parser(prog: str, argv: Sequence[str], description: str, epilog: str = "") -> Parser:
    """A verb's parser with the options that all verbs share, and those of each study that is named."""
    evaluations = [evaluation_of(study) for study in named_studies(argv)]
    parser = Parser(
        prog=prog,
        description=description,
        epilog="\n\n".join(filter(None, [epilog, *(one.columns_help for one in evaluations)])),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for evaluation in evaluations:
        evaluation.add_options(parser, prog.split()[-1])
    parser.add_argument("--draws", type=positive, default=N_DRAWS, help=f"bootstrap draws (default: {N_DRAWS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the bootstrap (default: {SEED})")
    return parser


def positive(text: str) -> int:
    """A whole number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not above zero")
    return number


def score_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand score`."""
    parser = reading_parser(
        "evenhand score", argv, "Each study's measures with 95% intervals, of finished sampling runs."
    )
    parser.add_argument("sources", nargs="+", type=Path, metavar="RUN|FILE", help=f"run directories; {FILES}")
    parser.add_argument("--out", type=Path, help="folder for the scores (default: RUN/scores)")
    options = parser.parse_args(argv)
    refuse_mixture(parser, options, "score runs and files of verdicts apart: runs have scores of their own")
    if not is_verdict_file(options.sources[0]) and options.out and len(options.sources) > 1:
        parser.error("--out takes one run; without it each run's scores go into RUN/scores")
    return options


def refuse_mixture(parser: argparse.ArgumentParser, options: argparse.Namespace, reason: str) -> None:
    """Ends the program, with the reason, when runs and files are mixed; or when files have no --out."""
    are_files = {is_verdict_file(path) for path in options.sources}
    if len(are_files) > 1:
        parser.error(reason)
    if True in are_files and not options.out:
        parser.error("files of verdicts need --out DIR")


def compare_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand compare`."""
    parser = reading_parser(
        "evenhand compare",
        argv,
        "What changed from a base run to one or more runs after it: each measure with its interval, paired by unit. "
        "Runs of several studies may be named together, the base of each before those after it. Refuses runs that "
        "differ in more than the model.",
    )
    parser.add_argument("base", type=Path, metavar="BASE_RUN", help="the run of the untrained model")
    parser.add_argument("after", nargs="+", type=Path, metavar="AFTER_RUN", help="runs of models made from it")
    parser.add_argument("--out", type=Path, help="folder for the results (default: LAST_RUN/compare)")
    add_allow_differences(parser)
    return parser.parse_args(argv)


def report_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand report`."""
    parser = reading_parser(
        "evenhand report",
        argv,
        "report.html, its plots as PNG and SVG, its tables as Markdown, CSV and LaTeX, and scores: of one run, of a "
        "base run and those after it, or of different models side by side. Runs of several studies may stand in it.",
    )
    sources = f"run directories, the base first; {FILES}"
    parser.add_argument("sources", nargs="+", type=Path, metavar="RUN|FILE", help=sources)
    parser.add_argument("--out", type=Path, help="folder for the results (default: LAST_RUN/report)")
    parser.add_argument(
        "--side-by-side",
        action="store_true",
        help="the runs are of different models, none of which was made from another: no before and after",
    )
    add_allow_differences(parser)
    options = parser.parse_args(argv)
    refuse_mixture(parser, options, "report runs and files of verdicts apart: they were not asked alike")
    return options


def scorecard_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand scorecard`."""
    parser = reading_parser(
        "evenhand scorecard",
        argv,
        "One row for a base model and each arm made from it: the figures of each study, such as accuracy and |DDS|, "
        "and what the training took, with changes against the base paired by unit. Refuses runs that differ in more "
        "than the model.",
        "The cost is read from the training run in which the sampled checkpoint lies (merged-bf16, merged-nf4).",
    )
    parser.add_argument("base", type=Path, metavar="BASE_RUN", help="the sampling run of the untrained model")
    arms = "sampling runs of checkpoints made from it; without NAME= they are called by their label or training run; "
    arms += "runs of one NAME are seeds of one arm"
    parser.add_argument("arms", nargs="*", metavar="[NAME=]ARM_RUN", help=arms)
    against = "also the changes of the other arms against this one; may be repeated"
    parser.add_argument("--against", action="append", default=[], metavar="ARM", help=against)
    beside = "an arm's run of another study, by the name of its row (the base's is `base`): adds that study's figures; "
    beside += "once for each arm that has one"
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=RUN", help=beside)
    parser.add_argument("--out", type=Path, help="folder for the results (default: BASE_RUN/scorecard)")
    add_allow_differences(parser)
    return parser.parse_args(argv)


def add_allow_differences(parser: argparse.ArgumentParser) -> None:
    """--allow-differences."""
    words = "compare runs whose prompts, rendering, engine or precision differ, and say so in the results"
    parser.add_argument("--allow-differences", action="store_true", help=words)

"""`python -m eval RUN`: score a run. `evenhand score | compare | report` come through the functions below.

pandas is loaded once the words are read: `--help` does without it.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eval.harness_logs import with_logs_read
from eval.options import calibrate_options, verb_options
from eval.runs import is_verdict_file, refuse_repeated, runs_by_study
from evenhand.errors import DataError
from evenhand.terminal import run_main

if TYPE_CHECKING:
    from eval.results import Results


def score_main(argv: Sequence[str]) -> None:
    """`evenhand score RUN...` or `evenhand score FILE... --out DIR`: print tables, write scores.json and scores.csv."""
    options = verb_options("score", with_logs_read(argv))
    if is_verdict_file(options.sources[0]):
        every = [print_and_write(of_files(options), options.out)]
    else:
        runs = [(study, path) for study, paths in runs_by_study(options.sources).items() for path in paths]
        every = [
            print_and_write(of_runs(study, [path], options), options.out or path / "scores") for study, path in runs
        ]
    if options.card or options.report_to or options.fail_if:
        from eval.publishing import hand_on

        hand_on(every, options)


def print_and_write(results: "Results", out: Path) -> "Results":
    """Print the scores of one study and write them; the results."""
    from eval.report.tables import say_written, write_long

    results.say()  # before they are written, since a disk may be full
    say_written(write_long(out, "scores", {results.study: results.score_rows}), is_all=results.options.all)
    return results


def compare_main(argv: Sequence[str]) -> None:
    """`evenhand compare BASE AFTER...`: print what changed, and write it with a report."""
    options = verb_options("compare", with_logs_read(argv))
    if options.base in options.after:
        raise DataError(f"{options.base}: is named as before and as after; compare two runs")
    runs = runs_by_study([options.base, *options.after])
    if single := [paths[0] for paths in runs.values() if len(paths) == 1]:
        raise DataError(
            f"{single[0]}: is the only run of its study here, so there is nothing to compare it with; name the run "
            "before or after it as well, or leave it to `evenhand report`"
        )
    every = [of_runs(study, paths, options, is_before_after=True) for study, paths in runs.items()]
    from eval.reruns import say_reruns

    out = options.out or next(iter(runs.values()))[-1] / "compare"
    for study, paths in runs.items():
        say_reruns(study, paths, out, is_all=options.all)
    say_and_report(every, out)


def report_main(argv: Sequence[str]) -> None:
    """`evenhand report RUN...` or `evenhand report FILE... --out DIR`: report.html, plots, tables and scores."""
    options = verb_options("report", with_logs_read(argv))
    if is_verdict_file(options.sources[0]):
        every, out = [of_files(options)], options.out
    else:
        runs = runs_by_study(options.sources)
        is_before_after = not options.side_by_side
        every = [of_runs(study, paths, options, is_before_after=is_before_after) for study, paths in runs.items()]
        out = options.out or next(iter(runs.values()))[-1] / "report"
    say_and_report(every, out)


def scorecard_main(argv: Sequence[str]) -> None:
    """`evenhand scorecard BASE_RUN [NAME=]ARM_RUN...`: a base model and its arms, one row each."""
    options = verb_options("scorecard", with_logs_read(argv))
    from eval.scorecard.command import scorecard

    scorecard(options)


def calibrate_main(argv: Sequence[str]) -> None:
    """`evenhand calibrate TRAIN_RUN TEST_RUN`: fit thresholds, print and write them."""
    options = calibrate_options(argv)
    runs = runs_by_study([options.train, options.test])
    if len(runs) > 1:
        named = " and ".join(f"{path} is of {study}" for study, (path,) in runs.items())
        raise DataError(f"{named}; name runs of one study")
    (study,) = runs
    from eval.results import evaluation_of

    evaluation_of(study).calibrate(options)


def of_runs(
    study: str, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool = False
) -> "Results":
    """The results of some runs of a study, the base first."""
    from eval.results import evaluation_of, results_of

    evaluation = evaluation_of(study)
    judges = evaluation.load_all(paths, options)
    return results_of(study, evaluation, judges, options, is_before_after=is_before_after and len(paths) > 1)


def of_files(options: argparse.Namespace) -> "Results":
    """The results of files of verdicts."""
    from eval.results import evaluation_of, results_of, study_of_files

    refuse_repeated(options.sources)
    study = study_of_files(options.sources)
    evaluation = evaluation_of(study)
    return results_of(study, evaluation, evaluation.load_files(options), options)


def say_and_report(every: Sequence["Results"], out: Path) -> None:
    """Print the results of every study, and write them and the report on all of them into a folder."""
    for results in every:  # before they are written, since a disk may be full
        results.say()
    from eval.report.page import write_report  # loads matplotlib, which scoring alone does not need
    from eval.report.tables import say_written, write_long

    changes = write_long(out, "compare", {results.study: results.change_rows for results in every})
    scores = write_long(out, "scores", {results.study: results.score_rows for results in every})
    say_written([*write_report(every, out), *scores, *changes], is_all=every[0].options.all)


if __name__ == "__main__":
    sys.exit(run_main(score_main))

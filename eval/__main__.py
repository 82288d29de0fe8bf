"""`python -m eval RUN`: score a run. `evenhand score | compare | report` come through the functions below.

pandas is loaded once the words are read: `--help` does without it.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eval.harness_logs import with_logs_read
from eval.options import Options, Verb, verb_options
from eval.runs import is_data_file, runs_by_study
from evenhand.data_files import opened
from evenhand.errors import DataError
from evenhand.terminal import run_main

if TYPE_CHECKING:
    from eval.results import Results


def read_options(verb: Verb, argv: Sequence[str]) -> Options:
    """The words of a verb, checked before anything is scored."""
    options = verb_options(verb, argv)
    is_mapped = bool(options.mapping or options.mapping_keys)
    written = ("scores.json", "scores.csv", *["verdicts.jsonl"] * is_mapped)
    for source in options.sources:
        if options.out and source.resolve() in [(options.out / name).resolve() for name in written]:
            raise DataError(f"{source}: --out {options.out} would replace this file; name another folder")
    if is_mapped:
        from eval.mappings import with_mapped

        options = with_mapped(options)
    else:
        options = replace(options, sources=tuple(with_logs_read(options.sources)))
    if options.are_files and not all(map(is_data_file, options.sources)):
        raise DataError(f"{verb} runs and files of verdicts apart: they were not asked alike")
    if options.are_files and not options.out:
        for source in options.sources:
            with opened(source):  # or it says that there is no such file
                pass
        raise DataError("files of verdicts need --out DIR")
    if verb == "score" and not options.are_files and options.out and len(options.sources) > 1:
        raise DataError("--out takes one run; without it each run's scores go into RUN/scores")
    if options.junit and not options.fail_if:
        raise DataError("--junit writes the conditions of --fail-if: give one, or leave it out")
    for text in options.fail_if:
        from eval.publishing import condition

        condition(text)
    if options.study:
        from eval.results import check_study_options

        check_study_options(options)
    return options


def score_main(argv: Sequence[str]) -> None:
    """`evenhand score RUN...` or `evenhand score FILE... --out DIR`: print tables, write scores.json and scores.csv."""
    options = read_options("score", argv)
    from eval.report.tables import say_written, write_long
    from eval.results import all_results

    scored = []
    for results, run in all_results(options, is_apart=True):  # one after another: what follows may fail
        results.say()  # print first: writing may fail on a full disk
        rows = {results.study: results.score_rows}
        say_written(write_long(options.out or run / "scores", f"{results.stem}scores", rows), is_all=options.is_all)
        scored += [results] if results.readings is None else []  # what is handed on is as written
    if options.card or options.report_to or options.fail_if:
        from eval.publishing import hand_on

        hand_on(scored, options)


def compare_main(argv: Sequence[str]) -> None:
    """`evenhand compare BASE AFTER...`: print what changed, and write it with a report."""
    options = read_options("compare", argv)
    runs = runs_by_study(options.sources)
    if single := [paths[0] for paths in runs.values() if len(paths) == 1]:
        raise DataError(f"{single[0]}: is the only run of its study here; name the run before or after it as well")
    from eval.evaluation import evaluation_of
    from eval.report.tables import new_report
    from eval.reruns import by_date, say_drift, say_reruns
    from eval.results import load_runs, results_as_read

    out = new_report(options.out or next(iter(runs.values()))[-1] / "compare")
    every: list[Results] = []
    files: list[Path] = []
    for study, paths in runs.items():
        evaluation = evaluation_of(study)
        loaded = load_runs(evaluation, paths)
        loaded = by_date(loaded) if options.drift else loaded
        of_study = [*results_as_read(study, loaded, options)]
        every += of_study
        beside = out / study if len(runs) > 1 else out
        if options.drift:
            files += say_drift(evaluation, loaded, of_study[0], beside)
        else:
            files += say_reruns(evaluation, loaded, beside, is_all=options.is_all)
    say_and_report(every, out, files)


def report_main(argv: Sequence[str]) -> None:
    """`evenhand report RUN...` or `evenhand report FILE... --out DIR`: report.html, plots, tables and scores."""
    options = read_options("report", argv)
    from eval.report.tables import new_report
    from eval.results import all_results

    every, runs = zip(*all_results(options), strict=True)
    say_and_report(every, new_report(options.out or runs[0] / "report"))


def calibrate_main(argv: Sequence[str]) -> None:
    """`evenhand calibrate TRAIN_RUN TEST_RUN`: fit thresholds, print and write them."""
    options = verb_options("calibrate", argv)
    runs = runs_by_study(options.sources)
    if len(runs) > 1:
        raise DataError(f"the runs are of two studies, {' and '.join(runs)}; name runs of one study")
    (study,) = runs
    from eval.evaluation import evaluation_of
    from eval.results import judges_of, load_runs

    evaluation = evaluation_of(study)
    if evaluation.calibrate is None:
        raise DataError(f"{options.sources[0]}: is of a study that has no thresholds (docs/results.md)")
    train, test = judges_of(evaluation, load_runs(evaluation, options.sources), options).values()
    evaluation.calibrate(train, test, options)


def say_and_report(every: Sequence["Results"], out: Path, beside: Sequence[Path] = ()) -> None:
    """Print the results of every study, and write them and the report on all of them.

    out: see new_report. beside: files of the report that have been written there.
    """
    for results in every:  # print first: writing may fail on a full disk
        results.say()
    from eval.report.page import write_report  # loads matplotlib, which scoring alone does not need
    from eval.report.tables import replace_report, say_written, write_long

    files = [*write_report(every, out), *beside]
    for stem in dict.fromkeys(results.stem for results in every):
        alike = [results for results in every if results.stem == stem]
        files += write_long(out, f"{stem}scores", {results.study: results.score_rows for results in alike})
        files += write_long(out, f"{stem}compare", {results.study: results.change_rows for results in alike})
    say_written(replace_report(files), is_all=every[0].options.is_all)


if __name__ == "__main__":
    sys.exit(run_main(score_main))

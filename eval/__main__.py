"""`python -m eval RUN`: score a run. `evenhand score | compare | report` come through the functions below."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from eval.command_options import compare_options, refuse_idle_options, report_options, score_options
from eval.estimates.result_files import write_changes, write_scores
from eval.report.result_files import write_rows
from eval.run_studies import runs_by_study
from eval.study import Found, Scored, evaluation_of, study_of_files
from eval.verdict_files import is_verdict_file
from evenhand.command import run_main
from evenhand.errors import DataError
from evenhand.terminal import say


def score_main(argv: Sequence[str]) -> None:
    """`evenhand score RUN...` or `evenhand score FILE... --out DIR`: print tables, write scores.json and scores.csv."""
    options = score_options(argv)
    if is_verdict_file(options.sources[0]):
        study = study_of_files(options.sources)
        refuse_idle_options(options, [study])
        say_and_write(study, evaluation_of(study).score_files(options), options.out)
        return
    runs = runs_by_study(options.sources)
    refuse_idle_options(options, runs)
    for study, paths in runs.items():
        for path in paths:
            say_and_write(study, evaluation_of(study).score(path, options), options.out or path / "scores")


def say_and_write(study: str, scored: Scored, out: Path) -> None:
    """Print the scores of one study and write them."""
    scored.say_scores()  # first: they are seen though the disk be full
    summarise(out, write_all_scores({study: scored}, out))


def compare_main(argv: Sequence[str]) -> None:
    """`evenhand compare BASE AFTER...`: print what changed, and write it with a report."""
    options = compare_options(argv)
    if options.base in options.after:
        raise DataError(f"{options.base}: is named as before and as after; compare two runs")
    runs = runs_by_study([options.base, *options.after])
    refuse_single(runs.values())
    refuse_idle_options(options, runs)
    found = {study: evaluation_of(study).find(paths, options, is_before_after=True) for study, paths in runs.items()}
    for of_study in found.values():  # first: what was computed is seen though the disk be full
        of_study.say_changes()
    out = options.out or next(iter(runs.values()))[-1] / "compare"
    summarise(out, write_found(found, out))


def refuse_single(runs: Iterable[Sequence[Path]]) -> None:
    """Raises DataError where only one of the runs that are to be compared is of its study."""
    single = [paths[0] for paths in runs if len(paths) == 1]
    if single:
        raise DataError(
            f"{single[0]}: is the only run of its study here, so there is nothing to compare it with; name the run "
            "before or after it as well, or leave it to `evenhand report`"
        )


def report_main(argv: Sequence[str]) -> None:
    """`evenhand report RUN...` or `evenhand report FILE... --out DIR`: report.html, plots, tables and scores."""
    options = report_options(argv)
    if is_verdict_file(options.sources[0]):
        study, out = study_of_files(options.sources), options.out
        refuse_idle_options(options, [study])
        found = {study: evaluation_of(study).find_files(options)}
    else:
        runs = runs_by_study(options.sources)
        refuse_idle_options(options, runs)
        is_before_after = not options.side_by_side
        found = {s: evaluation_of(s).find(paths, options, is_before_after=is_before_after) for s, paths in runs.items()}
        out = options.out or next(iter(runs.values()))[-1] / "report"
    try:
        written = write_found(found, out)
    except DataError:  # a full disk, say: what was computed is seen all the same
        for of_study in found.values():
            of_study.say_scores()
        raise
    summarise(out, written)


def write_found(found: Mapping[str, Found], out: Path) -> list[Path]:
    """The results of every study and the report on all of them, in a folder."""
    from eval.report.report_page import write_report  # brings matplotlib, which scoring alone does not wait for

    changes = write_changes(out, "compare", {study: of_study.changes() for study, of_study in found.items()})
    scores = write_all_scores(found, out)
    parts = [of_study.part(is_alone=i == 0) for i, of_study in enumerate(found.values())]
    return [*changes, *scores, *write_report(parts, out)]


def write_all_scores(found: Mapping[str, Scored], out: Path) -> list[Path]:
    """The scores of every study in one table, and each study's own views of its scores."""
    files = write_scores(out, {study: of_study.scores() for study, of_study in found.items()})
    views = [view for of_study in found.values() for view in of_study.views().items()]
    return [*files, *(file for stem, rows in views for file in write_rows(out, stem, rows))]


def summarise(out: Path, files: Sequence[Path]) -> None:
    """Print what was written: the files of a folder, and how many lie in each folder below it."""
    here = [str(file) for file in files if file.parent == out]
    below = Counter(file.parent for file in files if file.parent != out)
    say("\nwritten: " + ", ".join([*here, *(f"{n} files in {folder}" for folder, n in below.items())]))


if __name__ == "__main__":
    sys.exit(run_main(score_main))

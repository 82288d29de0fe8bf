"""`python -m eval RUN`: score a run. `evenhand score | compare | report` come through the functions below."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from eval.command_options import compare_options, report_options, score_options
from eval.dialdefer.accuracy import DENOMINATORS
from eval.dialdefer.change_tables import change_tables
from eval.dialdefer.external.load_verdicts import load_external, score_external
from eval.dialdefer.findings import Findings, find, find_external, score_run
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.runs import load_run, say_warnings
from eval.dialdefer.score_text import score_tables
from eval.estimates.comparability import Difference
from eval.narrator.change_tables import change_sentence, narrator_change_table
from eval.narrator.command import main as score_narrator
from eval.narrator.findings import NarratorFindings, find_narrator, write_narrator
from eval.narrator.judged_runs import load_narrator_runs
from eval.narrator.printed import plain_table, study_text
from eval.narrator.sentences import doubts
from eval.report.result_files import write_rows
from eval.run_studies import runs_by_study
from eval.verdict_file_names import is_verdict_file
from evenhand.command import run_main
from evenhand.errors import DataError
from evenhand.sources.record_fields import shown
from evenhand.terminal import say


def score_main(argv: Sequence[str]) -> None:
    """`evenhand score RUN...` or `evenhand score FILE... --out DIR`: print tables, write scores.json and scores.csv."""
    options = score_options(argv)
    if is_verdict_file(options.sources[0]):
        score_files(options)
        return
    dialdefer, narrators = split(options.sources)
    if narrators and (options.denominator or options.parser != "strict"):
        raise DataError(
            f"{narrators[0]}: is of the narrator study, which counts in ways of its own and knows no --parser; leave "
            "--denominator and --parser out, or see `evenhand narrator --help`"
        )
    denominators = chosen_denominators(options.denominator or "both")
    for path in dialdefer:
        run = load_run(path, options.parser)
        report_scores(score_run(run, denominators, options.draws, options.seed), options.out or path / "scores")
        say_warnings({run.name: run})
    for path in narrators:  # each by itself; `evenhand narrator` also pools
        score_narrator([str(path), *(["--out", str(options.out)] if options.out else [])])


def split(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The runs of DialDefer, and those of the narrator study."""
    found = runs_by_study(paths)
    return found.get("dialdefer", []), found.get("narrator", [])


def score_files(options: argparse.Namespace) -> None:
    """Score files of external verdicts, all of them together."""
    found = load_external(options.sources, options.parser)
    if found.ignored:
        say(f"Note: columns without a meaning here are ignored: {', '.join(map(shown, found.ignored))}.\n")
    denominators = chosen_denominators(options.denominator or "published")
    report_scores(list(score_external(found, denominators, options.draws, options.seed)), options.out)


def chosen_denominators(word: str) -> Sequence[str]:
    """The denominators that --denominator names."""
    return DENOMINATORS if word == "both" else (word,)


def report_scores(rows: Sequence[ScoreRow], out: Path) -> None:
    """Print the tables of some rows and write their scores.json and scores.csv."""
    say(score_tables(rows))  # first: they are seen though the disk be full
    files = write_rows(out, "scores", [row.as_dict() for row in rows])
    say("\nwritten: " + ", ".join(map(str, files)))


def compare_main(argv: Sequence[str]) -> None:
    """`evenhand compare BASE AFTER...`: print what changed, and write it with a report."""
    options = compare_options(argv)
    if options.base in options.after:
        raise DataError(f"{options.base}: is named as before and as after; compare two runs")
    dialdefer, narrators = split([options.base, *options.after])
    refuse_single(dialdefer, narrators)
    found = findings_of(dialdefer, options) if dialdefer else None
    study = narrator_findings_of(narrators, options) if narrators else None
    out = options.out or (dialdefer or narrators)[-1] / "compare"
    files: list[Path] = []
    if found:
        for label, rows in found.changes.items():
            say(change_tables(rows) + "\n")
            print_differences(found.differences[label])
        say_warnings(found.runs)
    if study:
        table = narrator_change_table(study.changes, is_short=True)
        if table.rows:
            say(plain_table(table) + "\n")
        for label, changes in study.changes.items():
            say(change_sentence(label, changes))
            print_differences(study.differences[label])
        for judge in study.study.judges:
            for sentence in doubts(study.study, judge):
                say(f"Warning: {sentence}")
    if found:  # last: what was computed is seen though the disk be full
        files += write_rows(out, "compare", [row.as_dict() for rows in found.changes.values() for row in rows])
    summarise(out, [*files, *write_findings(found, out, study)])


def refuse_single(*studies: Sequence[Path]) -> None:
    """Raises DataError where only one of the runs that are to be compared is of its study."""
    single = [paths[0] for paths in studies if len(paths) == 1]
    if single:
        raise DataError(
            f"{single[0]}: is the only run of its study here, so there is nothing to compare it with; name the run "
            "before or after it as well, or leave it to `evenhand report`"
        )


def print_differences(differences: Sequence[Difference]) -> None:
    """In what a run differs from the base."""
    for difference in differences:
        say(f"{'Warning: differs' if difference.serious else 'Note: differs'} in {difference}")


def report_main(argv: Sequence[str]) -> None:
    """`evenhand report RUN...` or `evenhand report FILE... --out DIR`: report.html, plots, tables and scores."""
    options = report_options(argv)
    found, study = None, None
    dialdefer, narrators = list[Path](), list[Path]()
    if is_verdict_file(options.sources[0]):
        files = load_external(options.sources, options.parser)
        found = find_external(files, denominator=options.denominator, n_draws=options.draws, seed=options.seed)
    else:
        dialdefer, narrators = split(options.sources)
        is_before_after = not options.side_by_side
        found = findings_of(dialdefer, options, is_before_after=is_before_after) if dialdefer else None
        study = narrator_findings_of(narrators, options, is_before_after=is_before_after) if narrators else None
    out = options.out or (dialdefer or narrators)[-1] / "report"
    try:
        written = write_findings(found, out, study)
    except DataError:  # a full disk, say: what was computed is seen all the same
        say("\n".join([*([score_tables(found.rows)] if found else []), *([study_text(study.study)] if study else [])]))
        raise
    summarise(out, written)


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


def narrator_findings_of(
    paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool = True
) -> NarratorFindings:
    """What there is to say about some runs of the narrator study, the first being the base."""
    return find_narrator(
        load_narrator_runs(paths),
        n_draws=options.draws,
        seed=options.seed,
        allow_differences=options.allow_differences,
        is_before_after=is_before_after,
    )


def write_findings(found: Findings | None, out: Path, study: NarratorFindings | None = None) -> list[Path]:
    """The scores of all runs and the report on both studies, or the one that there are runs of, in a folder."""
    from eval.dialdefer.report_part import dialdefer_part  # brings matplotlib, which scoring alone does not wait for
    from eval.narrator.report_part import narrator_part
    from eval.report.report_page import write_report

    files, parts = [], []
    if found:
        files += write_rows(out, "scores", [row.as_dict() for row in found.rows])
        parts.append(dialdefer_part(found))
    if study:
        files.append(write_narrator(study, out))
        parts.append(narrator_part(study, is_alone=found is None))
    return [*files, *write_report(parts, out)]


def summarise(out: Path, files: Sequence[Path]) -> None:
    """Print what was written: the files of a folder, and how many lie in each folder below it."""
    here = [str(file) for file in files if file.parent == out]
    below = Counter(file.parent for file in files if file.parent != out)
    say("\nwritten: " + ", ".join([*here, *(f"{n} files in {folder}" for folder, n in below.items())]))


if __name__ == "__main__":
    sys.exit(run_main(score_main))

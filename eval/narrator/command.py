"""`evenhand narrator RUN...`: what the judges of the narrator study do when a speaker is called Me."""

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path

from eval.estimates.result_files import write_scores
from eval.narrator.all_tables import narrator_tables
from eval.narrator.definitions import DEFAULT
from eval.narrator.judged_runs import load_narrator_runs
from eval.narrator.printed import WIDTH, study_text
from eval.narrator.research_questions import answered_questions
from eval.narrator.scores import scores_of
from eval.narrator.sentences import headline
from eval.narrator.sizes import why_absent
from eval.narrator.study import StudyResults, study
from eval.report.table import write_tables
from eval.study_definitions import add_definitions, definitions_of
from evenhand.terminal import say
from studies.narrator.records import BENCHMARK


def main(argv: Sequence[str]) -> None:
    """`evenhand narrator`: print Table 2, flips, FAR and states; write scores, tables and figures."""
    options = narrator_options(argv)
    definitions = definitions_of(options, BENCHMARK, DEFAULT)
    found = study(load_narrator_runs(options.runs), definitions)
    out = options.out or options.runs[-1] / "narrator"
    say_study(found)
    files = write_study(found, out)
    stems = sorted({file.stem for file in files} - {"scores"})
    say(f"\nwritten to {out}: scores.json and .csv, and tables (.md, .csv, .tex) and figures (.png, .svg):")
    say(textwrap.fill(", ".join(stems), WIDTH, initial_indent="  ", subsequent_indent="  "))


def say_study(found: StudyResults) -> None:
    """Print the tables, and what they say in sentences."""
    say(study_text(found))
    for sentence in (*headline(found), *answered_questions(found), *why_absent(found)):
        say(textwrap.fill(sentence, WIDTH))


def write_study(found: StudyResults, out: Path) -> list[Path]:
    """The scores, every table and every figure, in a folder."""
    from eval.narrator.plots import narrator_plots  # brings matplotlib, which nothing else here waits for
    from eval.report.plots import finish

    scores = write_scores(out, {BENCHMARK: scores_of(found)})
    tables = write_tables(out, narrator_tables(found))
    figures = [file for plot in narrator_plots(found) for file in finish(plot, out)[1]]
    return [*scores, *tables, *figures]


def narrator_options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand narrator`."""
    parser = argparse.ArgumentParser(
        prog="evenhand narrator",
        description="M by perspective, Δ, PR with and without the slot of Me, FAR, corruption and flips, by detection "
        "and by number of speakers, with cluster-robust 95% intervals, of finished runs of the narrator study; "
        "several models are also pooled.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories, runs/inference/NAME-DIGEST")
    parser.add_argument("--out", type=Path, help="folder for the results (default: the last RUN/narrator)")
    add_definitions(parser, BENCHMARK, DEFAULT)
    return parser.parse_args(argv)

"""`python -m eval RUN`: score a run. `evenhand score | compare | report` come through the functions below."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import run_main
from eval.accuracy import DENOMINATORS
from eval.files import write_rows
from eval.intervals import N_DRAWS, SEED
from eval.parsing import PARSERS
from eval.rows import Scored, ScoreRow
from eval.runs import JudgedRun, load_run
from eval.scores import score_panels
from eval.tables import score_tables


def score_main(argv: Sequence[str]) -> None:
    """`evenhand score RUN...`: print the tables of each run and write its scores.json and scores.csv."""
    options = score_options(argv)
    denominators = DENOMINATORS if options.denominator == "both" else (options.denominator,)
    for path in options.runs:
        run = load_run(path, options.parser)
        rows = score_run(run, denominators, options.draws, options.seed)
        print(score_tables(rows))
        files = write_rows(options.out or path / "scores", "scores", [row.as_dict() for row in rows])
        print("\nwritten: " + ", ".join(map(str, files)))


def score_run(run: JudgedRun, denominators: Sequence[str], n_draws: int, seed: int) -> list[ScoreRow]:
    """All rows of one run."""
    scored = Scored(
        run=run.name,
        model=run.model,
        verdict=run.reading.mode,
        parser=run.reading.parser,
        n_draws=n_draws,
        seed=seed,
    )
    return score_panels(run.panels, scored, denominators)


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
    parser.add_argument("--draws", type=int, default=N_DRAWS, help=f"bootstrap draws (default: {N_DRAWS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the bootstrap (default: {SEED})")


if __name__ == "__main__":
    sys.exit(run_main(score_main))

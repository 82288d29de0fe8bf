"""`evenhand reproduce RUN`: a sampling run asked again from its directory alone, and what differs."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from eval.options import positive
from evenhand.files import write_json
from evenhand.terminal import say

FILE = "reproduction.json"


def main(argv: Sequence[str]) -> None:
    """Ask a finished sampling run again, from its directory alone, and print what differs.

    The re-run is a run of its own beside it, NAME-again1-DIGEST; the same command continues one that was cut off. What
    is printed: the share of replies and of verdicts that differ (the re-run flip rate), the headline estimates of both,
    and in what software, device, engine, model and code differ. It is refused where data or prompts are not those of
    the run. Training runs are not covered.
    """
    parser = argparse.ArgumentParser(
        prog="evenhand reproduce",
        description=main.__doc__,
        epilog="example: evenhand reproduce runs/inference/pocket-DIGEST --sample 60 engine.batch_size=8",
    )
    parser.add_argument("run", type=Path, help="a complete sampling run's directory")
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="key=value",
        help="engine.*, run.*; model.name or a key of the data where the same model or data lie elsewhere now",
    )
    parser.add_argument("--n", type=positive, default=1, metavar="N", help="ask it again N times (default: 1)")
    parser.add_argument(
        "--sample", type=positive, metavar="UNITS", help="ask only so many of its units again, drawn by a fixed seed"
    )
    words = parser.parse_intermixed_args(argv)
    from eval.reproduction.compared import reproduction, reproduction_text  # takes a second to import
    from inference.rerun import ask_again, prepare

    asked = prepare(words.run, words.overrides, words.sample)
    again = [ask_again(asked, number) for number in range(1, words.n + 1)]
    found = reproduction(words.run, again, asked.n_units, asked.chosen)
    say(reproduction_text(found))
    write_json(again[-1] / FILE, found)
    say(f"\nwritten: {again[-1] / FILE}")

"""`evenhand status [RUN|ROOT ...]`: how far every run below a folder has come, a line each."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from evenhand.cli.status.found_runs import Board
from evenhand.cli.status.printed import printed
from evenhand.cli.status.progress import Progress
from evenhand.terminal import run_main, say

CLEAR = "\x1b[H\x1b[2J"


def main(argv: Sequence[str]) -> None:
    """Say how far sampling, training and merging have come, of every run at or below the folders.

    It reads run directories only, never a model, and writes nothing, so it may be asked while jobs work. A dash is what
    their files do not tell. Sampling runs hold no lease, as many processes may sample one run: see when it last wrote.
    """
    parser = argparse.ArgumentParser(
        prog="evenhand status", description=main.__doc__, epilog="example: evenhand status runs --watch 30"
    )
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        metavar="RUN|ROOT",
        help="a run's directory, or a folder of runs (default: runs)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; with --watch an array a line")
    parser.add_argument("--watch", type=seconds, metavar="SECONDS", help="look again and again, until Ctrl-C")
    words = parser.parse_args(argv)
    board = Board(words.folders or [Path("runs")])
    if words.watch is None:
        show(board.look(), is_json=words.json, is_watched=False)
        return
    with suppress(KeyboardInterrupt):
        while True:
            show(board.look(), is_json=words.json, is_watched=True)
            time.sleep(words.watch)


def show(stages: Sequence[Progress], *, is_json: bool, is_watched: bool) -> None:
    """Print all stages once."""
    if is_json:
        found = [{**asdict(stage), "path": str(stage.path)} for stage in stages]
        print(json.dumps(found, indent=None if is_watched else 2, ensure_ascii=False), flush=True)
        return
    if is_watched:
        is_screen = sys.stdout.isatty()
        print(f"{CLEAR if is_screen else ''}{datetime.now():%F %T}")
    say(printed(stages))
    if is_watched:
        print(flush=True)


def seconds(text: str) -> float:
    """A time to wait, for argparse."""
    found = float(text)
    if not 0 < found < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is no time to wait; take seconds above 0")
    return found


if __name__ == "__main__":
    sys.exit(run_main(main))

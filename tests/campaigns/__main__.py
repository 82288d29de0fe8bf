"""`make faults`: faults put into runs, and one table of what was lost, doubled or wrong. No model is needed.

KILLS=200: SIGKILLs in all, over the commands of tests.made.kill_campaign, each before a drawn file operation.
EACH=20: of every other fault, at times drawn by SEED=0. ONLY="word ..." takes the faults whose names hold a word.
"""

import contextlib
import io
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.made.growing_run import TRIALS, Found
from tests.made.kill_campaign import COMMANDS, campaign

KILLS, EACH = int(os.environ.get("KILLS", "200")), int(os.environ.get("EACH", "20"))
SEED, ONLY = os.environ.get("SEED", "0"), os.environ.get("ONLY", "").split()
ROW = "{:34}{:>9}{:>6}{:>9}{:>7}{:>9}"


def kills(command: str, n: int, folder: Path) -> Iterator[Callable[[], Found]]:
    """Trials of a command that is killed."""
    with campaign(command, folder) as made:
        yield from (partial(made.trial, kill) for kill in made.drawn(n))


def faults(name: str, n: int, folder: Path) -> Iterator[Callable[[], Found]]:
    """Trials of another fault."""
    for number in range(n):
        yield partial(TRIALS[name], folder / str(number), random.Random(f"{SEED} {name} {number}"))


def row_of(name: str, trials: Iterator[Callable[[], Found]]) -> Found:
    """Print a row of the table: what the trials of a fault have found."""
    total, n, began = Found(), 0, time.monotonic()
    for n, trial in enumerate(trials, 1):
        talk = io.StringIO()
        with contextlib.redirect_stderr(talk), contextlib.redirect_stdout(talk):
            differences = trial()
        if differences != Found():
            print(f"{name}, trial {n}: {differences}\n{talk.getvalue()[-2000:]}", file=sys.stderr)
        total += differences
    seconds = f"{time.monotonic() - began:.0f} s"
    print(ROW.format(name, n, total.lost, total.doubled, total.wrong, seconds), flush=True)
    return total


def main() -> int:
    """Inject all of them; 1 when anything was lost, doubled or wrong."""
    total = Found()
    wanted = {f"SIGKILL, {name}": partial(kills, name, -(-KILLS // len(COMMANDS))) for name in COMMANDS}
    wanted |= {name: partial(faults, name, EACH) for name in TRIALS}
    print(ROW.format("fault", "injected", "lost", "doubled", "wrong", "took"))
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, trials) in enumerate(wanted.items()):
            if not ONLY or any(word in name for word in ONLY):
                (place := Path(folder) / str(number)).mkdir()
                total += row_of(name, trials(place))
    return int(total != Found())


if __name__ == "__main__":
    sys.exit(main())

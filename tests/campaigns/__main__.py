"""`make faults`: faults put into runs at random, and one table of what was lost, doubled or wrong. No model is needed.

KILLS=200: SIGKILLs in all, over sampling, growing plans, training, merging and building. EACH=20: of every other fault.
ONLY="word ..." takes the faults whose names hold a word. SEED=0 draws other times and places.
"""

import contextlib
import io
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.made.fault_trials import SIGKILL, TRIALS
from tests.made.growing_run import Found
from tests.made.timed_kills import prepared

Trial = Callable[[Path, random.Random], Found]
KILLS, EACH = int(os.environ.get("KILLS", "200")), int(os.environ.get("EACH", "20"))
SEED, ONLY = os.environ.get("SEED", "0"), os.environ.get("ONLY", "").split()
ROW = "{:34}{:>9}{:>6}{:>9}{:>7}{:>9}"


def inject(name: str, n: int, trial: Trial, folder: Path) -> Found:
    """Print a row of the table: what n trials of a fault have found."""
    total, began = Found(), time.monotonic()
    for number in range(n):
        talk = io.StringIO()
        with contextlib.redirect_stderr(talk), contextlib.redirect_stdout(talk):
            found = trial(folder / f"{name.replace(' ', '-')}-{number}", random.Random(f"{SEED} {name} {number}"))
        if found != Found():
            print(f"{name}, trial {number}: {found}\n{talk.getvalue()[-2000:]}", file=sys.stderr)
        total += found
    seconds = f"{time.monotonic() - began:.0f} s"
    print(ROW.format(name, n, total.lost, total.doubled, total.wrong, seconds), flush=True)
    return total


def main() -> int:
    """Inject all of them; 1 when anything was lost, doubled or wrong."""
    faults: dict[str, Trial] = TRIALS
    total = Found()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        killed = prepared(folder / "kills")
        kinds = [name for name in (SIGKILL, *killed) if is_wanted(name)]
        print(ROW.format("fault", "injected", "lost", "doubled", "wrong", "took"))
        for name, make in killed.items():
            if name in kinds:
                kills = make()
                total += inject(name, -(-KILLS // len(kinds)), kills.trial, folder)
                kills.close()
        for name, trial in faults.items():
            if is_wanted(name):
                n = -(-KILLS // len(kinds)) if name == SIGKILL else EACH
                total += inject(name, n, trial, folder)
    return int(total != Found())


def is_wanted(name: str) -> bool:
    """Whether ONLY takes a fault."""
    return not ONLY or any(word in name for word in ONLY)


if __name__ == "__main__":
    sys.exit(main())

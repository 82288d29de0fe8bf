"""`evenhand demo`: the whole loop on the embedded model, each step the command a user would type."""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from evenhand.errors import EvenhandError

SAMPLING, FITTING = "pocket-demo", "pocket-demo-fit"
# The libraries' warnings to their developers, which would bury what a newcomer is to see.
QUIET = {"PYTHONWARNINGS": "ignore", "TORCH_CPP_LOG_LEVEL": "ERROR", "TRANSFORMERS_VERBOSITY": "error"}
BENT = "pocket-bent"
ARMS = {"paper-sft": "pocket-demo-sft", "label-free": "pocket-demo-own"}


def main(argv: Sequence[str]) -> None:
    """Bend a judge on purpose, ask it, straighten it by two arms, ask again and compare, all on this machine.

    A demo that was cut off continues where it stopped. It needs no GPU and no hub.
    """
    parser = argparse.ArgumentParser(prog="evenhand demo", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where the run directories go")
    out = parser.parse_args(argv).out.resolve()
    started = time.monotonic()
    root = f"run.root={out}"
    title = "1. Make a judge whose bend is known: +40 points of DDS, planted in its training labels"
    bent = made_by(title, "nf4", BENT, root)
    before = asked("   Ask it every prompt", "bent", bent, root)
    title = "   Ask it the arms' training items, for thresholds that need no training"
    fitted = asked(title, "bent", bent, root, FITTING)
    after = {}
    for number, (arm, config) in enumerate(ARMS.items(), start=2):
        straightened = made_by(f"{number}. Straighten it: {arm}", "bf16", config, root, f"model.name={bent}")
        after[arm] = asked("   Ask it the same prompts", arm, straightened, root)
    step("4. Before and after", "compare", before, *after.values(), "--out", str(out / "demo"))
    step("5. The free baseline: one number on C2's threshold", "calibrate", fitted, before)
    runs = [before, *(f"{arm}={of_arm}" for arm, of_arm in after.items())]
    thresholds = f"{before}/calibrated/thresholds.json"
    step("   Beside the arms", "scorecard", *runs, "--calibrated", thresholds)
    print(f"\nReport: {out / 'demo' / 'report.html'}\nDone in {(time.monotonic() - started) / 60:.1f} minutes.")


def made_by(title: str, onto: str, config: str, *words: str) -> str:
    """Train by a config and merge onto "bf16" or "nf4" weights; the checkpoint's folder."""
    trained = step(title, "train", config, *words)
    return step("   Merge into a standalone checkpoint, and check it", "merge", trained, "--onto", onto)


def asked(title: str, arm: str, checkpoint: str, root: str, config: str = SAMPLING) -> str:
    """Ask a checkpoint every prompt of a config; the run's folder, which its digest tells from others."""
    words = [f"name=pocket-{arm}", f"model.name={checkpoint}", f"model.label=SmolLM2-135M, {arm}"]
    return step(title, "sample", config, *words, root)


def step(title: str, *words: str) -> str:
    """Show and run a verb, and pass its output through; the last line it prints, which is the folder it wrote.

    Raises EvenhandError when it fails.
    """
    print(f"\n{title}\n$ {shlex.join(['evenhand', *words])}", flush=True)
    command = [sys.executable, "-P", "-m", "evenhand", *words]  # -P: no folder `eval` of the user's
    last, environment = "", {**os.environ, **QUIET}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    if process.returncode:
        raise EvenhandError(
            f"the step above failed (exit code {process.returncode}); once put right, the same command continues"
        )
    return last

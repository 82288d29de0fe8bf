"""`evenhand demo`: the whole loop on the embedded model, each step a command of a user; --recorded: without it."""

import io
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from evenhand.cli.command import entry_of
from evenhand.errors import EvenhandError
from evenhand.machine import has_bf16
from evenhand.terminal import command_parser, lasting

SAMPLING, BENT, ARM = "pocket-demo", "pocket-demo-bent", "pocket-demo-paired"
FOUND = ("paired", "mean_square_dds_own", "acc_c2")  # arm, and columns of its scorecard
WORDS = Path(__file__).with_name("demo.j2")
IN_BF16 = ["quantisation.compute_dtype=bfloat16", "optimiser.mixed_precision=bf16"]


def main(argv: Sequence[str]) -> None:
    """Bend a judge on purpose, ask it, straighten it, ask again and compare, all on this machine.

    It learns a task and a bend at once, and what straightens it are other claims. A demo that was cut off continues
    where it stopped. It needs no GPU and no hub.

    With --recorded no model runs: a study of 40 items is asked of a judge of 1.5B, before and after training, whose
    answers come along.
    """
    parser = command_parser("demo", main)
    options = parser.parse_args(argv)
    out = options.out.resolve()
    started = time.monotonic()
    report = out / ("recorded/compared" if options.recorded else "demo") / "report.html"
    finding = recorded(out / "recorded") if options.recorded else trained(out)
    print(f"\nReport: {report}\nDone in {lasting(time.monotonic() - started)}.\n\n{finding}")


def trained(out: Path) -> str:
    """The whole loop on the embedded model; what was found."""
    root = f"run.root={out}"
    title = "1. Teach a small model to judge, and to defer: +50 points of DDS, planted in its training labels"
    bent = made_by(title, BENT, root)
    before = asked("   Ask it every prompt", "bent", bent, root)
    straight = made_by("2. Straighten it: paired training", ARM, root, f"model.name={bent}")
    after = asked("   Ask it the same prompts", "paired", straight, root)
    step("3. Before and after", "compare", before, after, "--out", str(out / "demo"))
    step("4. What training adds to a threshold, which costs nothing", "scorecard", before, f"paired={after}")
    return found(Path(before), *FOUND)


def recorded(folder: Path) -> str:
    """The starter study, in a folder, on answers that come along; what was found."""
    if not (folder / "study.yaml").is_file():
        inside("1. A study: 40 claims with their opposites, under five wordings", "init", str(folder))
    os.chdir(folder)
    before = inside("2. Ask a judge: its answers are on record", "sample", "study.yaml")
    trained = ["name=trained", "model.name=knowing-judge-trained", "model.label=trained"]
    after = inside("   Ask it after training on other claims", "sample", "study.yaml", *trained)
    inside("3. Does it bend, and what has training changed?", "compare", before, after, "--out", "compared")
    inside("4. What training adds to the best that costs nothing", "scorecard", before, f"trained={after}")
    changes = json.loads(Path("compared/compare.json").read_text(encoding="utf-8"))
    shifts = (change for change in changes if (change["measure"], change["group"]) == ("shift", "(all)"))
    most = max(shifts, key=lambda change: abs(change["before"]))
    return found(Path(before), "trained", "mean_square_shift", "right_framed", most)


def found(base_run: Path, arm: str, bend: str, right: str, most: Mapping[str, Any] | None = None) -> str:
    """What a scorecard's rows say, in one sentence. bend, right: columns, of a mean of squares and a share.

    most: the largest shift of accepted claims; None: shifts are half of a DDS.
    """
    from eval.report.tables import sentences

    lines = json.loads((base_run / "scorecard" / "scorecard.json").read_text(encoding="utf-8"))
    rows = {row["arm"]: row for row in lines}
    arms = {"base": rows["base"], "trained": rows[arm], "free": rows.get("threshold")}
    return sentences(WORDS, {**arms, "bend": bend, "right": right, "most": most})[""][0]


def inside(title: str, *words: str) -> str:
    """Show and run a verb in this process, which saves it the libraries' start; the last line that it printed."""
    print(f"\n{title}\n$ {shlex.join(['evenhand', *words])}", flush=True)
    with redirect_stdout(io.StringIO()) as printed:
        entry_of(words[0])(words[1:])
    print(printed.getvalue(), end="", flush=True)
    return printed.getvalue().strip().rpartition("\n")[2]


def made_by(title: str, config: str, *overrides: str) -> str:
    """Train by a config and merge; the checkpoint's folder."""
    trained = step(title, "train", config, *overrides, *(IN_BF16 if has_bf16() else []))
    return step("   Merge into a standalone checkpoint, and check it", "merge", trained, "--onto", "bf16")


def asked(title: str, arm: str, checkpoint: str, root: str) -> str:
    """Ask a checkpoint every prompt; the run's folder, which its digest tells from others."""
    overrides = [f"name=pocket-{arm}", f"model.name={checkpoint}", f"model.label=SmolLM2-135M, {arm}"]
    return step(title, "sample", SAMPLING, *overrides, *(["engine.dtype=bfloat16"] if has_bf16() else []), root)


def step(title: str, *words: str) -> str:
    """Show and run a verb, and pass its output through; the last line it prints, which is the folder it wrote.

    Raises EvenhandError when it fails.
    """
    print(f"\n{title}\n$ {shlex.join(['evenhand', *words])}", flush=True)
    command = [sys.executable, "-P", "-m", "evenhand", *words]  # -P: no folder `eval` of the user's
    last = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    if process.returncode:
        raise EvenhandError(f"the step above failed (exit code {process.returncode}); put it right and run it again")
    return last

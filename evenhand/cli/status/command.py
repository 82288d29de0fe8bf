"""`evenhand status [RUN|ROOT ...]`: how far every run below a folder has come, a line each."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from evenhand.cli.status.pipelines import PIPELINES_FOLDER, STAGES_FILE, pipeline_progress
from evenhand.cli.status.printed import printed
from evenhand.cli.status.runs import Progress, sampling_progress, training_progress
from evenhand.config import read_yaml
from evenhand.errors import DataError, EvenhandError, one_line
from evenhand.run_directory import CONFIG_FILE, PROVENANCE_FILE
from evenhand.terminal import say

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
        default=[Path("runs")],
        help="a run's directory, or a folder of runs (default: runs)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; with --watch an array a line")
    parser.add_argument("--watch", type=seconds, metavar="SECONDS", help="look again and again, until Ctrl-C")
    words = parser.parse_args(argv)
    if words.watch is None:
        show(words.folders, is_json=words.json, is_watched=False)
        return
    with suppress(KeyboardInterrupt):
        while True:
            show(words.folders, is_json=words.json, is_watched=True)
            time.sleep(words.watch)


def seconds(text: str) -> float:
    """A time to wait, for argparse."""
    number = float(text)
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is no time to wait; take seconds above 0")
    return number


def show(folders: Sequence[Path], *, is_json: bool, is_watched: bool) -> None:
    """Print every stage of every run once, each run once. Raises DataError where a folder holds no run."""
    runs = dict.fromkeys(run for folder in folders for run in runs_below(folder))
    stages = [stage for run in runs for stage in stages_of(run)]
    if is_json:
        records = [{**asdict(stage), "path": str(stage.path)} for stage in stages]
        print(json.dumps(records, indent=None if is_watched else 2, ensure_ascii=False), flush=True)
        return
    if is_watched:
        print(f"{CLEAR if sys.stdout.isatty() else ''}{datetime.now():%F %T}")
    say(printed(stages))
    sys.stdout.flush()


def runs_below(root: Path) -> Iterator[Path]:
    """The run directories at or below a folder; none is looked into. Of pipelines the last that was submitted.

    Raises DataError where there are none.
    """
    is_empty = True
    for folder, inner, files in os.walk(root):
        if STAGES_FILE in files or (CONFIG_FILE in files and PROVENANCE_FILE in files):
            inner.clear()
            is_empty = False
            yield Path(folder)
        elif Path(folder).name == PIPELINES_FOLDER:  # their names begin with their times
            inner[:] = sorted(file.parent.name for file in Path(folder).glob(f"*/{STAGES_FILE}"))[-1:]
        inner[:] = sorted(name for name in inner if not name.startswith("."))
    if is_empty:
        raise DataError(
            f"{root}: there is no run in it (no folder with {CONFIG_FILE} and {PROVENANCE_FILE}); name a run's "
            "directory, or a folder that runs lie in"
        )


def stages_of(path: Path) -> list[Progress]:
    """The stages of a run, or the jobs of a pipeline; where a file is damaged one that says so."""
    try:
        if (path / STAGES_FILE).exists():
            return pipeline_progress(path)
        config = read_yaml(path / CONFIG_FILE)
        return training_progress(path, config) if "method" in config else [sampling_progress(path, config)]
    except (EvenhandError, ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        # It must not hide the other runs.
        return [Progress(kind="damaged", path=path, state="unfinished", note=f"a file is damaged: {one_line(error)}")]

"""`evenhand status [RUN|ROOT ...]`: how far every run below a folder has come, by its directory alone.

Others may be writing there. None, and a dash in the table, is unknown.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.completions import SHARDS_FOLDER, Answers, config_digest, read_excluded
from evenhand.config import read_yaml
from evenhand.errors import DataError, EvenhandError, one_line, short
from evenhand.lease import STALE_S, holder_in
from evenhand.run_directory import (
    CONFIG_FILE,
    DONE_FILE,
    PLAN_FILE,
    PROVENANCE_FILE,
    check_complete,
    is_done,
    read_json,
    read_plan_lines,
)
from evenhand.terminal import command_parser, lasting, say
from training.run_folder import DIVERGED_FILE, MERGED_PREFIX, MERGING_LEASE, METRICS_FILE, TRAINING_LEASE, read_metrics

MOST_PROBLEMS = 3  # of a run
HEAD = ("", "run", "state", "done", "last write", "held by")
DASH = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A run or a merge at the moment when it was looked at."""

    kind: str  # "sampling", "training", "merge"; "damaged"
    path: Path
    state: str  # "complete", "diverged", "unfinished"
    done: int | None = None  # answers or optimiser steps
    planned: int | None = None
    plan_grows: bool = False  # then `planned` is what is known so far
    written_s_ago: float | None = None  # by this machine's clock
    holder: str | None = None  # "process 4711 on node07"; None without a holder or a lease
    note: str | None = None  # the last error, or why it was stopped


def main(argv: Sequence[str]) -> None:
    """Say how far sampling, training and merging have come, of every run at or below the folders.

    It reads run directories only, never a model, and writes nothing, so it may be asked while jobs work.
    """
    parser = command_parser("status", main, "example: watch -n 30 evenhand status runs")
    folders = parser.parse_args(argv).folders or [Path("runs")]
    runs = dict.fromkeys(run for folder in folders for run in runs_below(folder))
    say(table([stage for run in runs for stage in stages_of(run)]))


def runs_below(root: Path) -> Iterator[Path]:
    """The run directories at or below a folder, without looking inside them. Raises DataError where there are none."""
    is_empty = True
    for folder, inner, files in os.walk(root):
        if CONFIG_FILE in files and PROVENANCE_FILE in files:
            inner.clear()
            is_empty = False
            yield Path(folder)
        inner[:] = sorted(name for name in inner if not name.startswith("."))
    if is_empty:
        raise DataError(f"{root}: there is no run in it ({CONFIG_FILE} with {PROVENANCE_FILE}); name a folder of runs")


def stages_of(path: Path) -> list[Stage]:
    """The stages of a run; where a file is damaged one that says so."""
    try:
        config = read_yaml(path / CONFIG_FILE)
        return [training_stage(path, config), *merges(path)] if "method" in config else [sampling_stage(path, config)]
    except (EvenhandError, ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        # It must not hide the other runs.
        return [Stage(kind="damaged", path=path, state="unfinished", note=f"a file is damaged: {one_line(error)}")]


def sampling_stage(path: Path, config: Mapping[str, Any]) -> Stage:
    """All shards of a sampling run together, whoever writes them."""
    is_complete = is_done(path)  # before the shards: those that it counts are then there
    answers, excluded, problems = Answers(keeps_replies=False), dict[str, str](), list[str]()
    try:
        excluded = read_excluded(path)
        if is_complete:
            check_complete(path)
    except EvenhandError as error:
        problems.append(str(error))
    for shard in sorted((path / SHARDS_FOLDER).glob("*.jsonl")):
        try:
            answers.read_shard(shard, config_digest(path))
        except EvenhandError as error:
            problems.append(str(error).split(". Restore")[0])
    n_asked: dict[str, int] = {}  # hash of a planned prompt → how many answers it takes
    try:
        for line in read_plan_lines(path):
            n = 0 if line["item_id"] in excluded else line.get("n", config["sampling"]["n"])
            n_asked[line["prompt_hash"]] = max(n_asked.get(line["prompt_hash"], 0), n)
    except EvenhandError as error:
        problems.append(str(error))
    unplanned = sum(answers.n_of(hash_) for hash_ in answers.samples if hash_ not in n_asked)
    planned = sum(n_asked.values()) + unplanned
    done = unplanned + sum(min(n, answers.n_of(hash_)) for hash_, n in n_asked.items())
    is_complete = is_complete and done == planned and not problems
    if failed := [reason for hash_, reason in answers.errors.items() if hash_ not in answers.samples]:
        problems.append(f"{len(failed)} prompts got no reply so far, the last reason: {short(failed[-1])}")
    if excluded:
        problems.append(f"{len(excluded)} items are left out, since they do not fit the context window")
    return Stage(
        kind="sampling",
        path=path,
        state="complete" if is_complete else "unfinished",
        done=done,
        planned=planned if (path / PLAN_FILE).exists() else None,
        plan_grows=not is_complete and (unplanned > 0 or bool(read_json(path / PROVENANCE_FILE).get("plan_grows"))),
        written_s_ago=seconds_since([path / SHARDS_FOLDER, path / PLAN_FILE]),
        note="; ".join(problems[:MOST_PROBLEMS]) or None,
    )


def training_stage(path: Path, config: Mapping[str, Any]) -> Stage:
    """The training itself."""
    finished, diverged = (
        read_json(path / name) if (path / name).exists() else {} for name in (DONE_FILE, DIVERGED_FILE)
    )
    log = read_metrics(path / METRICS_FILE) if (path / METRICS_FILE).exists() else []
    done, planned = (log[-1]["step"] if log else None), config.get("optimiser", {}).get("max_steps")
    if planned is None and log and log[-1]["epoch"]:
        planned = round(done / log[-1]["epoch"])  # by the share of its one pass that is behind it
    note = None
    if finished:
        done = planned = finished.get("n_steps", done)
    elif diverged:
        note = f"stopped at step {diverged.get('step', '?')}: {short(diverged.get('reason', '?'))}"
    return Stage(
        kind="training",
        path=path,
        state="complete" if finished else "diverged" if diverged else "unfinished",
        done=done,
        planned=planned,
        written_s_ago=seconds_since(path / name for name in (CONFIG_FILE, METRICS_FILE, DIVERGED_FILE, DONE_FILE)),
        holder=holder_of(path / TRAINING_LEASE),
        note=note,
    )


def merges(run: Path) -> list[Stage]:
    """The merged checkpoints of a run, and a merge under way or cut off."""
    holder = holder_of(run / MERGING_LEASE)
    partial = sorted(run.glob(f"{MERGED_PREFIX}*.*"))  # half written
    stages = [
        Stage(kind="merge", path=file.parent, state="complete", written_s_ago=seconds_since([file]))
        for file in sorted(run.glob(f"{MERGED_PREFIX}*/{DONE_FILE}"))
        if file.parent not in partial
    ]
    if partial or holder:
        path = run / partial[0].name.partition(".")[0] if partial else run / f"{MERGED_PREFIX}…"
        ago = seconds_since(file for folder in partial for file in folder.glob("*"))
        stages.append(Stage(kind="merge", path=path, state="unfinished", written_s_ago=ago, holder=holder))
    return stages


def holder_of(lease: Path) -> str | None:
    """Who holds a lease. None where nobody does."""
    holder, age = holder_in(lease), seconds_since([lease])
    return f"{holder}, silent for {lasting(age)}" if holder and age and age > STALE_S else holder


def seconds_since(files: Iterable[Path]) -> float | None:
    """How long ago the newest of these files was written."""
    newest = max((file.stat().st_mtime for file in files if file.exists()), default=None)
    return None if newest is None else max(0.0, time.time() - newest)


def table(stages: Sequence[Stage]) -> str:
    """A line for each stage, and one below it for what is wrong there; then how many are complete."""
    rows = [HEAD, *map(cells, stages)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, stage in zip(rows, [None, *stages], strict=True):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if stage and stage.note:
            lines.append(f"  {stage.note}")
    n_complete = sum(stage.state == "complete" for stage in stages)
    return "\n".join([*lines, f"{n_complete} of {len(stages)} complete"])


def cells(stage: Stage) -> tuple[str, ...]:
    """A stage in the columns of HEAD."""
    done, planned = (DASH if count is None else f"{count:,}" for count in (stage.done, stage.planned))
    return (
        stage.kind,
        str(stage.path),
        stage.state,
        DASH if done == planned == DASH else f"{done} of {planned}{' so far' if stage.plan_grows else ''}",
        DASH if stage.written_s_ago is None else f"{lasting(stage.written_s_ago)} ago",
        stage.holder or DASH,
    )

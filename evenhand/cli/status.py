"""`evenhand status [RUN|ROOT ...]`: how far every run below a folder has come, by its directory alone.

Others may be writing there. None, and a dash in the table, is unknown.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.cli.pipelines import PIPELINES_FOLDER, STAGES_FILE, jobs_of
from evenhand.completions import SHARDS_FOLDER, Answers, config_digest, read_excluded
from evenhand.config import read_yaml
from evenhand.errors import DataError, EvenhandError, one_line, short
from evenhand.lease import STALE_S, is_alive, state_of
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

RATE_OVER_S = 1800.0  # a sampling run's rate is that of the last half hour in which something was written
STILL_WRITING_S = 600.0  # its time left is shown while the last write is not older than this
RATE_OVER = 20  # lines of metrics.jsonl
MOST_PROBLEMS = 3  # of a run
HEAD = ("", "run", "state", "done", "rate", "time left", "last write", "held by")
DASH = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A run, a merge or a job of a pipeline at the moment when it was looked at."""

    kind: str  # "sampling", "training", "merge"; "job" of a pipeline; "damaged"
    path: Path
    state: str  # "complete", "diverged", "unfinished"; of a job also "running", "waiting", "stopped", "failed"
    done: int | None = None  # answers or optimiser steps
    planned: int | None = None
    plan_grows: bool = False  # then `planned` is what is known so far
    per_second: float | None = None
    seconds_left: float | None = None
    written_s_ago: float | None = None  # by this machine's clock
    holder: str | None = None  # "process 4711 on node07"; None without a holder or a lease
    note: str | None = None  # the last error, or why it was stopped


def main(argv: Sequence[str]) -> None:
    """Say how far sampling, training and merging have come, of every run at or below the folders.

    It reads run directories only, never a model, and writes nothing, so it may be asked while jobs work.
    """
    parser = command_parser("status", main, "example: watch -n 30 evenhand status runs")
    folders = "a run's directory, or a folder of runs (default: runs)"
    parser.add_argument("folders", nargs="*", type=Path, metavar="RUN|ROOT", default=[Path("runs")], help=folders)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    runs = dict.fromkeys(run for folder in options.folders for run in runs_below(folder))
    stages = [stage for run in runs for stage in stages_of(run)]
    if options.json:
        print(json.dumps([asdict(stage) for stage in stages], indent=2, ensure_ascii=False, default=str))
    else:
        say(table(stages))


def runs_below(root: Path) -> Iterator[Path]:
    """The run directories at or below a folder, without looking inside them; of pipelines the last one submitted.

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


def stages_of(path: Path) -> list[Stage]:
    """The stages of a run, or the jobs of a pipeline; where a file is damaged one that says so."""
    try:
        if (path / STAGES_FILE).exists():
            return [
                Stage(
                    kind="job",
                    path=job.path,
                    state=job.state,
                    written_s_ago=seconds_since(job.files),
                    holder=job.places,
                    note=job.note,
                )
                for job in jobs_of(path)
            ]
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
    writes = read_shards(path, answers, problems)
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
    provenance = path / PROVENANCE_FILE
    grows = not is_complete and (unplanned > 0 or bool(read_json(provenance).get("plan_grows")))
    ago = seconds_since([path / SHARDS_FOLDER, path / PLAN_FILE])
    rate = None if is_complete else answers_per_second(writes, provenance.stat().st_mtime)
    is_writing = rate and not grows and ago is not None and ago <= STILL_WRITING_S
    return Stage(
        kind="sampling",
        path=path,
        state="complete" if is_complete else "unfinished",
        done=done,
        planned=planned if (path / PLAN_FILE).exists() else None,
        plan_grows=grows,
        per_second=rate,
        seconds_left=(planned - done) / rate if is_writing and rate else None,
        written_s_ago=ago,
        note="; ".join(problems[:MOST_PROBLEMS]) or None,
    )


def read_shards(path: Path, answers: Answers, problems: list[str]) -> list[tuple[float, int]]:
    """(time, answers that were new) of each shard of a run; what is wrong with a shard is added to the problems."""
    writes = []
    for shard in sorted((path / SHARDS_FOLDER).glob("*.jsonl")):
        before = answers.n_answers
        try:
            answers.read_shard(shard, config_digest(path))
        except EvenhandError as error:
            problems.append(str(error).split(". Restore")[0])
        else:
            writes.append((int(shard.name.partition("-")[0]) / 1e9, answers.n_answers - before))
    return writes


def answers_per_second(writes: Iterable[tuple[float, int]], began: float) -> float | None:
    """New answers a second over the last half hour of writing, engines' starts counted; None before any."""
    last = max((time for time, _ in writes), default=began)
    since = max(began, last - RATE_OVER_S)
    return sum(n for time, n in writes if since < time) / (last - since) if last > since else None


def training_stage(path: Path, config: Mapping[str, Any]) -> Stage:
    """The training itself."""
    finished, diverged = (
        read_json(path / name) if (path / name).exists() else {} for name in (DONE_FILE, DIVERGED_FILE)
    )
    log = read_metrics(path / METRICS_FILE) if (path / METRICS_FILE).exists() else []
    done, planned = (log[-1]["step"] if log else None), config.get("optimiser", {}).get("max_steps")
    if planned is None and log and log[-1]["epoch"]:
        planned = round(done / log[-1]["epoch"])  # by the share of its one pass that is behind it
    rate, note = None, None
    holder, is_alive_holder = holder_of(path / TRAINING_LEASE)
    if finished:
        done = planned = finished.get("n_steps", done)
        if early := finished.get("stopped_early_at_step"):
            note = f"stopped early at step {early}: the dev loss got no lower"
    else:
        points = [(0, 0.0), *((line["step"], line["seconds"]) for line in log)][-RATE_OVER:]
        (first, began), (last, ended) = points[0], points[-1]
        rate = (last - first) / (ended - began) if ended > began else None
        if diverged:
            note = f"stopped at step {diverged.get('step', '?')}: {short(diverged.get('reason', '?'))}"
    return Stage(
        kind="training",
        path=path,
        state="complete" if finished else "diverged" if diverged else "unfinished",
        done=done,
        planned=planned,
        per_second=rate,
        seconds_left=(planned - done) / rate if is_alive_holder and rate and planned is not None else None,
        written_s_ago=seconds_since(path / name for name in (CONFIG_FILE, METRICS_FILE, DIVERGED_FILE, DONE_FILE)),
        holder=holder,
        note=note,
    )


def merges(run: Path) -> list[Stage]:
    """The merged checkpoints of a run, and a merge under way or cut off."""
    holder, _ = holder_of(run / MERGING_LEASE)
    partial = sorted(run.glob(f"{MERGED_PREFIX}*.*"))  # half written, or not checked yet
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


def holder_of(lease: Path) -> tuple[str | None, bool]:
    """Who holds a lease, and whether that one works for all we know.

    None where nobody does, or the holder was a process of this machine and is dead.
    """
    state = state_of(lease)
    alive = is_alive(lease, state[1]) if state else False
    if state is None or alive is False:
        return None, False
    (_, beat_ns), facts = state
    age = time.time() - beat_ns / 1e9
    is_silent = alive is None and age > STALE_S
    holder = f"process {facts.get('process', '?')} on {facts.get('host', '?')}"
    return f"{holder}, silent for {lasting(age)}" if is_silent else holder, not is_silent


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
    rate = stage.per_second  # an hour's where it is less than one a second
    return (
        stage.kind,
        str(stage.path),
        stage.state,
        DASH if done == planned == DASH else f"{done} of {planned}{' so far' if stage.plan_grows else ''}",
        DASH if rate is None else f"{rate:.1f}/s" if rate >= 1 else f"{3600 * rate:.0f}/h",
        DASH if stage.seconds_left is None else lasting(stage.seconds_left),
        DASH if stage.written_s_ago is None else f"{lasting(stage.written_s_ago)} ago",
        stage.holder or DASH,
    )

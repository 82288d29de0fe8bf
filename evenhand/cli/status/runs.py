"""How far a sampling or training run has come, told from its directory alone, while others may be writing there."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.completions import SHARDS_FOLDER, Answers, config_digest, read_excluded
from evenhand.errors import EvenhandError
from evenhand.lease import STALE_S, is_alive, state_of
from evenhand.run_directory import (
    CONFIG_FILE,
    DONE_FILE,
    PLAN_FILE,
    PROVENANCE_FILE,
    is_done,
    read_json,
    read_plan_lines,
    refuse_incomplete,
)
from training.run_folder import DIVERGED_FILE, MERGED_PREFIX, MERGING_LEASE, METRICS_FILE, TRAINING_LEASE

LONGEST_NOTE = 300  # characters
RATE_OVER_S = 1800.0  # a sampling run's rate is that of the last half hour in which something was written
STILL_WRITING_S = 600.0  # its time left is shown while the last write is not older than this
RATE_OVER = 20  # lines of metrics.jsonl
N_NAMED = 3  # troubles


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A stage at the moment when it was looked at. None is what its files do not tell."""

    kind: str  # "sampling", "training", "merge"; "job" of a pipeline; "damaged"
    path: Path
    state: str  # "complete", "diverged", "unfinished"; of a job also "running", "waiting", "stopped", "failed"
    counts: str = ""  # what `done` counts: "answers", "steps", "checkpoints"
    done: int | None = None
    planned: int | None = None
    plan_grows: bool = False  # then `planned` is what is known so far
    per_second: float | None = None
    seconds_left: float | None = None
    written_s_ago: float | None = None  # by this machine's clock
    holder: str | None = None  # "process 4711 on node07"; None where nobody holds the lease, or there is none
    silent_s: float | None = None  # seconds without a heartbeat, of a holder elsewhere that may be dead
    note: str | None = None  # the last error, or why it was stopped


def sampling_progress(path: Path, config: Mapping[str, Any]) -> Progress:
    """All shards of a sampling run together, whoever writes them."""
    is_complete = is_done(path)  # before the shards: those that it counts are then there
    troubles, excluded, planned = list[str](), dict[str, str](), None
    answers = Answers(keeps_replies=False)
    try:
        excluded = read_excluded(path)
        if is_complete:
            refuse_incomplete(path)
    except EvenhandError as error:
        troubles.append(str(error))
    writes = read_shards(path, answers, troubles)
    owed: dict[str, int] = {}  # hash of a planned prompt → how many answers it takes
    try:
        for line in read_plan_lines(path):
            n = 0 if line["item_id"] in excluded else line.get("n", config["sampling"]["n"])
            owed[line["prompt_hash"]] = max(owed.get(line["prompt_hash"], 0), n)
        planned = sum(owed.values())
    except EvenhandError as error:
        troubles.append(str(error))
    unplanned = sum(answers.n_of(hash_) for hash_ in answers.samples if hash_ not in owed)
    done = unplanned + sum(min(n, answers.n_of(hash_)) for hash_, n in owed.items())
    is_complete = is_complete and planned is not None and done == planned + unplanned and not troubles
    if failed := [reason for hash_, reason in answers.errors.items() if hash_ not in answers.samples]:
        troubles.append(f"{len(failed)} prompts got no reply so far, the last reason: {short(failed[-1])}")
    if excluded:
        troubles.append(f"{len(excluded)} items are left out, since they do not fit the context window")
    grows = not is_complete and (unplanned > 0 or bool(json_of(path / PROVENANCE_FILE).get("plan_grows")))
    ago = seconds_since([path / SHARDS_FOLDER, path / PLAN_FILE])
    rate = None if is_complete else answers_per_second(writes, (path / PROVENANCE_FILE).stat().st_mtime)
    left = None
    if planned is not None and rate and not grows and ago is not None and ago <= STILL_WRITING_S:
        left = (planned + unplanned - done) / rate
    return Progress(
        kind="sampling",
        path=path,
        state="complete" if is_complete else "unfinished",
        counts="answers",
        done=None if planned is None else done,
        planned=None if planned is None else planned + unplanned,
        plan_grows=grows,
        per_second=rate,
        seconds_left=left,
        written_s_ago=ago,
        note="; ".join(troubles[:N_NAMED]) or None,
    )


def read_shards(path: Path, answers: Answers, troubles: list[str]) -> list[tuple[float, int]]:
    """(time, answers that were new) of each shard of a run; what is wrong with others is added to the troubles."""
    writes = []
    for shard in sorted((path / SHARDS_FOLDER).glob("*.jsonl")):
        before = answers.n_answers
        try:
            answers.read_shard(shard, config_digest(path))
        except EvenhandError as error:
            troubles.append(str(error).split(". Restore")[0])
        else:
            writes.append((int(shard.name.partition("-")[0]) / 1e9, answers.n_answers - before))
    return writes


def answers_per_second(writes: Iterable[tuple[float, int]], began: float) -> float | None:
    """New answers a second over the last half hour of writing, engines' starts counted; None before any."""
    last = max((time for time, _ in writes), default=began)
    since = max(began, last - RATE_OVER_S)
    return sum(n for time, n in writes if since < time) / (last - since) if last > since else None


def training_progress(path: Path, config: Mapping[str, Any]) -> list[Progress]:
    """The training, then each merge that was begun."""
    finished, diverged = json_of(path / DONE_FILE), json_of(path / DIVERGED_FILE)
    log = metrics(path / METRICS_FILE)
    done, planned = (log[-1]["step"] if log else None), config.get("optimiser", {}).get("max_steps")
    if planned is None and log and log[-1]["epoch"]:
        planned = round(done / log[-1]["epoch"])  # by the share of its one pass that is behind it
    rate, note = None, None
    holder, silent_s = holder_of(path / TRAINING_LEASE)
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
    works = holder is not None and silent_s is None
    training = Progress(
        kind="training",
        path=path,
        state="complete" if finished else "diverged" if diverged else "unfinished",
        counts="steps",
        done=done,
        planned=planned,
        per_second=rate,
        seconds_left=(planned - done) / rate if works and rate and planned is not None else None,
        written_s_ago=seconds_since(path / name for name in (CONFIG_FILE, METRICS_FILE, DIVERGED_FILE, DONE_FILE)),
        holder=holder,
        silent_s=silent_s,
        note=note,
    )
    return [training, *merges(path)]


def metrics(file: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file that are written whole."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def merges(run: Path) -> list[Progress]:
    """The merged checkpoints of a run, and a merge under way or cut off."""
    holder, silent_s = holder_of(run / MERGING_LEASE)
    partial = sorted(run.glob(f"{MERGED_PREFIX}*.*"))  # half written, or not checked yet
    stages = [
        Progress(kind="merge", path=file.parent, state="complete", written_s_ago=seconds_since([file]))
        for file in sorted(run.glob(f"{MERGED_PREFIX}*/{DONE_FILE}"))
        if file.parent not in partial
    ]
    if partial or holder:
        path = run / partial[0].name.partition(".")[0] if partial else run / f"{MERGED_PREFIX}…"
        ago = seconds_since(file for folder in partial for file in folder.glob("*"))
        stages.append(
            Progress(kind="merge", path=path, state="unfinished", written_s_ago=ago, holder=holder, silent_s=silent_s)
        )
    return stages


def holder_of(lease: Path) -> tuple[str | None, float | None]:
    """Who holds a lease, and for how long that one has been silent, where it may be dead on another machine.

    None where nobody does, or the holder was a process of this machine and is dead.
    """
    found = state_of(lease)
    alive = is_alive(lease, found[1]) if found else False
    if found is None or alive is False:
        return None, None
    (_, beat_ns), facts = found
    age = time.time() - beat_ns / 1e9
    holder = f"process {facts.get('process', '?')} on {facts.get('host', '?')}"
    return holder, age if alive is None and age > STALE_S else None


def json_of(file: Path) -> dict[str, Any]:
    """A JSON object; empty where there is no file."""
    return read_json(file) if file.exists() else {}


def seconds_since(files: Iterable[Path]) -> float | None:
    """How long ago the newest of these files was written."""
    newest = max((file.stat().st_mtime for file in files if file.exists()), default=None)
    return None if newest is None else max(0.0, time.time() - newest)


def short(text: object) -> str:
    """A message on one line, cut where it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST_NOTE else f"{line[:LONGEST_NOTE]} ..."

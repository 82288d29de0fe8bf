"""How far a training run and the merges of its adapter have come, told from the run's directory alone."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli.status.progress import Progress
from evenhand.cli.status.training import WatchedTraining
from evenhand.lease import STALE_S, held, place
from evenhand.run_directory import finish, open_run
from tests.made.training_runs import tiny_run


def training_run(path: Path, **optimiser: Any) -> Path:
    """A run that was opened and has not logged a step."""
    config = tiny_run("sft", path / "model", path.parent, optimiser=optimiser)
    open_run(path, config, "hash", {"name": "model"}, lambda: "CPU: made up")
    (path / "excluded.jsonl").write_text("")
    return path


def log(path: Path, steps: range, seconds: float = 2.0, n_steps: int = 100) -> None:
    """Lines of metrics.jsonl, each step of so many seconds."""
    with (path / "metrics.jsonl").open("a") as file:
        for step in steps:
            line = {"step": step, "time": time.time(), "seconds": step * seconds, "loss": 1.0, "epoch": step / n_steps}
            file.write(json.dumps(line) + "\n")


def training(path: Path) -> Progress:
    return WatchedTraining(path).look()[0]


def test_before_the_first_log_nothing_is_known_but_who_trains(tmp_path: Path) -> None:
    run = training_run(tmp_path / "run", max_steps=None)
    with held(run / "training.lease", "trained"):
        stage = training(run)
    assert (stage.kind, stage.state, stage.done, stage.planned) == ("training", "unfinished", None, None)
    assert (stage.per_second, stage.seconds_left) == (None, None)
    assert stage.holder == f"process {os.getpid()} on {place()['host']}"
    assert training(run).holder is None


@pytest.mark.parametrize("max_steps", [None, 100])
def test_steps_rate_and_time_left_come_from_the_log(max_steps: int | None, tmp_path: Path) -> None:
    run = training_run(tmp_path / "run", max_steps=max_steps)
    log(run, range(5, 45, 5), seconds=2.0)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 45, "sec')  # being written
    with held(run / "training.lease", "trained"):
        stage = training(run)
    assert (stage.done, stage.planned, stage.per_second, stage.seconds_left) == (40, 100, 0.5, 120.0)
    assert training(run).seconds_left is None, "nobody trains any more"


def test_the_rate_is_that_of_the_last_lines(tmp_path: Path) -> None:
    run = training_run(tmp_path / "run", max_steps=100)
    lines = [{"step": step, "seconds": 100.0 + step if step > 20 else 5.0 * step} for step in range(1, 60)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert training(run).per_second == 1.0


def test_a_holder_that_died_here_is_none_and_one_elsewhere_that_is_silent_is_told_so(tmp_path: Path) -> None:
    run = training_run(tmp_path / "run")
    lease = run / "training.lease"
    code = f"import os, pathlib, evenhand.lease as l; l.create(pathlib.Path({str(lease)!r})); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert training(run).holder is None
    lease.write_text(json.dumps({"host": "node07", "boot": "b", "namespace": "n", "process": 4711, "began": "2"}))
    stage = training(run)
    assert (stage.holder, stage.silent_s) == ("process 4711 on node07", None)
    os.utime(lease, (time.time() - STALE_S - 60,) * 2)
    log(run, range(1, 3))
    stage = training(run)
    assert stage.silent_s == pytest.approx(STALE_S + 60, abs=30)
    assert stage.seconds_left is None
    lease.write_text("")  # killed before it wrote who it is
    assert training(run).holder == "process ? on ?"


def test_why_a_run_diverged_is_told(tmp_path: Path) -> None:
    run = training_run(tmp_path / "run")
    log(run, range(1, 3))
    (run / "DIVERGED.json").write_text(json.dumps({"step": 70, "reason": "the loss\nis that of a uniform guesser"}))
    stage = training(run)
    assert (stage.state, stage.note) == ("diverged", "stopped at step 70: the loss is that of a uniform guesser")


def test_a_finished_run_and_its_merges(tmp_path: Path) -> None:
    run = training_run(tmp_path / "run")
    finish(run, {"n_steps": 4})
    (run / "merged-bf16").mkdir()
    (run / "merged-bf16" / "DONE.json").write_text("{}")
    whole = WatchedTraining(run).look()
    assert [(stage.kind, stage.path.name, stage.state) for stage in whole] == [
        ("training", "run", "complete"),
        ("merge", "merged-bf16", "complete"),
    ]
    assert (whole[0].done, whole[0].planned) == (4, 4)
    (run / "merged-nf4.0123.partial").mkdir()
    (run / "merged-nf4.0123.partial" / "DONE.json").write_text("{}")  # written before the folder is renamed
    with held(run / "merging.lease", "merged"):
        merge = WatchedTraining(run).look()[-1]
        assert (merge.path.name, merge.state, merge.holder) == (
            "merged-nf4",
            "unfinished",
            f"process {os.getpid()} on {place()['host']}",
        )
        assert (merge.done, merge.planned) == (None, None)
    merges = [(stage.path.name, stage.state, stage.holder) for stage in WatchedTraining(run).look()[1:]]
    assert merges == [("merged-bf16", "complete", None), ("merged-nf4", "unfinished", None)]


def test_a_stop_by_the_dev_split_is_told(tmp_path: Path) -> None:
    run = training_run(tmp_path / "run", max_steps=100)
    finish(run, {"n_steps": 30, "stopped_early_at_step": 30})
    stage = training(run)
    assert (stage.done, stage.note) == (30, "stopped early at step 30: the dev loss got no lower")

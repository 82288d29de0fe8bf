"""`evenhand status` of a pipeline: what its jobs are at, told from the notes that pipeline.sh and the jobs leave."""

import json
import os
import shutil
from pathlib import Path

import pytest

from evenhand.cli.pipelines import STAGES_FILE
from evenhand.cli.status import main
from tests.made.fake_cluster import ACCELERATE, configs, make_cluster, put_program, run

TRAINED, MERGED = "sft", "sft-merged"
NAMES = ["before-sampled-eval", TRAINED, MERGED, "sft-sampled-eval", "dpo", "dpo-merged", "dpo-sampled-eval", "scored"]


@pytest.fixture
def cluster(tmp_path):
    return {**make_cluster(tmp_path), "FETCH": "0", "DOCTOR": "0"}


def looked(capsys, folder):
    """Name of a job → its stage."""
    capsys.readouterr()
    main([str(folder), "--json"])
    stages = json.loads(capsys.readouterr().out)
    return {Path(stage["path"]).name: stage for stage in stages if stage["kind"] == "job"}


def submitted(cluster):
    """The folder of a pipeline whose jobs have all run."""
    done = run("pipeline.sh", *configs(cluster), env=cluster)
    assert done.returncode == 0, done.stderr
    *_, newest = sorted(Path(cluster["RUN_ROOT"]).glob(f"pipelines/*/{STAGES_FILE}"))
    return newest.parent


def job(cluster, kind, note, log, **variables):
    """A job by itself, with a log as Slurm opens it; its exit code."""
    env = {**cluster, "NOTE": str(note), **variables}
    words = ["bash", "-c", f'exec bash slurm/{kind}.sh x.yaml > "$0" 2>&1', str(log)]
    return os.waitstatus_to_exitcode(os.spawnvpe(os.P_WAIT, "bash", words, env) << 8)


@pytest.mark.parametrize("here", ["0", "1"])
def test_the_jobs_of_a_finished_pipeline_are_complete(here, cluster, capsys):
    folder = submitted({**cluster, "HERE": here})
    found = looked(capsys, Path(cluster["RUN_ROOT"]))
    assert list(found) == NAMES
    assert {stage["state"] for stage in found.values()} == {"complete"}
    main([cluster["RUN_ROOT"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:4] == ["job", str(folder / NAMES[0]), "complete", "–"]
    assert lines[-1] == "8 of 8 complete"
    older = folder.with_name("20200101-000000-1")
    shutil.copytree(folder, older)
    assert list(looked(capsys, folder.parent)) == NAMES, "of several pipelines the last one is shown"
    assert list(looked(capsys, older)) == NAMES


def test_a_job_that_failed_says_what_its_log_ends_with_until_it_is_begun_again(cluster, tmp_path, capsys, monkeypatch):
    folder = submitted(cluster)
    (folder / TRAINED).unlink()
    (folder / MERGED).unlink()
    bar = "for i in {1..99}; do printf 'Loading weights: %s of 99\\r' $i >&2; done"
    put_program(cluster, "accelerate", f"{bar}\necho 'error: item pocket-7 has no answer' >&2\nexit 2")
    assert job(cluster, "train", folder / TRAINED, tmp_path / "log") == 2
    stage = looked(capsys, folder)[TRAINED]
    assert stage["state"] == "failed"
    assert stage["note"].startswith("job 102, task 0: exit code 2: ")
    assert stage["note"].endswith("Loading weights: 99 of 99 error: item pocket-7 has no answer")
    assert looked(capsys, folder)[MERGED]["note"] == f"waits for {TRAINED}, which failed"
    put_program(cluster, "accelerate", "kill -TERM $PPID\nsleep 5")
    assert job(cluster, "train", folder / TRAINED, tmp_path / "log") != 0
    assert looked(capsys, folder)[TRAINED]["state"] == "stopped"
    put_program(cluster, "accelerate", ACCELERATE)
    assert job(cluster, "train", folder / TRAINED, tmp_path / "log") == 0
    assert looked(capsys, folder)[TRAINED]["state"] == "complete"

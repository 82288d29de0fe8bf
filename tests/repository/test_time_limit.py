"""A job that meets its time limit stops its program, requeues itself and continues. No controller is needed."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from inference.watchdog import EXIT_STATUS
from tests.made.fake_cluster import make_cluster, put_program, run, stand_in
from tests.made.places import ROOT


@pytest.fixture
def cluster(tmp_path):
    """The variables of a job in a pretended cluster, with these programs in it."""
    cluster = make_cluster(tmp_path)
    stoppable = dict.fromkeys(("evenhand", "accelerate"), "stoppable")
    for name, program in {**stoppable, "scontrol": "scontrol", "srun": "srun"}.items():
        put_program(cluster, name, stand_in(program))
    Path(cluster["LOGS"]).mkdir()
    return {**cluster, "SLURM_JOB_ID": "40123", "STOP_BEFORE": "80", "NOTE": f"{cluster['RUN_ROOT']}/note"}


def until_limit(script, word, env):
    """Run a job whose program is at work when its script gets Slurm's signal."""
    begun = Path(f"{env['CALLS']}.begun")
    begun.unlink(missing_ok=True)
    command = ["bash", str(ROOT / "slurm" / script), str(word)]
    log = Path(env["LOGS"]).parent / "job.log"  # no pipe, which a program that does not stop would hold open
    with log.open("w") as file:
        job = subprocess.Popen(command, cwd=ROOT, env=env, stdout=file, stderr=file)
    deadline = time.monotonic() + 60
    while not begun.exists():
        assert job.poll() is None, log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    job.send_signal(signal.SIGUSR1)
    return subprocess.CompletedProcess(command, job.wait(timeout=120), "", log.read_text())


def calls(env):
    """The programs that were called and what they met, without their words, in order; empties the list."""
    file = Path(env["CALLS"])
    found = [
        line if line.startswith(("scontrol", "SIGTERM")) else line.split()[0] for line in file.read_text().splitlines()
    ]
    file.unlink()
    return found


REQUEUED = "scontrol requeue 40123"


def signs(cluster):
    """What a job has left beside its log."""
    return [file.name for file in Path(cluster["LOGS"]).iterdir()]


def test_sampling_is_stopped_requeued_and_ends_when_it_starts_again(cluster):
    limited = until_limit("sample.sh", "eval.yaml", {**cluster, "HOW": "term", "KEEPS": "1"})
    assert limited.returncode != 0
    assert "the time limit is near" in limited.stderr
    assert calls(cluster) == ["evenhand", "SIGTERM for evenhand", REQUEUED]
    assert not Path(cluster["NOTE"]).exists()
    done = run("sample.sh", "eval.yaml", env=cluster)
    assert done.returncode == 0, done.stderr
    assert calls(cluster) == ["evenhand"]
    assert Path(cluster["NOTE"]).read_text() == f"{cluster['RUN_ROOT']}/made\n"
    assert signs(cluster) == []


def test_training_is_asked_by_a_file_since_launchers_pass_no_signal_on(cluster):
    nodes = {"SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[7-8]", "HOW": "file", "KEEPS": "1"}
    assert until_limit("train.sh", "sft.yaml", {**cluster, **nodes}).returncode != 0
    assert calls(cluster) == ["scontrol show hostnames node[7-8]", "accelerate", "accelerate", REQUEUED]
    done = run("train.sh", "sft.yaml", env=cluster)  # the file of the time before does not stop it
    assert done.returncode == 0, done.stderr
    assert calls(cluster) == ["accelerate"]


def test_a_program_that_is_done_when_it_is_asked_is_not_run_again(cluster):
    done = until_limit("sample.sh", "eval.yaml", {**cluster, "HOW": "end"})
    assert done.returncode == 0, done.stderr
    assert calls(cluster) == ["evenhand", "SIGTERM for evenhand"]
    assert Path(cluster["NOTE"]).exists()
    assert signs(cluster) == []


@pytest.mark.parametrize(("status", "made"), [(3, []), (EXIT_STATUS, [REQUEUED])])
def test_a_program_that_failed_is_requeued_only_where_its_engine_hung(status, made, cluster):
    put_program(cluster, "evenhand", f'echo "evenhand $*" >> "$CALLS"\nexit {status}')
    assert run("sample.sh", "eval.yaml", env=cluster).returncode != 0
    assert calls(cluster) == ["evenhand", *made]


@pytest.mark.parametrize("script", ["sample.sh", "train.sh"])
def test_a_limit_that_comes_before_the_program_starts_requeues_as_well(script, cluster):
    env = {**cluster, "MODULES": "slow", "BASH_FUNC_module%%": '() { kill -USR1 "$$"; }'}
    assert run(script, "x.yaml", env=env).returncode != 0
    assert calls(cluster) == [REQUEUED]


def test_a_job_that_never_comes_further_is_requeued_a_few_times_only(cluster):
    env = {**cluster, "HOW": "term", "REQUEUES_IN_VAIN": "2"}
    stopped = ["evenhand", "SIGTERM for evenhand"]
    for keeps, asked in (("", [REQUEUED]), ("1", [REQUEUED]), ("", [REQUEUED]), ("", [])):
        limited = until_limit("sample.sh", "eval.yaml", {**env, "KEEPS": keeps})
        assert limited.returncode != 0
        assert calls(cluster) == [*stopped, *asked]
    assert "stopped 2 times in a row" in limited.stderr
    assert signs(cluster) == []
    until_limit("sample.sh", "eval.yaml", env)  # submitted again it counts from the start
    assert calls(cluster) == [*stopped, REQUEUED]
